#pragma once
/// \file  Which elements of a matrix belong together: rectangular tiles, met strip by strip (a strip is one row of
/// tiles). Scales, statistics and outlier measures all group with this one type.
#include <quench/core/error.hpp>
#include <quench/core/matrix.hpp>

#include <algorithm>

namespace quench::inline QUENCH_ISA {

/// A group of rows x cols elements; 0 means "the whole extent". The last tile of a row or column may be short.
struct tile {
  index rows = 1, cols = 0;
  bool operator==(const tile&) const = default;
};
constexpr tile per_tensor() { return {0, 0}; }
constexpr tile per_row() { return {1, 0}; }
constexpr tile per_column() { return {0, 1}; }
/// `n` neighbours in a row share a scale; a row never shares a scale with the next one.
constexpr tile per_block(index n) { return {1, n}; }
constexpr tile per_tile(index r, index c) { return {r, c}; }

/// A tile laid over a matrix of a given size: how many tiles, and where each begins.
struct tiling {
  index rows = 0, cols = 0;      ///< the matrix
  index height = 1, width = 1;   ///< a full tile, in elements (>= 1)

  /// \throws error when the tile has a negative extent.
  tiling(tile t, index matrix_rows, index matrix_cols)
      : rows(matrix_rows), cols(matrix_cols),
        height(t.rows > 0 ? t.rows : std::max<index>(matrix_rows, 1)),
        width(t.cols > 0 ? t.cols : std::max<index>(matrix_cols, 1)) {
    expects(t.rows >= 0 && t.cols >= 0, "tile: extents must be 0 (whole extent) or positive, are {} x {}", t.rows, t.cols);
  }
  index down() const { return rows / height + (rows % height != 0); }    ///< strips
  index across() const { return cols / width + (cols % width != 0); }    ///< tiles in a strip
  index count() const { return down() * across(); }
  index first_row(index strip) const { return strip * height; }
  index strip_rows(index strip) const { return std::min(height, rows - first_row(strip)); }
  index first_col(index k) const { return k * width; }
  index tile_cols(index k) const { return std::min(width, cols - first_col(k)); }
};

/// Calls body(first_row, rows) for each strip of tile rows, top to bottom.
template <class Body>
void for_each_strip(index rows, tile t, Body&& body) {
  const tiling grid(t, rows, 1);
  for (index k = 0; k < grid.down(); ++k) body(grid.first_row(k), grid.strip_rows(k));
}

/// Calls body(first_row, first_col, rows, cols) for each tile, row by row.
template <class Body>
void for_each_tile(index rows, index cols, tile t, Body&& body) {
  const tiling grid(t, rows, cols);
  for (index i = 0; i < grid.down(); ++i)
    for (index k = 0; k < grid.across(); ++k)
      body(grid.first_row(i), grid.first_col(k), grid.strip_rows(i), grid.tile_cols(k));
}

}  // namespace quench
