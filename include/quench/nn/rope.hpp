#pragma once
/// \file  Rotary position embedding (Su et al. 2021): feature pairs turn by position * base^(-2j/rotary).
#include <quench/nn/buffer.hpp>
#include <quench/nn/wide.hpp>

#include <cmath>

namespace quench::inline QUENCH_ISA::nn::detail {

/// cos and sin [positions, rotary/2], computed in double.
template <class T>
void rope_tables(index positions, index rotary, double base, buffer<T>& cosines, buffer<T>& sines) {
  const index half = rotary / 2;
  T* c = cosines.reshape(positions, half);
  T* s = sines.reshape(positions, half);
  for (index j = 0; j < half; ++j) {
    const double theta = std::pow(base, -2.0 * double(j) / double(rotary));
    for (index t = 0; t < positions; ++t) {
      c[t * half + j] = T(std::cos(double(t) * theta));
      s[t * half + j] = T(std::sin(double(t) * theta));
    }
  }
}

/// Pairs (2j, 2j+1), in place: even' = even cos - odd sin, odd' = odd cos + even sin. `back`: the other way
/// round.
template <class T>
QUENCH_INLINE void rope_interleaved(T* x, index half, const T* c, const T* s, bool back) {
  for (index j = 0; j < half; ++j) {
    const T even = x[2 * j], odd = x[2 * j + 1], sine = back ? -s[j] : s[j];
    x[2 * j] = even * c[j] - odd * sine;
    x[2 * j + 1] = odd * c[j] + even * sine;
  }
}

/// Pairs (j, j + half), in place; features from 2 half on stay as they are.
template <class T>
QUENCH_INLINE void rope_half(T* x, index half, const T* c, const T* s, bool back) {
  for (index j = 0; j < half; ++j) {
    const T a = x[j], b = x[j + half], sine = back ? -s[j] : s[j];
    x[j] = a * c[j] - b * sine;
    x[j + half] = b * c[j] + a * sine;
  }
}

/// Features of several heads in rows of tokens: head h of row r at data[r * row + h * head].
template <class T>
struct head_rows {
  T* data;
  index row, head;
  T* at(index r, index h) const { return data + r * row + h * head; }
  operator head_rows<const T>() const requires(!std::is_const_v<T>) { return {data, row, head}; }
};

/// Turns `heads` heads of `sequences` x `length` rows by their position in the sequence (or back).
template <class T>
void rope(head_rows<T> x, index sequences, index length, index heads, const buffer<T>& cosines,
          const buffer<T>& sines, bool interleaved, bool back) {
  const index half = cosines.cols();
  for (index r = 0; r < sequences * length; ++r) {
    const T *c = cosines.data() + r % length * half, *s = sines.data() + r % length * half;
    for (index h = 0; h < heads; ++h)
      if (interleaved)
        rope_interleaved(x.at(r, h), half, c, s, back);
      else
        rope_half(x.at(r, h), half, c, s, back);
  }
}

}  // namespace quench::inline QUENCH_ISA::nn::detail
