#pragma once
/// \file  What xsimd lacks or gets wrong: one generic body each, and a faster one where the instruction set has it.
/// Every primitive gives the same bits on every instruction set; tests/simd holds each against its scalar meaning.
#include <quench/simd/lanes.hpp>

#include <bit>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace quench::inline QUENCH_ISA::simd {

/// x, as a value already rounded: the compiler can neither fuse the multiplication that made it into a later addition
/// (contraction) nor cancel (x + c) - c. Costs no instruction.
template <class V>
QUENCH_INLINE V opaque(V x) {
#if defined(__x86_64__) && defined(__GNUC__)
  if constexpr (lane_traits<V>::size == 1) asm("" : "+x"(x));
  else {
#if QUENCH_HAS_XSIMD
    typename V::register_type r = x;
#if defined(__AVX512F__)
    asm("" : "+v"(r));
#else
    asm("" : "+x"(r));
#endif
    x = V(r);
#endif
  }
#elif defined(__aarch64__) && defined(__GNUC__)
  if constexpr (lane_traits<V>::size == 1) asm("" : "+w"(x));
  else {
#if QUENCH_HAS_XSIMD
    typename V::register_type r = x;
    asm("" : "+w"(r));
    x = V(r);
#endif
  }
#endif
  return x;
}

/// a * b + c rounded once, where that is one instruction; `has_fused<V>` says whether it is.
#if defined(__FMA__) || defined(__AVX512F__) || defined(__aarch64__)
template <class V>
inline constexpr bool has_fused = true;
#else
template <class V>
inline constexpr bool has_fused = false;
#endif
template <std::floating_point T>
QUENCH_INLINE T fused(T a, T b, T c) { return std::fma(a, b, c); }
#if QUENCH_HAS_XSIMD
template <class A>
QUENCH_INLINE batch<float, A> fused(batch<float, A> a, batch<float, A> b, batch<float, A> c) {
  using V [[maybe_unused]] = batch<float, A>;
#if defined(__AVX512F__)
  if constexpr (V::size == 16) return V(_mm512_fmadd_ps(a, b, c));
#endif
#if defined(__FMA__)
  if constexpr (V::size == 8) return V(_mm256_fmadd_ps(a, b, c));
  if constexpr (V::size == 4) return V(_mm_fmadd_ps(a, b, c));
#elif defined(__aarch64__)
  if constexpr (V::size == 4) return V(vfmaq_f32(c, a, b));
#endif
  return xsimd::fma(a, b, c);
}
#endif

/// c - a * b rounded once.
template <std::floating_point T>
QUENCH_INLINE T fused_minus(T a, T b, T c) { return std::fma(-a, b, c); }
#if QUENCH_HAS_XSIMD
template <class A>
QUENCH_INLINE batch<float, A> fused_minus(batch<float, A> a, batch<float, A> b, batch<float, A> c) {
  using V [[maybe_unused]] = batch<float, A>;
#if defined(__AVX512F__)
  if constexpr (V::size == 16) return V(_mm512_fnmadd_ps(a, b, c));
#endif
#if defined(__FMA__)
  if constexpr (V::size == 8) return V(_mm256_fnmadd_ps(a, b, c));
  if constexpr (V::size == 4) return V(_mm_fnmadd_ps(a, b, c));
#elif defined(__aarch64__)
  if constexpr (V::size == 4) return V(vfmsq_f32(c, a, b));
#endif
  return fused(-a, b, c);
}
#endif

/// x / s given inverse = 1 / s (rounded): the same value as the division wherever a rounding to a grid can see the
/// difference, by one Newton correction (Markstein 1990) instead of a divide. Equal to x / s rounded to nearest in
/// every case where x / s lies within 2 ulp of a number of at most 20 significant bits, hence at every tie of a number
/// format. Needs 2^-100 <= s <= 2^100 and |x / s| < 2^24; without a fused multiply-add it divides.
template <class V>
QUENCH_INLINE V quotient(V x, V s, V inverse) {
  if constexpr (has_fused<V> && sizeof(scalar_t<V>) == 4 && lane_traits<V>::size > 1) {
    const V q = x * inverse;
    return fused(fused_minus(q, s, x), inverse, q);
  } else {
    return x / s;
  }
}

/// Round to nearest, ties to even, for |x| <= 2^22 (double: 2^51), in one addition and one subtraction; -0 becomes +0.
/// Assumes the default rounding direction, as every other addition in the program does.
template <class V>
QUENCH_INLINE V round_even_small(V x) {
  using T = scalar_t<V>;
  constexpr T magic = T(1.5) * T(std::uint64_t(1) << ieee<T>::mantissa);
  return opaque(x + V(magic)) - V(magic);
}

/// Round to nearest, ties to even, for |x| <= 2^22 (double: 2^51), in the cheapest way the lane type has. The sign of a
/// zero result is unspecified: follow with times().
template <class V>
QUENCH_INLINE V round_even(V x) {
#if QUENCH_HAS_XSIMD && (defined(__SSE4_1__) || defined(__aarch64__))
  if constexpr (lane_traits<V>::size > 1) return xsimd::nearbyint(x);
#endif
  return round_even_small(x);
}

/// v * s with -0 turned into +0.
template <class V>
QUENCH_INLINE V times(V v, V s) {
  const V zero = V(scalar_t<V>(0));
  if constexpr (has_fused<V> && sizeof(scalar_t<V>) == 4 && lane_traits<V>::size > 1) return fused(v, s, zero);
  else return v * s + zero;   // the same value whether or not the compiler fuses it
}

/// Largest lane of non-negative (or any signed) integers.
template <std::signed_integral B>
QUENCH_INLINE B reduce_max(B x) { return x; }
#if QUENCH_HAS_XSIMD
template <std::signed_integral B, class A>
QUENCH_INLINE B reduce_max(batch<B, A> x) {
#if defined(__AVX512F__)
  if constexpr (sizeof(B) == 4 && batch<B, A>::size == 16) return _mm512_reduce_max_epi32(x);
#endif
  alignas(64) std::array<B, batch<B, A>::size> lane;
  x.store_aligned(lane.data());
  B m = lane[0];
  for (std::size_t i = 1; i < lane.size(); ++i) m = lane[i] > m ? lane[i] : m;
  return m;
}
#endif

/// Smallest lane, no NaN among them.
template <class V>
QUENCH_INLINE scalar_t<V> lane_min(V x) {
  alignas(64) std::array<scalar_t<V>, std::size_t(lane_traits<V>::size)> lane;
  simd::store(lane.data(), x);
  scalar_t<V> m = lane[0];
  for (std::size_t i = 1; i < lane.size(); ++i) m = lane[i] < m ? lane[i] : m;
  return m;
}

/// Lane j of the result = the largest lane of m[j], for as many vectors as there are lanes; lanes are integers.
template <class B>
QUENCH_INLINE B max_of_each(const B* m) {
  if constexpr (std::is_integral_v<B>) return *m;
#if QUENCH_HAS_XSIMD
#if defined(__AVX512F__)
  else if constexpr (sizeof(B) == 64 && B::size == 16) {
    // A tournament: halves of two vectors meet in one, 15 times; the last shuffle puts the winners in order.
    __m512i a[8], b[4], c[2];
    for (int j = 0; j < 8; ++j)
      a[j] = _mm512_max_epi32(_mm512_shuffle_i64x2(m[j], m[j + 8], 0x44), _mm512_shuffle_i64x2(m[j], m[j + 8], 0xEE));
    for (int j = 0; j < 4; ++j)
      b[j] = _mm512_max_epi32(_mm512_shuffle_i64x2(a[j], a[j + 4], 0x88), _mm512_shuffle_i64x2(a[j], a[j + 4], 0xDD));
    for (int j = 0; j < 2; ++j)
      c[j] = _mm512_max_epi32(_mm512_unpacklo_epi64(b[j], b[j + 2]), _mm512_unpackhi_epi64(b[j], b[j + 2]));
    const __m512 c0 = _mm512_castsi512_ps(c[0]), c1 = _mm512_castsi512_ps(c[1]);
    const __m512i d = _mm512_max_epi32(_mm512_castps_si512(_mm512_shuffle_ps(c0, c1, 0x88)), _mm512_castps_si512(_mm512_shuffle_ps(c0, c1, 0xDD)));
    return B(_mm512_permutexvar_epi32(_mm512_setr_epi32(0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15), d));
  }
#endif
#if defined(__AVX2__)
  else if constexpr (sizeof(B) == 32 && B::size == 8) {
    __m256i a[4], b[2];
    for (int j = 0; j < 4; ++j)
      a[j] = _mm256_max_epi32(_mm256_permute2x128_si256(m[j], m[j + 4], 0x20), _mm256_permute2x128_si256(m[j], m[j + 4], 0x31));
    for (int j = 0; j < 2; ++j)
      b[j] = _mm256_max_epi32(_mm256_unpacklo_epi64(a[j], a[j + 2]), _mm256_unpackhi_epi64(a[j], a[j + 2]));
    const __m256 b0 = _mm256_castsi256_ps(b[0]), b1 = _mm256_castsi256_ps(b[1]);
    const __m256i c = _mm256_max_epi32(_mm256_castps_si256(_mm256_shuffle_ps(b0, b1, 0x88)), _mm256_castps_si256(_mm256_shuffle_ps(b0, b1, 0xDD)));
    return B(_mm256_shuffle_epi32(c, 0xD8));
  }
#endif
  else {
    alignas(64) std::array<typename B::value_type, B::size> lane;
    for (std::size_t j = 0; j < lane.size(); ++j) lane[j] = simd::reduce_max(m[j]);
    return B::load_aligned(lane.data());
  }
#endif
}

/// A hint that the cache line at p will be read soon; any address is allowed.
QUENCH_INLINE void prefetch(const void* p) {
#if defined(__GNUC__)
  __builtin_prefetch(p, 0, 3);
#else
  static_cast<void>(p);
#endif
}

}  // namespace quench::simd
