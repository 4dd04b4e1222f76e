#pragma once
/// \file  One piece of a row onto the grid: picks the fast kernel where its conditions hold, else the general one.
#include <quench/quant/scale.hpp>

namespace quench::inline QUENCH_ISA::detail {

/// Where a piece sits in the caller's matrix, for the random modes: element i is (row, col + i), or (row + i, col) when
/// the matrix is walked down its columns; `keys` then holds the key of every row.
struct place {
  index row = 0, col = 0;
  const std::uint32_t* keys = nullptr;
};

/// out[i] = the threshold of element i, i < n.
inline void fill_thresholds(float* out, index n, const rounding& round, const place& at) {
  if (at.keys == nullptr) {
    const std::uint32_t key = round.key(at.row), first = std::uint32_t(at.col);
    if (round.mode == round_mode::dither)
      for (index i = 0; i < n; ++i) out[i] = threshold_of((first + std::uint32_t(i)) * 0x9E3779B9u + key, 23);
    else
      for (index i = 0; i < n; ++i) out[i] = threshold_of(hash_column(key, first + std::uint32_t(i)), round.bits);
  } else {
    const rounding::bound shape{round.mode, round.bits, 0};
    for (index i = 0; i < n; ++i) out[i] = rounding::bound{shape.mode, shape.bits, at.keys[at.row + i]}.threshold(at.col);
  }
}

/// Columns [c, c + n) of a strip whose first tile is tile0 of `s`; x contiguous, out contiguous (may be x): nearest-even on grids with a fast kernel.
template <class T>
bool snap_fast(const T* x, T* out, index c, index n, index width, const scale_buffer<T>& s, index tile0, const value_grid& g) {
  if (!s.fast || g.kind == grid_kind::codebook || is_upper_half<T>(g)) return false;
  const auto run = [&](const T* from, T* to, index count, index tile) {
    const tile_scales<T> p = s.view().from(tile0 + tile);
    if (g.kind == grid_kind::integer) s.clamp ? snap_tiles<true, true>(from, to, count, width, p, g) : snap_tiles<true, false>(from, to, count, width, p, g);
    else s.clamp ? snap_tiles<false, true>(from, to, count, width, p, g) : snap_tiles<false, false>(from, to, count, width, p, g);
  };
  const index k = c / width, head = std::min(n, (k + 1) * width - c);
  if (head < width) {   // the piece begins inside a tile, or is all there is of it
    run(x, out, head, k);
    if (n > head) run(x + head, out + head, n - head, k + 1);
  } else {
    run(x, out, n, k);
  }
  return true;
}

/// Columns [c, c + n) of a strip by every rule the options ask for.
template <class T>
void snap_piece(const T* x, T* out, index c, index n, index width, const scale_buffer<T>& s, index tile0, const value_grid& g,
                const quant_options& o, const place& at) {
  const bool open = o.overflow == overflow::non_saturating && g.overflow != overflow_code::none;
  if (o.round.mode == round_mode::nearest_even && !open && width > 1 && snap_fast(x, out, c, n, width, s, tile0, g)) return;
  constexpr index part = 512;
  alignas(64) T scale[part], low[part], high[part], unit[part];
  alignas(64) float thresholds[part];
  for (index i = 0; i < n; i += part) {
    const index m = std::min(part, n - i);
    tile_scales<T> p = s.view().from(tile0 + c + i);
    if (width > 1) {   // one entry a column instead of one a tile
      for (index j = 0; j < m;) {
        const index column = (c + i + j) / width, end = std::min(m, (column + 1) * width - (c + i)), k = tile0 + column;
        std::fill(scale + j, scale + end, s.scale[k]);
        std::fill(low + j, low + end, s.low[k]);
        std::fill(high + j, high + end, s.high[k]);
        std::fill(unit + j, unit + end, s.unit[k]);
        j = end;
      }
      p = {scale, scale, low, high, unit};
    }
    if (o.round.random()) fill_thresholds(thresholds, m, o.round, at.keys ? place{at.row + i, at.col, at.keys} : place{at.row, at.col + i});
    snap_columns(x + i, out + i, m, p, g, o, o.round.random() ? thresholds : nullptr);
  }
}

}  // namespace quench::detail
