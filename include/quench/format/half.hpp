#pragma once
/// \file  float <-> binary16 (IEEE 754-2008) and bfloat16 by integer arithmetic, for scalars and vector lanes: round
/// to nearest even, overflow to infinity, every NaN becomes the quiet NaN of its sign (0x7E00, 0x7FC0).
#include <quench/simd/vector.hpp>

namespace quench::inline QUENCH_ISA {

/// The low 16 bits of each lane hold the binary16 nearest to x.
template <class V>
QUENCH_INLINE simd::ints_of<V> to_fp16_bits(const V& x) {
  using I = simd::ints_of<V>;
  const I u = simd::bits_of(x), sign = (u >> 16) & 0x8000, a = u & 0x7FFFFFFF;
  const I normal = (a + 0x0FFF + ((a >> 13) & 1) - 0x38000000) >> 13;
  // 0.5 has the spacing of binary16's subnormals, 2^-24: adding it rounds, and its low bits are the code.
  const I subnormal = simd::bits_of(V(simd::float_of_bits<V>(a) + 0.5f)) - 0x3F000000;
  I h = simd::choose(a < 0x38800000, subnormal, normal);
  h = simd::choose(a >= 0x47800000, I(I{} + 0x7C00), h);
  h = simd::choose(a > 0x7F800000, I(I{} + 0x7E00), h);
  return h | sign;
}

/// The value of binary16 codes held in the low 16 bits of each lane (the rest zero).
template <class V>
QUENCH_INLINE V from_fp16_bits(const simd::ints_of<V>& h) {
  using I = simd::ints_of<V>;
  const I sign = (h & 0x8000) << 16, a = h & 0x7FFF;
  const I normal = (a << 13) + simd::choose(a >= 0x7C00, I(I{} + 0x70000000), I(I{} + 0x38000000));
  const I subnormal = simd::bits_of(V(simd::to_float<V>(a) * 0x1p-24f));
  return simd::float_of_bits<V>(simd::choose(a < 0x0400, subnormal, normal) | sign);
}

/// bfloat16 nearest to x, in the low 16 bits of each lane.
template <class V>
QUENCH_INLINE simd::ints_of<V> to_bf16_bits(const V& x) {
  using I = simd::ints_of<V>;
  const I u = simd::bits_of(x), a = u & 0x7FFFFFFF;
  const I top = (u >> 16) & 0xFFFF;
  const I up = ((u & 0xFFFF) + 0x7FFF + (top & 1)) >> 16;
  return simd::choose(a > 0x7F800000, I((top & 0x8000) | 0x7FC0), I(top + up));
}
template <class V>
QUENCH_INLINE V from_bf16_bits(const simd::ints_of<V>& h) {
  return simd::float_of_bits<V>(h << 16);
}

/// The nearest binary16 or bfloat16 code of one float, and the value of a code.
inline std::uint16_t to_fp16(float x) { return std::uint16_t(to_fp16_bits(x)); }
inline float from_fp16(std::uint16_t code) { return from_fp16_bits<float>(code); }
inline std::uint16_t to_bf16(float x) { return std::uint16_t(to_bf16_bits(x)); }
inline float from_bf16(std::uint16_t code) { return from_bf16_bits<float>(std::int32_t(code)); }

}  // namespace quench
