#pragma once
/// \file  Moments of a whole matrix in one pass over memory, in any layout and on any executor. Numbers are taken in row
/// order in blocks of 8192; a block's own numbers decide how it is summed, and blocks merge in a fixed tree.
#include <quench/core/parallel.hpp>
#include <quench/stats/moments.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace quench::inline QUENCH_ISA {
namespace detail {

/// Do values other than zero come again and again in this block, as on a quantizer's grid? Adding one value over and over
/// rounds to the same side each time.
inline bool few_levels(const float* x) {
  constexpr index probe = 512;
  int equal = 0;
  for (index i = 0; i < probe; ++i) equal += int(x[i] == x[i + probe]) & int(x[i] != 0.f);
  return equal > 1;
}

/// Merges one full block of floats that float lanes can sum, about zero or else about the mean; false if neither holds.
inline bool add_in_float(moments& into, const float* x) {
  if (few_levels(x)) return false;
  power_sums s = sum_in_float<false>(x, moment_block, 0.f);
  if (!float_sums_hold(s)) {
    const double mean = s.s1 / s.n, variance = s.s2 / s.n - simd::rounded(mean * mean);
    if (!(mean * mean <= 64 * variance)) return false;   // x - mean would have few bits left, and few levels
    s = sum_in_float<true>(x, moment_block, float(mean));
    if (!float_sums_hold(s)) return false;
  }
  into.merge(moments::of(s));
  return true;
}

template <class T>
void add_block(moments& into, const T* x, index n) {
  if constexpr (std::is_same_v<T, float>)
    if (n == moment_block && add_in_float(into, x)) return;
  T finite[moment_block];
  const auto good = [](T v) { return std::abs(v) <= std::numeric_limits<T>::max(); };
  const index count = std::count_if(x, x + n, good);
  if (count < n) {
    into.merge(moments::of_nonfinite(double(n - count)));
    std::copy_if(x, x + n, finite, good);
    x = finite;
  }
  if (count == 0) return;
  into.merge(moments::of(sum_in_double(x, count)));
}

/// Elements [first, first + count) of v in row order, packed into `to`.
template <class T>
void gather(matrix_view<const T> v, index first, index count, T* to) {
  const index last = first + count, row0 = first / v.cols, row1 = (last - 1) / v.cols;
  const auto put = [&](index r, index c) {
    const index at = r * v.cols + c - first;
    if (at >= 0 && at < count) to[at] = v(r, c);
  };
  if (v.row_stride < v.col_stride)
    for (index c = 0; c < v.cols; ++c)
      for (index r = row0; r <= row1; ++r) put(r, c);
  else
    for (index r = row0; r <= row1; ++r) {
      const index c0 = std::max<index>(0, first - r * v.cols), c1 = std::min(v.cols, last - r * v.cols);
      if (v.col_stride == 1) std::copy(v.row(r) + c0, v.row(r) + c1, to + (r * v.cols + c0 - first));
      else
        for (index c = c0; c < c1; ++c) put(r, c);
    }
}

/// Calls body(p, n, k) on the k-th chunk of v: n numbers at p, `chunk` of them but for the last, in row order. Works on
/// v's own memory where rows follow each other, else on a copy of one chunk at a time.
template <class T, class Body>
void for_each_chunk(matrix_view<const T> v, index chunk, const executor& run, Body&& body) {
  const index total = v.rows * v.cols;
  const bool packed = v.rows == 1 ? v.col_stride == 1 : (v.col_stride == 1 || v.cols == 1) && v.row_stride == v.cols;
  for_all(run, total / chunk + (total % chunk != 0), [&](index k) {
    const index first = k * chunk, n = std::min(chunk, total - first);
    if (packed) return body(v.data + first, n, k);
    std::vector<T> copy(static_cast<std::size_t>(n));
    gather(v, first, n, copy.data());
    body(static_cast<const T*>(copy.data()), n, k);
  });
}

inline constexpr index moment_chunk = 8 * moment_block;   ///< the numbers of one task

}  // namespace detail

/// Adds every element of `x` (any layout) to `into`. The result depends on the numbers and their row-by-row order alone:
/// not on strides, storage order, executor or instruction set. Adding two parts of a matrix one after the other equals
/// adding the whole to rounding: 1e-14 relative in double, 1e-7 in float, where sums within a block are made in float if
/// (and only if) that keeps them to about 1e-8. O(n); allocates per task of 65536 numbers only if rows are not packed.
template <dense_matrix M>
void add(moments& into, const M& x, const executor& run = {}) {
  const auto seen = view_of(x);
  const matrix_view<const scalar_of<M>> v = seen;
  const index total = v.rows * v.cols, chunk = detail::moment_chunk;
  std::vector<moments> parts(static_cast<std::size_t>(total / chunk + (total % chunk != 0)));
  detail::for_each_chunk(v, chunk, run, [&](const auto* p, index n, index k) {
    moments part;
    for (index i = 0; i < n; i += detail::moment_block) detail::add_block(part, p + i, std::min(detail::moment_block, n - i));
    parts[std::size_t(k)] = part;
  });
  for (const moments& part : parts) into.merge(part);
}

/// The moments of `x`.
template <dense_matrix M>
moments summarize(const M& x, const executor& run = {}) {
  moments m;
  add(m, x, run);
  return m;
}

}  // namespace quench
