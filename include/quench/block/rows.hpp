#pragma once
/// \file  Whole matrices through a block codec: each row is encoded by itself, rows follow each other without
/// gaps.
#include <quench/block/codec.hpp>
#include <quench/core/parallel.hpp>
#include <quench/simd/loops.hpp>

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

namespace quench::inline QUENCH_ISA {

/// How `encode_rows` and `decode_rows` work.
struct block_options {
  /// One weight >= 0 a column ("imatrix": the mean square of the layer's inputs). Empty, or as long as a row;
  /// all zeros count as empty. Codecs that have no use for it ignore it.
  std::span<const float> importance = {};
  executor run = {};                   ///< rows in parallel; serial unless given
  std::string_view tensor = "tensor";  ///< what error messages call the matrix
};

/// Bytes of one encoded row.
/// \throws error when `cols` is negative or no multiple of the codec's block.
template <block_codec C>
index row_bytes(index cols, std::string_view tensor = "tensor") {
  expects(cols >= 0 && cols % C::elements == 0, "row_bytes: {} needs columns in multiples of {}, {} has {}",
          C::name, C::elements, tensor, cols);
  return cols / C::elements * C::bytes;
}

/// Bytes of an encoded matrix; exact for any size that fits an index.
template <block_codec C>
index encoded_bytes(index rows, index cols, std::string_view tensor = "tensor") {
  const index row = row_bytes<C>(cols, tensor);
  expects(rows >= 0 && (row == 0 || rows <= std::numeric_limits<index>::max() / row),
          "encoded_bytes: {} of {} x {} is too large for {}", tensor, rows, cols, C::name);
  return rows * row;
}

/// Encodes `blocks` consecutive blocks.
template <block_codec C>
void encode_blocks(const float* x, index blocks, std::byte* out) {
  if constexpr (requires { C::encode_many(x, blocks, out); })
    C::encode_many(x, blocks, out);
  else
    for (index b = 0; b < blocks; ++b) C::encode(x + b * C::elements, out + b * C::bytes);
}
template <block_codec C>
void decode_blocks(const std::byte* in, index blocks, float* x) {
  if constexpr (requires { C::decode_many(in, blocks, x); })
    C::decode_many(in, blocks, x);
  else
    for (index b = 0; b < blocks; ++b) C::decode(in + b * C::bytes, x + b * C::elements);
}

namespace detail {

template <block_codec C>
constexpr bool takes_any_input() {
  if constexpr (requires { C::any_input; })
    return C::any_input;
  else
    return false;
}

inline bool check_importance(std::span<const float> importance, index cols, std::string_view tensor) {
  if (importance.empty()) return false;
  expects(index(importance.size()) == cols,
          "encode_rows: importance must hold one weight for each of the {} columns of {}, holds {}", cols,
          tensor, importance.size());
  bool some = false;
  for (std::size_t j = 0; j < importance.size(); ++j) {
    expects(importance[j] >= 0 && std::isfinite(importance[j]),
            "encode_rows: importance must be finite and not negative, weight {} of {} is {}", j, tensor,
            importance[j]);
    some = some || importance[j] > 0;
  }
  return some;
}

}  // namespace detail

/// Encodes every row of `w` (float, any strides) into `out`. Deterministic: bytes depend on values, importance
/// and codec alone, never on layout or executor. Allocates one row a task when rows are not contiguous.
/// \throws error when columns are no multiple of the block, `out` is too small, importance has another length
///         or a negative or non-finite weight, or the codec cannot take a non-finite element that `w` holds.
template <block_codec C>
void encode_rows(matrix_view<const float> w, std::span<std::byte> out, const block_options& o = {}) {
  const index need = encoded_bytes<C>(w.rows, w.cols, o.tensor), step = w.cols / C::elements * C::bytes;
  expects(index(out.size()) >= need, "encode_rows: {} of {} x {} as {} takes {} bytes, the output has {}",
          o.tensor, w.rows, w.cols, C::name, need, out.size());
  const bool weighted = detail::check_importance(o.importance, w.cols, o.tensor) && takes_importance<C>;
  const index batch = std::max<index>(1, 16384 / std::max<index>(1, w.cols));
  for_all(o.run, (w.rows + batch - 1) / batch, [&](index task) {
    std::vector<float> gathered(w.contiguous_rows() ? 0 : std::size_t(w.cols));
    for (index r = task * batch; r < std::min(w.rows, (task + 1) * batch); ++r) {
      const float* x = w.row(r);
      if (!w.contiguous_rows()) {
        for (index c = 0; c < w.cols; ++c) gathered[std::size_t(c)] = w(r, c);
        x = gathered.data();
      }
      if constexpr (!detail::takes_any_input<C>())
        expects(simd::all_finite(x, w.cols),
                "encode_rows: {} cannot hold NaN or infinity, row {} of {} has one", C::name, r, o.tensor);
      if constexpr (takes_importance<C>) {
        if (weighted) {
          C::encode_weighted(x, w.cols, o.importance.data(), out.data() + r * step);
          continue;
        }
      }
      encode_blocks<C>(x, w.cols / C::elements, out.data() + r * step);
    }
  });
}

/// Decodes into every row of `w`; the inverse layout of encode_rows.
/// \throws error when columns are no multiple of the block or `in` is too short.
template <block_codec C>
void decode_rows(std::span<const std::byte> in, matrix_view<float> w, const block_options& o = {}) {
  const index need = encoded_bytes<C>(w.rows, w.cols, o.tensor), step = w.cols / C::elements * C::bytes;
  expects(index(in.size()) >= need, "decode_rows: {} of {} x {} as {} takes {} bytes, the input has {}",
          o.tensor, w.rows, w.cols, C::name, need, in.size());
  const index batch = std::max<index>(1, 16384 / std::max<index>(1, w.cols));
  for_all(o.run, (w.rows + batch - 1) / batch, [&](index task) {
    std::vector<float> gathered(w.contiguous_rows() ? 0 : std::size_t(w.cols));
    for (index r = task * batch; r < std::min(w.rows, (task + 1) * batch); ++r) {
      float* x = w.contiguous_rows() ? w.row(r) : gathered.data();
      decode_blocks<C>(in.data() + r * step, w.cols / C::elements, x);
      if (!w.contiguous_rows())
        for (index c = 0; c < w.cols; ++c) w(r, c) = x[c];
    }
  });
}

template <block_codec C, dense_matrix M>
requires std::same_as < scalar_of<M>,
float > void encode_rows(const M& w, std::span<std::byte> out, const block_options& o = {}) {
  encode_rows<C>(matrix_view<const float>(view_of(w)), out, o);
}
template <block_codec C, dense_matrix M>
requires std::same_as < scalar_of<M>,
float > void decode_rows(std::span<const std::byte> in, M&& w, const block_options& o = {}) {
  decode_rows<C>(in, matrix_view<float>(view_of(w)), o);
}

}  // namespace quench::inline QUENCH_ISA
