#pragma once
/// \file  a * b + c rounded once, with the same bits on every instruction set. Where there is no such instruction the
/// sum is formed exactly in double and rounded to odd first (Boldo & Melquiond 2008, "Emulation of FMA and correctly
/// rounded sums"). `rounded` in simd/vector.hpp is the opposite: a product that no compiler may fuse.
#include <quench/simd/vector.hpp>

#include <cstdint>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace quench::inline QUENCH_ISA::simd {

/// True where `fused` is one instruction.
#if defined(__FMA__) || defined(__aarch64__)
inline constexpr bool native_fused = true;
#else
inline constexpr bool native_fused = false;
#endif

/// fl(a * b + c) of N float lanes by way of double. Exact for every finite result above the subnormal range.
template <int N>
vec<float, N> fused_by_double(vec<float, N> a, vec<float, N> b, vec<float, N> c) {
  using D = vec<double, N>;
  using L = vec<std::int64_t, N>;
  const D p = __builtin_convertvector(a, D) * __builtin_convertvector(b, D), q = __builtin_convertvector(c, D);
  const D s = p + q, back = s - p, lost = (p - (s - back)) + (q - back);   // s + lost = a * b + c, exactly
  L bits;
  std::memcpy(&bits, &s, sizeof bits);
  const L even = (bits & 1) - 1, inexact = L(lost != 0);
  const L away = L((lost > 0) == (s > 0));                                 // the true sum lies further from zero
  bits += even & inexact & ((away & 2) - 1);
  D odd;
  std::memcpy(&odd, &bits, sizeof odd);
  return __builtin_convertvector(odd, vec<float, N>);
}

/// fl(a * b + c) of one register of floats.
using float_lanes = vec<float, lanes_of<float>>;
QUENCH_INLINE float_lanes fused(float_lanes a, float_lanes b, float_lanes c) {
  if constexpr (!native_fused) return fused_by_double<lanes_of<float>>(a, b, c);
#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
  return float_lanes(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
#elif defined(__AVX2__) && defined(__FMA__)
  return float_lanes(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
#elif defined(__FMA__)
  return float_lanes(_mm_fmadd_ps(__m128(a), __m128(b), __m128(c)));
#elif defined(__aarch64__)
  return float_lanes(vfmaq_f32(float32x4_t(c), float32x4_t(a), float32x4_t(b)));
#endif
}

}  // namespace quench::simd
