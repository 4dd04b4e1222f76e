#pragma once
/// \file  The steps from a strip of tiles to its scales: find the reach by the rule, apply the policy for NaN and Inf,
/// divide, and search where the rule asks for it.
#include <quench/quant/mse.hpp>
#include <quench/quant/scale.hpp>

namespace quench::inline QUENCH_ISA::detail {

/// The tiles of a block of whole strips (at most chunk_tiles of them), row-major, chosen by the rule of `o`.
template <class T>
void choose_scales(matrix_view<const T> block, index height, index width, const value_grid& g, const quant_options& o, scale_buffer<T>& out) {
  const tiling grid({height, width}, block.rows, block.cols);
  const index across = grid.across(), tiles = grid.count();
  const code_range range(o.convention, g);
  const auto strip_at = [&](index i) { return block.block(grid.first_row(i), 0, grid.strip_rows(i), block.cols); };
  const auto tile_at = [&](index k) {
    return block.block(grid.first_row(k / across), grid.first_col(k % across), grid.strip_rows(k / across), grid.tile_cols(k % across));
  };
  const bool cast = std::holds_alternative<unit_scale>(o.scale);

  alignas(64) T largest[chunk_tiles];
  for (index i = 0; i < grid.down(); ++i) tile_abs_max(strip_at(i), width, largest + i * across);
  index bad = 0;
  for (index k = 0; k < tiles; ++k) bad += simd::magnitude_bits(largest[k]) >= simd::ieee<T>::exponent;
  out.non_finite = bad;
  if (bad > 0) {
    expects(o.non_finite != non_finite::error, "quantize: {} of {} groups hold NaN or Inf, and non_finite::error was asked for", bad, tiles);
    if (o.non_finite == non_finite::ignore)
      for (index k = 0; k < tiles; ++k)
        if (simd::magnitude_bits(largest[k]) >= simd::ieee<T>::exponent) largest[k] = finite_abs_max(tile_at(k));
  }
  const auto usable = [&](index k) { return simd::magnitude_bits(largest[k]) < simd::ieee<T>::exponent; };

  std::fill(out.low, out.low + tiles, T(range.low));
  std::fill(out.high, out.high + tiles, T(range.high));
  if (cast) {
    std::fill(out.scale, out.scale + tiles, T(1));
  } else if (const auto* p = std::get_if<power_of_two>(&o.scale)) {
    const int shift = g.kind == grid_kind::integer ? g.bits - 2 : 0;
    for (index k = 0; k < tiles; ++k)
      out.scale[k] = usable(k) ? T(pow2(shared_exponent(p->rule, float(largest[k]), g) - shift)) : std::numeric_limits<T>::quiet_NaN();
  } else {
    const auto by_tile = [&](const auto& rule) {
      for (index k = 0; k < tiles; ++k)
        if (usable(k)) largest[k] = reach_of(rule, tile_at(k), largest[k], g);
    };
    if (const auto* q = std::get_if<percentile>(&o.scale)) by_tile(*q);
    else if (const auto* n = std::get_if<gaussian>(&o.scale)) by_tile(*n);
    else if (const auto* f = std::get_if<custom_scale>(&o.scale)) by_tile(*f);
    scales_from_reach(largest, tiles, range, out.scale);
    if (o.affine()) {
      alignas(64) T least[chunk_tiles], most[chunk_tiles];
      for (index i = 0; i < grid.down(); ++i) tile_min_max(strip_at(i), width, least + i * across, most + i * across);
      if (!std::holds_alternative<absmax>(o.scale) && !std::holds_alternative<mse_search>(o.scale))
        for (index k = 0; k < tiles; ++k) least[k] = std::max(least[k], -largest[k]), most[k] = std::min(most[k], largest[k]);
      affine_scales(least, most, tiles, o.convention, g, out);
    }
    if (const auto* m = std::get_if<mse_search>(&o.scale)) search_scales(*m, block, grid, g, o, out);
  }
  out.clamp = !(std::holds_alternative<absmax>(o.scale) && o.convention == convention::restricted && g.low == -g.high && bad == 0);
  out.fast = invert_scales(out.scale, tiles, out.inverse);
}

}  // namespace quench::detail
