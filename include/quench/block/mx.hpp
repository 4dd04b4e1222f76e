#pragma once
/// \file  OCP microscaling blocks (MX v1.0, 2023): 32 elements of 4, 6 or 8 bits under one E8M0 scale byte.
/// The scale rules FLOOR (the standard's), CEIL, EVEN (torchao) and RCEIL (cuBLAS) work on exponent fields,
/// never on logarithms.
#include <quench/block/codec.hpp>
#include <quench/core/parallel.hpp>
#include <quench/format/integer.hpp>
#include <quench/format/narrow.hpp>
#include <quench/quant/options.hpp>

#include <array>
#include <vector>

namespace quench::inline QUENCH_ISA::mx {
namespace detail {

/// MXINT8's element: code / 64, codes -127 .. 127.
template <class F>
inline constexpr bool is_integer = F::shape.kind == grid_kind::integer;

/// Codes of x * up, one a lane.
template <class F, class V>
QUENCH_INLINE simd::ints_of<V> element_codes(const V& x, const V& up) {
  if constexpr (is_integer<F>) {
    const V limit = simd::splat<V>(127.f);
    V v = x * up * 64.f;
    v = simd::choose(v < limit, v, limit);
    v = simd::choose(v > -limit, v, V(-limit));
    return simd::bits_of(V(simd::rounded(v) + 12582912.f)) - 0x4B400000;
  } else {
    return to_narrow<F>(V(x * up));
  }
}
template <class F>
float element_value(std::uint8_t code) {
  if constexpr (is_integer<F>)
    return float(std::int8_t(code)) / 64;
  else
    return narrow_values<F>[code];
}

/// Code of every element of a block whose scale is NaN.
template <class F>
constexpr std::uint8_t nan_element() {
  return F::shape.overflow == overflow_code::none ? 0 : (1 << (F::bits - 1)) - 1;
}

/// 32 codes as a stream, lowest bits first: fp4 puts the first of two elements in the low nibble, fp6 four in
/// three bytes.
template <int Bits>
void put_stream(const std::uint8_t* q, std::byte* out) {
  if constexpr (Bits == 8)
    std::memcpy(out, q, 32);
  else if constexpr (Bits == 4) {
    for (int j = 0; j < 16; ++j) out[j] = std::byte(q[2 * j] | q[2 * j + 1] << 4);
  } else {
    static_assert(Bits == 6);
    for (int j = 0; j < 8; ++j) {
      const int word = q[4 * j] | q[4 * j + 1] << 6 | q[4 * j + 2] << 12 | q[4 * j + 3] << 18;
      for (int k = 0; k < 3; ++k) out[3 * j + k] = std::byte(word >> (8 * k) & 255);
    }
  }
}
template <int Bits>
void get_stream(const std::byte* in, std::uint8_t* q) {
  if constexpr (Bits == 8)
    std::memcpy(q, in, 32);
  else if constexpr (Bits == 4) {
    for (int j = 0; j < 16; ++j) {
      q[2 * j] = std::uint8_t(in[j] & std::byte{15});
      q[2 * j + 1] = std::uint8_t(in[j] >> 4);
    }
  } else {
    for (int j = 0; j < 8; ++j) {
      const int word = int(in[3 * j]) | int(in[3 * j + 1]) << 8 | int(in[3 * j + 2]) << 16;
      for (int k = 0; k < 4; ++k) q[4 * j + k] = std::uint8_t(word >> (6 * k) & 63);
    }
  }
}

/// The E8M0 byte for max |x| = `largest` (finite); 255 where the rule runs past 2^127, or EVEN carries the
/// mantissa of the largest floats into the exponent of infinity, as the references do.
template <class F>
std::uint8_t scale_byte(pow2_rule rule, std::int32_t largest) {
  constexpr int emax = exponent_of(is_integer<F> ? F::shape.high / 64 : F::shape.high);
  constexpr float top = is_integer<F> ? F::shape.high / 64 : F::shape.high;
  constexpr int mantissa = is_integer<F> ? F::bits - 2 : F::shape.mantissa;
  const int e = largest >> 23;
  int s = 0;
  switch (rule) {
    case pow2_rule::floor:
      s = e - emax;
      break;
    case pow2_rule::ceil:
      s = e + ((largest & 0x7FFFFF) != 0) - emax;
      break;
    case pow2_rule::even: {
      const int carried = (largest + (1 << (22 - mantissa))) >> 23;
      if (carried == 255) return 255;
      s = carried - emax;
      break;
    }
    case pow2_rule::rceil: {
      const std::int32_t d = std::bit_cast<std::int32_t>(std::bit_cast<float>(largest) * (1.f / top));
      s = (d >> 23) + ((d >> 23) == 0 ? (d & 0x7FFFFF) > 0x400000 : (d & 0x7FFFFF) != 0);
      break;
    }
  }
  return std::uint8_t(std::clamp(s, 0, 255));
}

}  // namespace detail

/// Scale byte and one code a byte for 32 elements. A NaN or Inf makes the whole block NaN (scale 0xFF), as
/// torchao and microxcaling do. FLOOR saturates elements above the largest value (max / scale may reach twice
/// the power of two). A zero block has scale 0 and keeps its signs.
template <class F>
std::uint8_t encode_codes(const float* x, pow2_rule rule, std::uint8_t* q) {
  using V = simd::vec<float, simd::lanes_of<float>>;
  constexpr int N = simd::lanes_of<float>;
  std::int32_t largest = 0;
  for (int j = 0; j < 32; ++j) largest = std::max(largest, std::bit_cast<std::int32_t>(x[j]) & 0x7FFFFFFF);
  const int e = largest >= 0x7F800000 ? 255 : int(detail::scale_byte<F>(rule, largest));
  if (e == 255) {
    std::fill_n(q, 32, detail::nan_element<F>());
    return 255;
  }
  const V up = simd::splat<V>(from_e8m0(std::uint8_t(254 - e)));  // 1 / scale, exactly
  for (int j = 0; j < 32; j += N)
    simd::store_bytes<V>(q + j, detail::element_codes<F>(simd::load_vec<V>(x + j), up));
  return std::uint8_t(e);
}
template <class F>
void decode_codes(std::uint8_t scale, const std::uint8_t* q, float* x) {
  const float d = from_e8m0(scale);
  for (int j = 0; j < 32; ++j) x[j] = detail::element_value<F>(q[j]) * d;
}

/// The block as one run of bytes: scale, then the codes as a bit stream.
template <class F, pow2_rule Rule = pow2_rule::floor>
struct block {
  static constexpr index elements = 32, bytes = 1 + 4 * F::bits;
  static constexpr bool any_input = true;
  static void encode(const float* x, std::byte* out) {
    std::uint8_t q[32];
    out[0] = std::byte(encode_codes<F>(x, Rule, q));
    detail::put_stream<F::bits>(q, out + 1);
  }
  static void decode(const std::byte* in, float* x) {
    std::uint8_t q[32];
    detail::get_stream<F::bits>(in + 1, q);
    decode_codes<F>(std::uint8_t(in[0]), q, x);
  }
};

struct e2m1 : block<fp4_e2m1> {
  static constexpr std::string_view name = "mx_e2m1";
};
struct e2m3 : block<fp6_e2m3> {
  static constexpr std::string_view name = "mx_e2m3";
};
struct e3m2 : block<fp6_e3m2> {
  static constexpr std::string_view name = "mx_e3m2";
};
struct e4m3 : block<fp8_e4m3> {
  static constexpr std::string_view name = "mx_e4m3";
};
struct e5m2 : block<fp8_e5m2> {
  static constexpr std::string_view name = "mx_e5m2";
};
struct i8 : block<int8> {
  static constexpr std::string_view name = "mx_int8";
};

/// A matrix as checkpoints store it: codes and scales apart. Rows of codes are cols * bits / 8 bytes.
struct packed {
  index rows = 0, cols = 0;
  std::vector<std::byte> codes;      ///< weight_packed U8 [rows, cols bits / 8]
  std::vector<std::uint8_t> scales;  ///< weight_scale U8 (E8M0) [rows, cols / 32]
};

/// \throws error when the columns are no multiple of 32.
template <class F, dense_matrix M>
requires std::same_as < scalar_of<M>,
float > packed pack(const M& w, pow2_rule rule = pow2_rule::floor, const executor& run = {}) {
  const matrix_view<const float> v = view_of(w);
  expects(v.cols % 32 == 0, "mx::pack: columns must be a multiple of 32, are {}", v.cols);
  const index across = v.cols / 32, block_bytes = 4 * F::bits;
  packed p{v.rows, v.cols, std::vector<std::byte>(std::size_t(v.rows * across * block_bytes)),
           std::vector<std::uint8_t>(std::size_t(v.rows * across))};
  for_all(run, v.rows, [&](index r) {
    for (index b = 0; b < across; ++b) {
      float x[32];
      std::uint8_t q[32];
      for (index j = 0; j < 32; ++j) x[j] = v(r, 32 * b + j);
      p.scales[std::size_t(r * across + b)] = encode_codes<F>(x, rule, q);
      detail::put_stream<F::bits>(q, p.codes.data() + (r * across + b) * block_bytes);
    }
  });
  return p;
}

/// \throws error when the parts do not fit the shape.
template <class F>
matrix<float> unpack(const packed& p) {
  const index across = p.cols / 32, block_bytes = 4 * F::bits;
  expects(p.cols % 32 == 0 && index(p.scales.size()) == p.rows * across &&
              index(p.codes.size()) == p.rows * across * block_bytes,
          "mx::unpack: {} x {} needs {} scales and {} code bytes, has {} and {}", p.rows, p.cols,
          p.rows * across, p.rows * across * block_bytes, p.scales.size(), p.codes.size());
  matrix<float> w(p.rows, p.cols);
  for (index b = 0; b < p.rows * across; ++b) {
    std::uint8_t q[32];
    detail::get_stream<F::bits>(p.codes.data() + b * block_bytes, q);
    decode_codes<F>(p.scales[std::size_t(b)], q, w.data() + 32 * b);
  }
  return w;
}

}  // namespace quench::inline QUENCH_ISA::mx
