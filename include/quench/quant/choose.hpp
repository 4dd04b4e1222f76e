#pragma once
/// \file  The steps from a strip of tiles to its scales: find the reach by the rule, apply the policy for NaN and Inf,
/// divide, and search where the rule asks for it.
#include <quench/quant/mse.hpp>
#include <quench/quant/scale.hpp>

namespace quench::inline QUENCH_ISA::detail {

template <class T>
void choose_scales(matrix_view<const T> strip, index width, const value_grid& g, const quant_options& o, scale_buffer<T>& out) {
  const index tiles = (strip.cols + width - 1) / width;
  const code_range range(o.convention, g);
  const auto tile_at = [&](index k) { return strip.block(0, k * width, strip.rows, std::min(width, strip.cols - k * width)); };
  const bool cast = std::holds_alternative<unit_scale>(o.scale);

  alignas(64) T largest[chunk_tiles];
  tile_abs_max(strip, width, largest);
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
      tile_min_max(strip, width, least, most);
      if (!std::holds_alternative<absmax>(o.scale) && !std::holds_alternative<mse_search>(o.scale))
        for (index k = 0; k < tiles; ++k) least[k] = std::max(least[k], -largest[k]), most[k] = std::min(most[k], largest[k]);
      affine_scales(least, most, tiles, o.convention, g, out);
    }
    if (const auto* m = std::get_if<mse_search>(&o.scale)) search_scales(*m, strip, width, tiles, g, o, out);
  }
  out.clamp = !(std::holds_alternative<absmax>(o.scale) && o.convention == convention::restricted && g.low == -g.high && bad == 0);
  out.fast = invert_scales(out.scale, tiles, out.inverse);
}

}  // namespace quench::detail
