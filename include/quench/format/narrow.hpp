#pragma once
/// \file  float -> code of a small floating-point format (2 to 8 bits) by integer arithmetic, for scalars and
/// vector lanes: round to nearest even, saturating (OCP OFP8, MX v1.0), NaN to the NaN code, or to 0 where
/// there is none.
#include <quench/format/minifloat.hpp>
#include <quench/simd/shuffle.hpp>

namespace quench::inline QUENCH_ISA {

/// Codes of F nearest to x, one a lane; magnitudes above the largest value, and infinity, take the largest.
template <class F, class V>
QUENCH_INLINE simd::ints_of<V> to_narrow(const V& x) {
  using I = simd::ints_of<V>;
  constexpr int M = F::shape.mantissa, low = F::shape.min_exponent;
  constexpr std::int32_t largest = std::bit_cast<std::int32_t>(F::shape.high);
  constexpr std::int32_t smallest_normal = (low + 127) << 23;
  constexpr std::int32_t step_bits = (low - M + 23 + 127)
                                     << 23;  // a float whose unit in the last place is F's step
  const I u = simd::bits_of(x), all = u & 0x7FFFFFFF;
  const I a = simd::choose(all < largest, all, I(I{} + largest));
  const I normal = ((a + ((1 << (22 - M)) - 1) + ((a >> (23 - M)) & 1)) >> (23 - M)) - ((low + 126) << M);
  const I subnormal =
      simd::bits_of(V(simd::float_of_bits<V>(a) + std::bit_cast<float>(step_bits))) - step_bits;
  const I sign = (u >> (32 - F::bits)) & (1 << (F::bits - 1));
  const I code = simd::choose(a < smallest_normal, subnormal, normal) | sign;
  constexpr std::int32_t nan_code = F::shape.overflow == overflow_code::none ? 0 : (1 << (F::bits - 1)) - 1;
  return simd::choose(all > 0x7F800000, I(I{} + nan_code), code);
}

/// Values of all codes of F, by code.
template <class F>
inline constexpr auto narrow_values = [] {
  std::array<float, std::size_t(1) << F::bits> v{};
  for (unsigned c = 0; c < v.size(); ++c) v[c] = F::decode(c);
  return v;
}();

/// The scale 2^(e - 127) of an E8M0 byte (OCP MX v1.0 5.4.1): 0 is the subnormal 2^-127, 255 is NaN.
inline float from_e8m0(std::uint8_t e) {
  return std::bit_cast<float>(e == 0 ? 0x00400000u : e == 255 ? 0x7FC00000u : std::uint32_t(e) << 23);
}

/// The E8M0 byte nearest to x > 0, halves upward (1.5 -> 2), as ml_dtypes rounds; like it, everything between
/// 2^-127 and 2^-126 goes up. Saturating: x <= 0 gives 2^-127, beyond the range 2^127; else both give NaN
/// (255). Inf and NaN give NaN in either case.
inline std::uint8_t to_e8m0(float x, bool saturate = true) {
  const auto u = std::bit_cast<std::uint32_t>(x), mantissa = u & 0x007FFFFFu;
  if ((u & 0x7FFFFFFFu) >= 0x7F800000u) return 255;
  if (!(x > 0)) return saturate ? 0 : 255;
  const std::uint32_t e = u >> 23, code = e + (mantissa >= (e == 0 ? 0x00400001u : 0x00400000u));
  return std::uint8_t(code == 255 && saturate ? 254 : code);
}

}  // namespace quench::inline QUENCH_ISA
