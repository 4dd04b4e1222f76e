#pragma once
/// \file  What each tile of a strip holds: largest magnitude, smallest and largest value. One pass over memory, rows
/// contiguous or not; a strip that is not contiguous is read through a small buffer.
#include <quench/core/tile.hpp>
#include <quench/simd/loops.hpp>

namespace quench::inline QUENCH_ISA::detail {

/// Columns looked at in one go; a multiple of every power-of-two block up to it.
inline constexpr index chunk_cols = 4096;
/// Tiles treated in one go, at most.
inline constexpr index chunk_tiles = 1024;

/// Reads pieces of rows as contiguous memory: in place where they are, else gathered. A piece has <= chunk_cols columns.
template <class T>
class row_reader {
 public:
  const T* operator()(matrix_view<const T> v, index r, index c, index n) {
    const T* from = v.data + r * v.row_stride + c * v.col_stride;
    if (v.col_stride == 1 || n <= 1) return from;
    for (index i = 0; i < n; ++i) buffer_[i] = from[i * v.col_stride];
    return buffer_;
  }

 private:
  alignas(64) T buffer_[chunk_cols];
};

/// Calls piece(pointer, row, first column, columns) over the whole view, row by row.
template <class T, class Piece>
void for_each_piece(matrix_view<const T> v, Piece&& piece) {
  row_reader<T> read;
  for (index r = 0; r < v.rows; ++r)
    for (index c = 0; c < v.cols; c += chunk_cols) {
      const index n = std::min(chunk_cols, v.cols - c);
      piece(read(v, r, c, n), r, c, n);
    }
}

/// out[k] = max |x| over tile k of the strip (tiles of `width` columns, all rows); NaN if it holds one, else Inf if it
/// holds one. The order of elements, rows or pieces cannot change it.
template <class T>
void tile_abs_max(matrix_view<const T> strip, index width, T* out) {
  const index tiles = (strip.cols + width - 1) / width;
  const auto raise = [](T& m, simd::bits_t<T> bits) { m = simd::from_bits(simd::bits_max(simd::as_bits(m), bits), T{}); };
  std::fill(out, out + tiles, T(0));
  for_each_piece(strip, [&](const T* x, index, index c, index n) {
    if (width >= strip.cols) {
      raise(out[0], simd::abs_max_bits(x, n));
    } else if (strip.rows == 1 && width % simd::lane_count<T> == 0 && n % width == 0 && c % width == 0) {
      simd::block_abs_max(x, width, n / width, out + c / width);
    } else if (width == 1) {
      simd::sweep<T>(n, [&]<class V>(std::type_identity<V>, index i) QUENCH_INLINE_LAMBDA {
        const auto m = simd::bits_max(simd::as_bits(simd::load(out + c + i, V{})), simd::magnitude_bits(simd::load(x + i, V{})));
        simd::store(out + c + i, simd::from_bits(m, V{}));
      });
    } else {
      for (index i = 0; i < n;) {   // a piece may end inside a tile
        const index k = (c + i) / width, step = std::min(n - i, (k + 1) * width - (c + i));
        raise(out[k], simd::abs_max_bits(x + i, step));
        i += step;
      }
    }
  });
}

/// Smallest and largest finite value of each tile (0 and 0 when it has none).
template <class T>
void tile_min_max(matrix_view<const T> strip, index width, T* low, T* high) {
  using W = simd::widest_t<T>;
  const index tiles = (strip.cols + width - 1) / width;
  constexpr T inf = std::numeric_limits<T>::infinity(), largest = std::numeric_limits<T>::max();
  std::fill(low, low + tiles, inf);
  std::fill(high, high + tiles, -inf);
  for_each_piece(strip, [&](const T* x, index, index c, index n) {
    for (index i = 0; i < n;) {
      const index k = (c + i) / width, end = std::min(n, (k + 1) * width - c);
      T a = low[k], b = high[k];
      W wa(inf), wb(-inf);
      simd::sweep<T>(end - i, [&]<class V>(std::type_identity<V>, index j) QUENCH_INLINE_LAMBDA {
        const V v = simd::load(x + i + j, V{});
        const auto finite = simd::abs(v) <= V(largest);
        const V up = simd::select(finite, v, V(inf)), down = simd::select(finite, v, V(-inf));
        if constexpr (std::is_same_v<V, W>) wa = simd::min(wa, up), wb = simd::max(wb, down);
        else a = simd::min(a, up), b = simd::max(b, down);
      });
      low[k] = std::min(a, simd::lane_min(wa));
      high[k] = std::max(b, -simd::lane_min(W(T(0)) - wb));
      i = end;
    }
  });
  for (index k = 0; k < tiles; ++k)
    if (low[k] > high[k]) low[k] = high[k] = T(0);
}

/// Largest finite magnitude of a tile.
template <class T>
T finite_abs_max(matrix_view<const T> tile) {
  simd::bits_t<T> m = 0;
  for_each_piece(tile, [&](const T* x, index, index, index n) {
    for (index i = 0; i < n; ++i)
      if (const auto b = simd::magnitude_bits(x[i]); b < simd::ieee<T>::exponent) m = simd::bits_max(m, b);
  });
  return simd::from_bits(m, T{});
}

/// Sums f(x) over a tile in eight interleaved partial sums: the same order on every instruction set. f gives a double.
template <class T, class F>
double tile_sum(matrix_view<const T> tile, F&& f) {
  double part[8] = {};
  for_each_piece(tile, [&](const T* x, index, index, index n) {
    index i = 0;
    for (; i + 8 <= n; i += 8)
      for (int j = 0; j < 8; ++j) part[j] += f(x[i + j]);
    for (int j = 0; i < n; ++i, ++j) part[j] += f(x[i]);
  });
  return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

}  // namespace quench::detail
