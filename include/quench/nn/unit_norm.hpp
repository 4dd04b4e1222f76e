#pragma once
/// \file  Unit-length queries and keys, x / max(|x|, 1e-12), head by head (paper 2509.23500 section 2).
#include <quench/nn/rope.hpp>

namespace quench::inline QUENCH_ISA::nn::detail {

/// In place over `rows` rows of `heads` heads of `width` features; inv[rows * heads] keeps 1/max(|x|, 1e-12).
template <class T>
void unit_norm(head_rows<T> x, index rows, index heads, index width, T* inv) {
  for (index r = 0; r < rows; ++r)
    for (index h = 0; h < heads; ++h) {
      T* v = x.at(r, h);
      const T squares = sum_row<T>(width, [&]<class V>(index j, V) {
        const V a = get<V>(v + j);
        return a * a;
      });
      const T length = std::sqrt(squares),
              s = inv[r * heads + h] = T(1) / (length < T(1e-12) ? T(1e-12) : length);
      for_row<T>(width, [&]<class V>(index j, V) { put(v + j, get<V>(v + j) * s); });
    }
}

/// From u = unit_norm(x) and g = d loss / du, in place: g = (g - u <u, g>) inv; below 1e-12 the divisor is a
/// constant.
template <class T>
void unit_norm_backward(head_rows<const T> u, index rows, index heads, index width, const T* inv,
                        head_rows<T> g) {
  for (index r = 0; r < rows; ++r)
    for (index h = 0; h < heads; ++h) {
      const T* a = u.at(r, h);
      T* b = g.at(r, h);
      const T s = inv[r * heads + h];
      const T dot =
          s < T(1e12) ? sum_row<T>(width, [&]<class V>(index j, V) { return get<V>(a + j) * get<V>(b + j); })
                      : T(0);
      for_row<T>(width, [&]<class V>(index j, V) { put(b + j, (get<V>(b + j) - get<V>(a + j) * dot) * s); });
    }
}

}  // namespace quench::inline QUENCH_ISA::nn::detail
