#pragma once
/// \file  Raw little-endian elements of a file as numbers: exact widening for every type that has fewer bits.
#include <quench/io/dtype.hpp>

#include <utility>

namespace quench::inline QUENCH_ISA::io {

namespace detail {

/// A small float of E exponent and M mantissa bits, subnormals included. `special`: the top exponent holds
/// Inf and NaN (IEEE), only the all-ones code is NaN (OCP E4M3), or none; fnuz types use their own bias and
/// 0x80 as NaN.
enum class special { ieee, all_ones, none, fnuz };
template <int E, int M, special S>
float small_float(unsigned code) {
  constexpr unsigned top = (1u << E) - 1, mantissa = (1u << M) - 1;
  constexpr int bias = (1 << (E - 1)) - (S == special::fnuz ? 0 : 1);
  const unsigned m = code & mantissa, e = (code >> M) & top;
  const bool negative = (code >> (E + M)) & 1;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  if (S == special::fnuz && negative && e == 0 && m == 0) return nan;
  if (S == special::all_ones && e == top && m == mantissa) return nan;
  if (S == special::ieee && e == top) return m ? nan : negative ? -inf : inf;
  const float x =
      e == 0 ? std::ldexp(float(m), 1 - bias - M) : std::ldexp(float(m | (mantissa + 1)), int(e) - bias - M);
  return negative ? -x : x;
}

inline float half_to_float(std::uint16_t h) {
  const std::uint32_t sign = std::uint32_t(h & 0x8000u) << 16, rest = h & 0x7fffu;
  if (rest >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (rest << 13 & 0x7fffffu));
  // The half's bits sit 13 to the left; multiplying by 2^112 moves the exponent bias and normalises
  // subnormals.
  return std::bit_cast<float>(sign |
                              std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest << 13) * 0x1p112f));
}
inline float bfloat_to_float(std::uint16_t h) { return std::bit_cast<float>(std::uint32_t(h) << 16); }
inline float e8m0_to_float(std::uint8_t code) {
  return code == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.f, int(code) - 127);
}

template <class Raw, class T, class F>
void each(std::span<const std::byte> in, T* out, const F& f) {
  for (std::size_t i = 0; i < in.size() / sizeof(Raw); ++i) {
    Raw raw;
    std::memcpy(&raw, in.data() + i * sizeof(Raw), sizeof raw);
    out[i] = static_cast<T>(f(raw));
  }
}

/// Elements of 4 or 6 bits, packed from the low bit up.
template <int Bits, class T, class F>
void each_bits(std::span<const std::byte> in, T* out, const F& f) {
  for (std::size_t i = 0; i < in.size() * 8 / Bits; ++i) {
    const std::size_t bit = i * Bits, at = bit / 8;
    unsigned word = std::to_integer<unsigned>(in[at]);
    if (at + 1 < in.size()) word |= std::to_integer<unsigned>(in[at + 1]) << 8;
    out[i] = static_cast<T>(f((word >> bit % 8) & ((1u << Bits) - 1)));
  }
}

}  // namespace detail

/// Writes the elements of `in` to out[0 ... n). T is float or double (exact for every type whose values T can
/// hold; rounded to nearest otherwise; integers above 2^24 or 2^53 round), or an integer when the file holds
/// integers that T can hold. NaN and infinities stay. Never allocates. `in` may be unaligned. \returns false
/// when the type cannot be converted to T (complex, or floats to integers, or too wide an integer)
template <class T>
bool decode_elements(dtype type, std::span<const std::byte> in, T* out) {
  using namespace detail;
  const auto integers = [&]<class Raw>(Raw) {
    if constexpr (std::is_floating_point_v<T>)
      return each<Raw>(in, out, [](Raw x) { return x; }), true;
    else {
      bool fits = true;
      each<Raw>(in, out, [&](Raw x) { return fits = fits && std::in_range<T>(x), x; });
      return fits;
    }
  };
  switch (type) {
    case dtype::boolean:
      return each<std::uint8_t>(in, out, [](std::uint8_t x) { return x != 0; }), true;
    case dtype::u8:
      return integers(std::uint8_t{});
    case dtype::i8:
      return integers(std::int8_t{});
    case dtype::u16:
      return integers(std::uint16_t{});
    case dtype::i16:
      return integers(std::int16_t{});
    case dtype::u32:
      return integers(std::uint32_t{});
    case dtype::i32:
      return integers(std::int32_t{});
    case dtype::u64:
      return integers(std::uint64_t{});
    case dtype::i64:
      return integers(std::int64_t{});
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (type) {
      case dtype::f64:
        return each<double>(in, out, [](double x) { return x; }), true;
      case dtype::f32:
        return each<float>(in, out, [](float x) { return x; }), true;
      case dtype::f16:
        return each<std::uint16_t>(in, out, half_to_float), true;
      case dtype::bf16:
        return each<std::uint16_t>(in, out, bfloat_to_float), true;
      case dtype::f8_e4m3:
        return each<std::uint8_t>(in, out, small_float<4, 3, special::all_ones>), true;
      case dtype::f8_e5m2:
        return each<std::uint8_t>(in, out, small_float<5, 2, special::ieee>), true;
      case dtype::f8_e8m0:
        return each<std::uint8_t>(in, out, e8m0_to_float), true;
      case dtype::f8_e4m3fnuz:
        return each<std::uint8_t>(in, out, small_float<4, 3, special::fnuz>), true;
      case dtype::f8_e5m2fnuz:
        return each<std::uint8_t>(in, out, small_float<5, 2, special::fnuz>), true;
      case dtype::f4:
        return each_bits<4>(in, out, small_float<2, 1, special::none>), true;
      case dtype::f6_e2m3:
        return each_bits<6>(in, out, small_float<2, 3, special::none>), true;
      case dtype::f6_e3m2:
        return each_bits<6>(in, out, small_float<3, 2, special::none>), true;
      default:
        break;
    }
  }
  return false;
}

}  // namespace quench::inline QUENCH_ISA::io
