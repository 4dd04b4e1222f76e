#pragma once
/// \file  C = A B or C += A B with B packed once and used often: register tiles after Goto and van de Geijn
/// 2008, "Anatomy of high-performance matrix multiplication". Packing is separate because a step multiplies
/// by one weight many times.
#include <quench/nn/buffer.hpp>
#include <quench/nn/wide.hpp>

#include <algorithm>

namespace quench::inline QUENCH_ISA::nn::detail {

/// Rows of a register tile; its width is one or two vectors.
inline constexpr index tile_rows = simd::vector_registers >= 32 ? 12 : 6;
template <class T>
inline constexpr index panel_cols = 2 * lanes<T>;
/// Products summed in registers before C is touched: a panel of that depth stays in the first-level cache.
inline constexpr index panel_depth = 192;
/// Rows of C worked on for one sweep over the panels: few enough that their pages stay in the translation
/// cache.
inline constexpr index block_rows = 4 * tile_rows;

/// The left factor: element (i, k) at data[i * row + k * depth]; a transposed matrix has row == 1.
template <class T>
struct left_factor {
  const T* data;
  index row, depth;
};

/// Elements that a packed K x N right factor takes.
template <class T>
constexpr index packed_size(index k, index n) {
  return (n + panel_cols<T> - 1) / panel_cols<T> * panel_cols<T> * k;
}

/// Packs the K x N matrix with element (k, j) at b[k * row + j * col], times `factor`, into panels of
/// panel_cols columns (zeros beyond N): panel p holds its K rows one after the other.
template <class T>
void pack_panels(const T* b, index row, index col, index k, index n, T* out, T factor = T(1)) {
  constexpr index W = panel_cols<T>;
  for (index j = 0; j < n; j += W) {
    const index cols = std::min(W, n - j);
    T* panel = out + j * k;
    if (cols < W) std::fill(panel, panel + W * k, T(0));
    if (col == 1) {
      for (index i = 0; i < k; ++i) {
        const T* src = b + i * row + j;
        T* dst = panel + i * W;
        for (index c = 0; c < cols; ++c) dst[c] = src[c] * factor;
      }
    } else {
      constexpr index B = 16;  // square blocks, so that a cache line is read once
      for (index i0 = 0; i0 < k; i0 += B)
        for (index c = 0; c < cols; ++c) {
          const T* src = b + (j + c) * col;
          for (index i = i0; i < std::min(k, i0 + B); ++i) panel[i * W + c] = src[i * row] * factor;
        }
    }
  }
}

template <class T, int R, int NV>
void multiply_tile(left_factor<T> a, const T* b, index k, T* c, index ldc, index cols, bool add) {
  using V = wide<T>;
  constexpr index L = lanes<T>, W = panel_cols<T>;
  V acc[std::size_t{R}][std::size_t{NV}] = {};
  for (index i = 0; i < k; ++i) {
    V right[std::size_t{NV}];
#pragma GCC unroll 2
    for (int n = 0; n < NV; ++n) right[n] = get<V>(b + i * W + n * L);
    const T* left = a.data + i * a.depth;
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      const V x = V{} + left[r * a.row];
#pragma GCC unroll 2
      for (int n = 0; n < NV; ++n) acc[r][n] += x * right[n];
    }
  }
  if (cols == NV * L) {
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
      for (int n = 0; n < NV; ++n) {
        T* at = c + r * ldc + n * L;
        put(at, add ? get<V>(at) + acc[r][n] : acc[r][n]);
      }
  } else {
    T part[std::size_t{R}][std::size_t{NV * L}];
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
      for (int n = 0; n < NV; ++n) put(&part[r][n * L], acc[r][n]);
    for (int r = 0; r < R; ++r)
      for (index j = 0; j < cols; ++j) c[r * ldc + j] = add ? c[r * ldc + j] + part[r][j] : part[r][j];
  }
}

template <class T, int NV, int R = int(tile_rows)>
QUENCH_INLINE void multiply_rows(index rows, left_factor<T> a, const T* b, index k, T* c, index ldc,
                                 index cols, bool add) {
  if (rows == R)
    multiply_tile<T, R, NV>(a, b, k, c, ldc, cols, add);
  else if constexpr (R > 1)
    multiply_rows<T, NV, R - 1>(rows, a, b, k, c, ldc, cols, add);
}

/// One strip of at most tile_rows rows of C, one panel wide.
template <class T>
QUENCH_INLINE void multiply_strip(left_factor<T> a, index rows, const T* panel, index k, T* c, index ldc,
                                  index cols, bool add) {
  if (cols > lanes<T>)
    multiply_rows<T, 2>(rows, a, panel, k, c, ldc, cols, add);
  else
    multiply_rows<T, 1>(rows, a, panel, k, c, ldc, cols, add);
}

/// C[m x n] = or += A[m x k] B, B packed by pack_panels. Each element of C is summed over k in increasing
/// order in blocks of panel_depth, whatever m, n and the position: a result depends on its row of A and
/// column of B alone.
template <class T>
void multiply(left_factor<T> a, index m, const T* packed, index k, index n, T* c, index ldc, bool add) {
  for (index i0 = 0; i0 < m; i0 += block_rows)
    for (index k0 = 0; k0 < k; k0 += panel_depth)
      for (index j = 0; j < n; j += panel_cols<T>)
        for (index i = i0; i < std::min(m, i0 + block_rows); i += tile_rows)
          multiply_strip<T>({a.data + i * a.row + k0 * a.depth, a.row, a.depth}, std::min(tile_rows, m - i),
                            packed + j * k + k0 * panel_cols<T>, std::min(panel_depth, k - k0),
                            c + i * ldc + j, ldc, std::min(panel_cols<T>, n - j), add || k0 > 0);
}

/// C[rows x n] = A[rows x end] B[0 .. end): the first `end` of the `k` packed rows; rows <= tile_rows.
template <class T>
void multiply_causal(left_factor<T> a, index rows, const T* packed, index k, index end, index n, T* c,
                     index ldc) {
  for (index j = 0; j < n; j += panel_cols<T>)
    multiply_strip<T>(a, rows, packed + j * k, end, c + j, ldc, std::min(panel_cols<T>, n - j), false);
}

/// C[rows x n] = or += A[rows x (k - begin)] B[begin .. k): the last rows of the packed factor; rows <=
/// tile_rows.
template <class T>
void multiply_lower(left_factor<T> a, index rows, const T* packed, index k, index begin, index n, T* c,
                    index ldc, bool add) {
  for (index j = 0; j < n; j += panel_cols<T>)
    multiply_strip<T>(a, rows, packed + j * k + begin * panel_cols<T>, k - begin, c + j, ldc,
                      std::min(panel_cols<T>, n - j), add);
}

}  // namespace quench::inline QUENCH_ISA::nn::detail
