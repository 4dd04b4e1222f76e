#pragma once
/// \file  The scales a quantizer would use, as numbers: for code that rounds in its own order (GPTQ, AWQ, searches).
#include <quench/quant/fake_quant.hpp>

namespace quench::inline QUENCH_ISA {

/// One scale a tile, row-major over tiles; x ~ scale * v, v on the grid with low <= v <= high. With a zero point z (affine)
/// the bounds are relative to it: low = smallest code - z.
template <class T>
struct group_scales {
  index down = 0, across = 0, height = 1, width = 1;
  std::vector<T> scale, low, high;
  index non_finite_groups = 0;

  std::size_t at(index r, index c) const { return std::size_t(r / height * across + c / width); }
  T scale_of(index r, index c) const { return scale[at(r, c)]; }
};

/// The scales that fake_quant(grid, w, o) uses. Allocates the result; does not depend on the executor.
/// \throws error when an option is out of range.
template <class M>
group_scales<scalar_of<M>> find_scales(const value_grid& grid, const M& w, const quant_options& o = {}) {
  using T = scalar_of<M>;
  const matrix_view<const T> v = real_view_of(w);
  detail::check_options(o, "find_scales");
  const tiling tiles(o.group, v.rows, v.cols);
  group_scales<T> out{tiles.down(), tiles.across(), tiles.height, tiles.width, {}, {}, {}, 0};
  for (auto* part : {&out.scale, &out.low, &out.high}) part->resize(std::size_t(tiles.count()));
  const index at_once = std::min(detail::chunk_tiles, std::max<index>(1, detail::chunk_cols / tiles.width));
  std::atomic<index> bad{0};
  for_all(o.run, tiles.down(), [&](index strip) {
    detail::scale_buffer<T> s;
    for (index k = 0; k < tiles.across(); k += at_once) {
      const index count = std::min(at_once, tiles.across() - k), c0 = k * tiles.width;
      const index n = std::min(count * tiles.width, tiles.cols - c0);
      detail::choose_scales(v.block(tiles.first_row(strip), c0, tiles.strip_rows(strip), n), tiles.height, tiles.width, grid, o, s);
      bad += s.non_finite;
      const auto to = std::ptrdiff_t(strip * tiles.across() + k);
      std::copy(s.scale, s.scale + count, out.scale.begin() + to);
      std::copy(s.low, s.low + count, out.low.begin() + to);
      std::copy(s.high, s.high + count, out.high.begin() + to);
    }
  });
  out.non_finite_groups = bad;
  return out;
}
template <number_format F, class M>
group_scales<scalar_of<M>> find_scales(const M& w, const quant_options& o = {}) {
  return find_scales(grid_of<F>(), w, o);
}

/// One number through the quantizer: scale * round(x / scale), saturating to [low, high]. The same bits as fake_quant.
template <std::floating_point T>
T fake_quant_value(const value_grid& g, T x, T scale, T low, T high, const rounding::bound& round = {}, index column = 0) {
  const T threshold = round.mode >= round_mode::stochastic ? T(round.threshold(column)) : T(0);
  const T inside = simd::min(T(high * scale), simd::max(T(low * scale), x)) / scale;
  if (g.kind == grid_kind::codebook) return detail::snap_listed(inside, g.book(), round.mode, threshold) * scale;
  return detail::snap_any(inside, g, detail::minifloat_bits<T>(g), round.mode, false, threshold) * scale;
}
template <std::floating_point T>
T fake_quant_value(const value_grid& g, T x, T scale, const rounding::bound& round = {}, index column = 0) {
  return fake_quant_value(g, x, scale, T(g.low), T(g.high), round, column);
}

}  // namespace quench
