#pragma once
/// \file  The driver: cuts a matrix into pieces of work, chooses the scales of each and rounds it. Knows about storage
/// order, strides, threads and stores; not about formats (they come as a value_grid) nor scale rules.
#include <quench/quant/choose.hpp>

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

/// Rounds row r, columns [c0, c0 + n) (whole tiles of the strip piece whose scales are in `s`).
template <class T>
void snap_row(const walk<T>& w, index r, index c0, index n, index width, const scale_buffer<T>& s, const value_grid& g,
              const quant_options& o, bool stream) {
  row_reader<T> read;
  alignas(64) T buffer[chunk_cols];
  const bool direct = w.dst.col_stride == 1 && !stream;
  for (index c = 0; c < n; c += chunk_cols) {
    const index m = std::min(chunk_cols, n - c);
    T* const to = &w.dst(r, c0 + c);
    T* const out = direct ? to : buffer;
    snap_piece(read(w.src, r, c0 + c, m), out, c, m, width, s, g, o, w.at(r, c0 + c));
    if (direct) continue;
    if (w.dst.col_stride == 1) simd::stream_copy(to, buffer, m);
    else
      for (index i = 0; i < m; ++i) to[i * w.dst.col_stride] = buffer[i];
  }
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
  const index at_once = std::min(chunk_tiles, std::max<index>(1, chunk_cols / tiles.width));
  const index pieces = (tiles.across() + at_once - 1) / at_once;
  std::atomic<index> bad{0};
  const auto columns = [&](index p) { return std::min(at_once * tiles.width, tiles.cols - p * at_once * tiles.width); };

  if (tiles.down() == 1 && tiles.height > 1) {   // tall tiles: one scale choice, then rows in parallel
    for (index p = 0; p < pieces; ++p) {
      const index c0 = p * at_once * tiles.width, n = columns(p);
      scale_buffer<T> s;
      choose_scales(w.src.block(0, c0, tiles.rows, n), tiles.width, g, o, s);
      bad += s.non_finite;
      for_all(o.run, tiles.rows, [&](index r) { snap_row(w, r, c0, n, tiles.width, s, g, o, stream); });
    }
  } else {
    for_all(o.run, tiles.down() * pieces, [&](index job) {
      const index strip = job / pieces, c0 = job % pieces * at_once * tiles.width, n = columns(job % pieces);
      scale_buffer<T> s;
      choose_scales(w.src.block(tiles.first_row(strip), c0, tiles.strip_rows(strip), n), tiles.width, g, o, s);
      if (s.non_finite > 0) bad += s.non_finite;
      for (index r = tiles.first_row(strip); r < tiles.first_row(strip) + tiles.strip_rows(strip); ++r)
        snap_row(w, r, c0, n, tiles.width, s, g, o, stream);
    });
  }
  if (stream) simd::stream_fence();
  return bad;
}

}  // namespace quench::detail
