#pragma once
/// \file  Scale search: try shrunken scales, keep the one of least sum |q - x|^p. All tiles of a block are tried at once,
/// with the kernels that will be used in the end. Sums run in a fixed order, so every instruction set picks the same.
#include <quench/quant/apply.hpp>

namespace quench::inline QUENCH_ISA::detail {

/// e * e, rounded before anything is added to it: exact for a float's error, so fusing cannot show.
inline double square(double e, float) { return e * e; }
inline double square(double e, double) { return simd::opaque(e * e); }

/// error[k] += sum over columns of tile k in [c, c + n) of |q - x|^p; elements that are not finite count as 0.
template <class T>
void add_errors(const T* x, const T* q, index c, index n, index width, double norm, double* error) {
  for (index i = 0; i < n;) {
    const index k = (c + i) / width, end = std::min(n, (k + 1) * width - c);
    double part[8] = {};
    const auto add = [&](index at, index j) {
      const T d = simd::abs(T(q[at] - x[at]));
      const double e = d <= std::numeric_limits<T>::max() ? double(d) : 0.0;
      part[j] += norm == 2 ? square(e, T{}) : std::pow(e, norm);
    };
    for (; i + 8 <= end; i += 8)
      for (index j = 0; j < 8; ++j) add(i + j, j);
    for (index j = 0; i < end; ++i, ++j) add(i, j);
    error[k] += ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
  }
}

/// Replaces each scale of `out` (the absmax one) by the best of rule.steps multiples in (rule.low, 1]. Affine code
/// bounds stay: shrinking a range about zero keeps its zero point.
template <class T>
void search_scales(const mse_search& rule, matrix_view<const T> block, const tiling& grid, const value_grid& g,
                   const quant_options& o, scale_buffer<T>& out) {
  const index tiles = grid.count(), across = grid.across(), width = grid.width;
  scale_buffer<T> trial;
  std::copy(out.low, out.low + tiles, trial.low);
  std::copy(out.high, out.high + tiles, trial.high);
  trial.clamp = true;
  alignas(64) T best[chunk_tiles], q[chunk_cols];
  double least[chunk_tiles], error[chunk_tiles];
  std::copy(out.scale, out.scale + tiles, best);
  std::fill(least, least + tiles, std::numeric_limits<double>::infinity());
  quant_options nearest{.group = o.group, .round = nearest_even{}, .convention = o.convention};
  for (int step = 0; step < rule.steps; ++step) {
    const T factor = T(1.0 - (1.0 - double(rule.low)) * double(step) / double(rule.steps));
    for (index k = 0; k < tiles; ++k) trial.scale[k] = step == 0 ? out.scale[k] : simd::opaque(T(out.scale[k] * factor));
    for (index k = 0; k < tiles; ++k)
      if (trial.scale[k] == T(0)) trial.scale[k] = out.scale[k];
    trial.fast = invert_scales(trial.scale, tiles, trial.inverse);
    std::fill(error, error + tiles, 0.0);
    for_each_piece(block, [&](const T* x, index r, index c, index n) {
      const index first = r / grid.height * across;
      snap_piece(x, q, c, n, width, trial, first, g, nearest, {});
      add_errors(x, q, c, n, width, double(rule.norm), error + first);
    });
    for (index k = 0; k < tiles; ++k)
      if (error[k] < least[k]) least[k] = error[k], best[k] = trial.scale[k];
  }
  std::copy(best, best + tiles, out.scale);
}

}  // namespace quench::detail
