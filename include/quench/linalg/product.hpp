#pragma once
/// \file  Matrix products cut into fixed row panels, so that any executor gives the same bits, and products
/// whose result is symmetric at half the flops (only the lower panels are computed, then mirrored).
#include <quench/core/parallel.hpp>

#include <algorithm>

namespace quench::inline QUENCH_ISA {

namespace detail {

/// Rows of one panel. Part of the result (Eigen's summation order follows the panel's shape), so never a
/// tuning knob that depends on threads.
inline constexpr index product_panel = 128;

inline index panel_count(index rows) { return (rows + product_panel - 1) / product_panel; }

/// Copies the lower triangle onto the upper one, tile by tile (both sides stay in cache).
template <class T>
void mirror_lower(matrix<T>& c) {
  constexpr index tile = 64;
  for (index i = 0; i < c.rows(); i += tile)
    for (index j = 0; j <= i; j += tile) {
      const index ni = std::min(tile, c.rows() - i), nj = std::min(tile, c.cols() - j);
      if (i == j)
        c.block(i, i, ni, ni).template triangularView<Eigen::StrictlyUpper>() =
            c.block(i, i, ni, ni).transpose();
      else
        c.block(j, i, nj, ni) = c.block(i, j, ni, nj).transpose();
    }
}

/// Lower panels of a product that is known to be symmetric; a strip from the top is paired with one from the
/// bottom so that equal chunks carry equal work.
template <class T, class A, class B>
void symmetric_product(matrix<T>& c, const A& a, const B& b, const executor& run) {
  const index n = a.rows(), strips = panel_count(n);
  c.resize(n, n);
  for_all(run, (strips + 1) / 2, [&](index k) {
    const auto strip = [&](index s) {
      const index i = s * product_panel, rows = std::min(product_panel, n - i);
      c.block(i, 0, rows, i + rows).noalias() = a.middleRows(i, rows) * b.leftCols(i + rows);
    };
    strip(k);
    if (strips - 1 - k != k) strip(strips - 1 - k);
  });
  mirror_lower(c);
}

}  // namespace detail

/// out = a b. `a` and `b` are matrices or transposes of matrices; `out` is resized and must not alias them.
/// The same bits for every executor.
template <class T, class A, class B>
void multiply_into(matrix<T>& out, const A& a, const B& b, const executor& run = {}) {
  out.resize(a.rows(), b.cols());
  for_all(run, detail::panel_count(a.rows()), [&](index k) {
    const index i = k * detail::product_panel, rows = std::min(detail::product_panel, a.rows() - i);
    out.middleRows(i, rows).noalias() = a.middleRows(i, rows) * b;
  });
}

/// c = a a^T (n x n for an n x k matrix), exactly symmetric, n^2 k + O(n k) multiply-adds. `c` must not alias
/// `a`.
template <class T, class A>
void gram_into(matrix<T>& c, const A& a, const executor& run = {}) {
  detail::symmetric_product(c, a, a.transpose(), run);
}

/// c = s s for a symmetric s, exactly symmetric, at half the flops of a general product. `c` must not alias
/// `s`.
template <class T>
void symmetric_square_into(matrix<T>& c, const matrix<T>& s, const executor& run = {}) {
  detail::symmetric_product(c, s, s, run);
}

/// c = a b for symmetric a and b that commute (powers of one matrix), so that c is symmetric too; half the
/// flops.
template <class T>
void commuting_product_into(matrix<T>& c, const matrix<T>& a, const matrix<T>& b, const executor& run = {}) {
  detail::symmetric_product(c, a, b, run);
}

}  // namespace quench::inline QUENCH_ISA
