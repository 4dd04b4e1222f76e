#pragma once
/// \file  The driver: cuts a matrix into pieces of work, chooses the scales of each and rounds it. Knows about storage
/// order, strides, threads and stores; not about formats (they come as a value_grid) nor scale rules.
#include <quench/quant/fast_rows.hpp>

#include <atomic>

namespace quench::inline QUENCH_ISA::detail {

/// Rules whose result cannot depend on the order elements are met in: the matrix may be walked either way.
inline bool order_free(const scale_rule& r) {
  return !std::holds_alternative<gaussian>(r) && !std::holds_alternative<mse_search>(r) && !std::holds_alternative<custom_scale>(r);
}

inline void check_options(const quant_options& o, std::string_view who) {
  o.round.check(who);
  if (const auto* p = std::get_if<percentile>(&o.scale))
    expects(p->p > 0 && p->p <= 100, "{}: percentile p must be in (0, 100], is {}", who, p->p);
  if (const auto* n = std::get_if<gaussian>(&o.scale)) expects(n->clip >= 0, "{}: gaussian clip must be >= 0, is {}", who, n->clip);
  if (const auto* m = std::get_if<mse_search>(&o.scale))
    expects(m->steps >= 1 && m->low > 0 && m->low <= 1 && m->norm > 0,
            "{}: mse_search needs steps >= 1, 0 < low <= 1 and norm > 0, has steps {}, low {}, norm {}", who, m->steps, m->low, m->norm);
  if (const auto* f = std::get_if<custom_scale>(&o.scale)) expects(bool(*f), "{}: custom_scale is empty", who);
}

/// A matrix walked so that its inner loop is contiguous where that is possible, with the tile turned accordingly.
template <class T>
struct walk {
  matrix_view<const T> src;
  matrix_view<T> dst;
  tile group;
  bool turned = false;
  std::vector<std::uint32_t> keys;   ///< turned and random: the key of each row of the caller's matrix

  walk(matrix_view<const T> s, matrix_view<T> d, const quant_options& o) : src(s), dst(d), group(o.group) {
    turned = order_free(o.scale) && src.contiguous_cols() && (!src.contiguous_rows() || (src.cols <= 1 && src.rows > 1));
    if (!turned) return;
    if (o.round.random()) {
      keys.resize(std::size_t(src.rows));
      for (index r = 0; r < src.rows; ++r) keys[std::size_t(r)] = o.round.key(r);
    }
    src = src.transposed();
    dst = dst.transposed();
    std::swap(group.rows, group.cols);
  }
  place at(index r, index c) const { return turned ? place{c, r, keys.empty() ? nullptr : keys.data()} : place{r, c, nullptr}; }
};

/// Rounds row r, columns [c0, c0 + n) (whole tiles; the first is tile0 of `s`).
template <class T>
void snap_row(const walk<T>& w, index r, index c0, index n, index width, const scale_buffer<T>& s, index tile0,
              const value_grid& g, const quant_options& o, bool stream) {
  row_reader<T> read;
  alignas(64) T buffer[chunk_cols];
  const bool direct = w.dst.col_stride == 1 && !stream;
  for (index c = 0; c < n; c += chunk_cols) {
    const index m = std::min(chunk_cols, n - c);
    T* const to = &w.dst(r, c0 + c);
    T* const out = direct ? to : buffer;
    snap_piece(read(w.src, r, c0 + c, m), out, c, m, width, s, tile0, g, o, w.at(r, c0 + c));
    if (direct) continue;
    if (w.dst.col_stride == 1) simd::stream_copy(to, buffer, m);
    else
      for (index i = 0; i < m; ++i) to[i * w.dst.col_stride] = buffer[i];
  }
}

/// Chooses the scales of rows [r, r + nr), columns [c0, c0 + n), and rounds them: the general path.
template <class T>
void snap_block(const walk<T>& w, const tiling& tiles, index r0, index nr, index c0, index n, const value_grid& g, const quant_options& o,
                bool stream, std::atomic<index>& bad) {
  scale_buffer<T> s;
  choose_scales(w.src.block(r0, c0, nr, n), tiles.height, tiles.width, g, o, s);
  if (s.non_finite > 0) bad += s.non_finite;
  const index across = (n + tiles.width - 1) / tiles.width;
  for (index r = 0; r < nr; ++r) snap_row(w, r0 + r, c0, n, tiles.width, s, r / tiles.height * across, g, o, stream);
}

/// Rows [r0, r0 + nr) with one scale each, the common case.
template <bool Integer, bool Clamp, class T>
void common_rows(const walk<T>& w, const tiling& tiles, index r0, index nr, const common_scale<T>& rule, const value_grid& g,
                 const quant_options& o, bool stream, std::atomic<index>& bad) {
  alignas(64) T buffer[chunk_cols];
  const index n = tiles.cols;
  simd::bits_t<T> largest = simd::abs_max_bits(w.src.row(r0), n);
  for (index r = r0; r < r0 + nr; ++r) {
    const T scale = rule(simd::from_bits(largest, T{}));
    const T* const next = r + 1 < r0 + nr ? w.src.row(r + 1) : nullptr;
    simd::bits_t<T> coming = 0;
    if (!rule.plain(largest, scale)) {
      if (next) coming = simd::abs_max_bits(next, n);
      snap_block(w, tiles, r, 1, 0, n, g, o, stream, bad);
    } else {
      for (index c = 0; c < n; c += chunk_cols) {
        const index m = std::min(chunk_cols, n - c);
        T* const to = w.dst.row(r) + c;
        const auto seen = snap_and_scan<Integer, Clamp>(w.src.row(r) + c, stream ? buffer : to, m, scale, T(1) / scale, T(g.top()), next ? next + c : nullptr, g);
        coming = simd::bits_max(coming, seen);
        if (stream) simd::stream_copy(to, buffer, m);
      }
    }
    largest = coming;
  }
}

/// Columns [c0, c0 + n) of row r in blocks, the common case; what the fast loop leaves goes the general way.
template <bool Integer, bool Clamp, class T>
void common_blocks(const walk<T>& w, const tiling& tiles, index r, index c0, index n, const common_scale<T>& rule, const value_grid& g,
                   const quant_options& o, bool stream, std::atomic<index>& bad) {
  alignas(64) T buffer[chunk_cols];
  const index span = simd::lane_count<T> * tiles.width;
  for (index c = c0; c < c0 + n;) {
    const index m = std::min(stream ? chunk_cols / span * span : n, c0 + n - c);
    T* const to = w.dst.row(r) + c;
    index done = snap_blocks<Integer, Clamp>(w.src.row(r) + c, stream ? buffer : to, m, tiles.width, rule, g);
    if (stream) simd::stream_copy(to, buffer, done);
    if (done < m) {
      const index rest = std::min(span, m - done);
      snap_block(w, tiles, r, 1, c + done, rest, g, o, stream, bad);
      done += rest;
    }
    c += done;
  }
}

/// The common case, if this is one: rows or blocks of contiguous memory. Blocks that fill rows exactly are walked as one
/// long row, or as rows of their own when they are wide. Returns false when it is not.
template <class T>
bool common_case(walk<T> w, const tiling& given, const value_grid& g, const quant_options& o, bool stream, std::atomic<index>& bad) {
  if (w.src.col_stride != 1 || w.dst.col_stride != 1 || given.height != 1 || !is_common<T>(g, o)) return false;
  constexpr index N = simd::lane_count<T>, wide = 256;
  index rows = given.rows, cols = given.cols, width = std::min(given.width, cols);
  const bool packed = (rows == 1 || (w.src.row_stride == cols && w.dst.row_stride == cols)) && cols % width == 0;
  if (packed && width < cols) {
    rows = width >= wide ? rows * (cols / width) : 1;
    cols = given.rows * given.cols / rows;
    w.src = {w.src.data, rows, cols, cols, 1};
    w.dst = {w.dst.data, rows, cols, cols, 1};
  }
  const bool by_row = width >= cols;
  if (!by_row && (width % N != 0 || N * width > chunk_cols || cols < N * width)) return false;
  const tiling tiles({1, width}, rows, cols);
  const common_scale<T> rule(g, o);
  const auto with = [&](auto integer, auto clamp) {
    constexpr bool I = decltype(integer)::value, C = decltype(clamp)::value;
    if (by_row) {
      const index some = std::clamp<index>(4 * chunk_cols / cols, 1, 64);
      for_all(o.run, (rows + some - 1) / some, [&](index job) {
        common_rows<I, C>(w, tiles, job * some, std::min(some, rows - job * some), rule, g, o, stream, bad);
      });
    } else {
      const index piece = 8 * chunk_cols / (N * width) * (N * width), pieces = (cols + piece - 1) / piece;
      for_all(o.run, rows * pieces, [&](index job) {
        const index c = job % pieces * piece;
        common_blocks<I, C>(w, tiles, job / pieces, c, std::min(piece, cols - c), rule, g, o, stream, bad);
      });
    }
  };
  if (g.kind == grid_kind::integer) rule.clamps() ? with(std::true_type{}, std::true_type{}) : with(std::true_type{}, std::false_type{});
  else rule.clamps() ? with(std::false_type{}, std::true_type{}) : with(std::false_type{}, std::false_type{});
  return true;
}

/// dst = fake-quantised src; returns the number of groups that hold a NaN or Inf.
template <class T>
index fake_quant_views(matrix_view<const T> src, matrix_view<T> dst, const value_grid& g, const quant_options& o) {
  check_options(o, "fake_quant");
  static_cast<void>(code_range(o.convention, g));
  const walk<T> w(src, dst, o);
  const tiling tiles(w.group, w.src.rows, w.src.cols);
  if (w.src.rows == 0 || w.src.cols == 0) return 0;
  const bool stream = w.src.data != w.dst.data && w.dst.col_stride == 1 && std::size_t(w.src.size()) * sizeof(T) >= simd::stream_threshold;
  // A job is a few strips of short rows, one strip, or a piece of a long strip: what stays in the first-level cache.
  const index at_once = std::min(chunk_tiles, std::max<index>(1, chunk_cols / tiles.width));
  const index pieces = (tiles.across() + at_once - 1) / at_once, span = at_once * tiles.width;
  const index strips = pieces > 1 ? 1 : std::clamp<index>(std::min(chunk_cols / (tiles.height * tiles.cols), chunk_tiles / tiles.across()), 1, 16);
  std::atomic<index> bad{0};

  if (common_case(w, tiles, g, o, stream, bad)) {
    if (stream) simd::stream_fence();
    return bad;
  }
  if (tiles.down() == 1 && tiles.height > 1) {   // tall tiles: one scale choice, then rows in parallel
    for (index c0 = 0; c0 < tiles.cols; c0 += span) {
      const index n = std::min(span, tiles.cols - c0);
      scale_buffer<T> s;
      choose_scales(w.src.block(0, c0, tiles.rows, n), tiles.height, tiles.width, g, o, s);
      bad += s.non_finite;
      for_all(o.run, tiles.rows, [&](index r) { snap_row(w, r, c0, n, tiles.width, s, 0, g, o, stream); });
    }
  } else {
    for_all(o.run, (tiles.down() + strips - 1) / strips * pieces, [&](index job) {
      const index r0 = job / pieces * strips * tiles.height, c0 = job % pieces * span;
      const index nr = std::min(strips * tiles.height, tiles.rows - r0), n = std::min(span, tiles.cols - c0);
      snap_block(w, tiles, r0, nr, c0, n, g, o, stream, bad);
    });
  }
  if (stream) simd::stream_fence();
  return bad;
}

}  // namespace quench::detail
