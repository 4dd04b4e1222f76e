#pragma once
/// \file  bitsandbytes' 4-bit weights (QLoRA: Dettmers et al. 2023, arXiv:2305.14314): NF4 and FP4 in blocks
/// of the flattened tensor, with double quantization of the block maxima, and its dynamic 8-bit blocks.
#include <quench/block/codec.hpp>
#include <quench/block/dynamic_map.hpp>
#include <quench/core/parallel.hpp>
#include <quench/format/codebook.hpp>

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

namespace quench::inline QUENCH_ISA::bnb {

/// A sorted list of values in [-1, 1], the code of each, and the midpoints between neighbours: a value takes
/// the number of midpoints strictly below it, so that a midpoint goes to the lower value.
template <std::size_t N>
struct value_map {
  std::array<float, N> values{};
  std::array<std::uint8_t, N> codes{};
  std::array<float, N - 1> midpoints{};

  constexpr value_map(const std::array<float, N>& sorted, const std::array<std::uint8_t, N>& order)
      : values(sorted), codes(order) {
    for (std::size_t i = 0; i + 1 < N; ++i) midpoints[i] = (values[i] + values[i + 1]) / 2;
  }
  std::uint8_t code(float y) const {
    return codes[std::size_t(std::lower_bound(midpoints.begin(), midpoints.end(), y) - midpoints.begin())];
  }
};

/// Values by code. FP4 here is bitsandbytes' own (bit 3 the sign; not E2M1).
inline constexpr std::array<float, 16> nf4_values = nf4::values;
inline constexpr std::array<float, 16> fp4_values = {
    0.f, 0.0052083335f,  0.6666667f,  1.f,  0.33333334f,  0.5f,  0.16666667f,  0.25f,
    0.f, -0.0052083335f, -0.6666667f, -1.f, -0.33333334f, -0.5f, -0.16666667f, -0.25f};

inline constexpr value_map<16> nf4_map(nf4_values, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
inline constexpr value_map<16> fp4_map({-1.f, -0.6666667f, -0.5f, -0.33333334f, -0.25f, -0.16666667f,
                                        -0.0052083335f, 0.f, 0.f, 0.0052083335f, 0.16666667f, 0.25f,
                                        0.33333334f, 0.5f, 0.6666667f, 1.f},
                                       {11, 10, 13, 12, 15, 14, 9, 0, 8, 1, 6, 7, 4, 5, 2, 3});
inline constexpr value_map<256> dynamic_codes(dynamic_map, [] {
  std::array<std::uint8_t, 256> c{};
  for (std::size_t i = 0; i < 256; ++i) c[i] = std::uint8_t(i);
  return c;
}());

enum class type : std::uint8_t { nf4, fp4 };

struct options {
  bnb::type type = bnb::type::nf4;
  index block = 64;           ///< elements under one maximum, >= 1; the last block may be short
  bool double_quant = false;  ///< store the maxima as dynamic 8-bit codes
  index nested_block = 256;   ///< maxima under one nested maximum
};

/// Codes 0 .. 255 of the dynamic data type, and one maximum a block.
struct dynamic_blocks {
  index block = 256;
  std::vector<std::uint8_t> codes;
  std::vector<float> absmax;
};

/// What a checkpoint holds (`weight`, `absmax`, `nested_absmax`, `nested_offset` of its quant_state).
struct packed {
  index rows = 0, cols = 0;
  options how;
  std::vector<std::uint8_t> codes;  ///< two a byte over the flattened tensor, the first in the HIGH nibble
  std::vector<float> absmax;        ///< one a block; empty under double quantization
  dynamic_blocks nested;            ///< codes of absmax - offset, under double quantization
  float offset = 0;                 ///< mean of the maxima
};

namespace detail {

/// max |x| of a block and 1 / max(that, 1e-38), as the reference divides.
inline float block_max(const float* x, index n) {
  float m = 0;
  for (index i = 0; i < n; ++i) m = std::max(m, std::fabs(x[i]));
  return m;
}
inline float inverse_of(float m) { return 1.f / std::max(m, 1e-38f); }
inline float into_range(float y) { return std::clamp(y, -1.f, 1.f); }

inline void check_finite(std::span<const float> x, const char* who) {
  for (std::size_t i = 0; i < x.size(); ++i)
    expects(std::isfinite(x[i]), "{}: elements must be finite, element {} is {}", std::string_view(who), i,
            x[i]);
}

}  // namespace detail

/// Blockwise dynamic 8-bit codes of x. \throws error for a block < 1 or a non-finite element.
inline dynamic_blocks quantize_dynamic(std::span<const float> x, index block = 256) {
  expects(block >= 1, "bnb::quantize_dynamic: block must be at least 1, is {}", block);
  detail::check_finite(x, "bnb::quantize_dynamic");
  dynamic_blocks q{block, std::vector<std::uint8_t>(x.size()), {}};
  const index n = index(x.size());
  for (index b = 0; b < n; b += block) {
    const index here = std::min(block, n - b);
    q.absmax.push_back(detail::block_max(x.data() + b, here));
    const float inverse = detail::inverse_of(q.absmax.back());
    for (index i = b; i < b + here; ++i)
      q.codes[std::size_t(i)] = dynamic_codes.code(detail::into_range(x[std::size_t(i)] * inverse));
  }
  return q;
}
inline std::vector<float> dequantize_dynamic(const dynamic_blocks& q) {
  expects(q.block >= 1 && index(q.absmax.size()) == (index(q.codes.size()) + q.block - 1) / q.block,
          "bnb::dequantize_dynamic: {} codes in blocks of {} do not go with {} maxima", q.codes.size(),
          q.block, q.absmax.size());
  std::vector<float> x(q.codes.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = dynamic_map[q.codes[i]] * q.absmax[i / std::size_t(q.block)];
  return x;
}

/// Quantizes a matrix in row-major order. \throws error for a block < 1 or a non-finite element.
template <dense_matrix M>
requires std::same_as < scalar_of<M>,
float > packed pack(const M& w, const options& o = {}) {
  expects(o.block >= 1 && o.nested_block >= 1, "bnb::pack: blocks must be at least 1, are {} and {}", o.block,
          o.nested_block);
  const matrix<float> flat = w;
  const std::span<const float> x(flat.data(), std::size_t(flat.size()));
  detail::check_finite(x, "bnb::pack");
  packed p{flat.rows(), flat.cols(), o, std::vector<std::uint8_t>((x.size() + 1) / 2), {}, {}, 0};
  const value_map<16>& map = o.type == type::nf4 ? nf4_map : fp4_map;
  for (index b = 0; b < flat.size(); b += o.block) {
    const index here = std::min(o.block, flat.size() - b);
    p.absmax.push_back(detail::block_max(x.data() + b, here));
    const float inverse = detail::inverse_of(p.absmax.back());
    for (index i = b; i < b + here; ++i) {
      const unsigned code = map.code(detail::into_range(x[std::size_t(i)] * inverse));
      std::uint8_t& byte = p.codes[std::size_t(i / 2)];
      byte = std::uint8_t(byte | (i % 2 ? code : code << 4));
    }
  }
  if (o.double_quant) {
    const double sum = std::accumulate(p.absmax.begin(), p.absmax.end(), 0.0);
    p.offset = p.absmax.empty() ? 0.f : float(sum / double(p.absmax.size()));
    for (float& m : p.absmax) m -= p.offset;
    p.nested = quantize_dynamic(p.absmax, o.nested_block);
    p.absmax.clear();
  }
  return p;
}

/// The block maxima, decoded under double quantization.
inline std::vector<float> block_maxima(const packed& p) {
  if (!p.how.double_quant) return p.absmax;
  std::vector<float> m = dequantize_dynamic(p.nested);
  for (float& v : m) v += p.offset;
  return m;
}

/// table[code] * absmax. \throws error when the parts do not fit the shape.
inline matrix<float> unpack(const packed& p) {
  const std::vector<float> maxima = block_maxima(p);
  const index n = p.rows * p.cols;
  expects(p.how.block >= 1 && index(p.codes.size()) == (n + 1) / 2 &&
              index(maxima.size()) == (n + p.how.block - 1) / p.how.block,
          "bnb::unpack: {} x {} in blocks of {} does not go with {} code bytes and {} maxima", p.rows, p.cols,
          p.how.block, p.codes.size(), maxima.size());
  const auto& values = p.how.type == type::nf4 ? nf4_values : fp4_values;
  matrix<float> w(p.rows, p.cols);
  for (index i = 0; i < n; ++i) {
    const unsigned both = p.codes[std::size_t(i / 2)];
    w.data()[i] = values[i % 2 ? both & 15 : both >> 4] * maxima[std::size_t(i / p.how.block)];
  }
  return w;
}

}  // namespace quench::inline QUENCH_ISA::bnb
