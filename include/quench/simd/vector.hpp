#pragma once
/// \file  Native-width vectors by the compilers' own extension (`vector_size`, GCC manual 6.52): the lanes of
/// kernels that shuffle, mix integers with floats, or run one group a lane, on every ISA and without xsimd.
/// Every operation exists for a plain scalar too, so that one kernel text serves as its own scalar twin.
#include <quench/core/config.hpp>

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace quench::inline QUENCH_ISA::simd {

#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
inline constexpr int vector_bytes = 64, vector_registers = 32;
#elif defined(__AVX2__)
inline constexpr int vector_bytes = 32, vector_registers = 16;
#elif defined(__aarch64__)
inline constexpr int vector_bytes = 16, vector_registers = 32;
#else
inline constexpr int vector_bytes = 16, vector_registers = 16;
#endif

template <class T, int N>
struct vector_type {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
/// N lanes of T; `+ - * /`, comparisons (0 or -1 per lane), `& | ^ ~ << >>` and `?:` work lane by lane.
template <class T, int N>
using vec = typename vector_type<T, N>::type;

/// Lanes of T in one register.
template <class T>
inline constexpr int lanes_of = vector_bytes / int(sizeof(T));

/// What goes with a float lane type V (float, or N floats): integers of the same width, and masks.
template <class V>
struct lane_types {
  static constexpr int size = int(sizeof(V) / sizeof(float));
  using ints = vec<std::int32_t, size>;
  using mask = ints;
};
template <>
struct lane_types<float> {
  static constexpr int size = 1;
  using ints = std::int32_t;
  using mask = bool;
};
template <class V>
using ints_of = typename lane_types<V>::ints;
template <class V>
using mask_of = typename lane_types<V>::mask;

template <class V>
QUENCH_INLINE V load_vec(const void* p) {
  V v;
  std::memcpy(&v, p, sizeof(V));
  return v;
}
template <class V>
QUENCH_INLINE void store_vec(void* p, const V& v) {
  std::memcpy(p, &v, sizeof(V));
}

/// All lanes a.
template <class V>
QUENCH_INLINE V splat(float a) {
  return V{} + a;
}

/// The bits of float lanes, and back.
template <class V>
QUENCH_INLINE ints_of<V> bits_of(const V& v) {
  return std::bit_cast<ints_of<V>>(v);
}
template <class V>
QUENCH_INLINE V float_of_bits(const ints_of<V>& i) {
  return std::bit_cast<V>(i);
}

/// a where m holds, else b.
template <class M, class T>
QUENCH_INLINE T choose(const M& m, const T& a, const T& b) {
  return m ? a : b;
}
/// a < b ? a : b and a > b ? a : b: one instruction each, which compilers do not find by themselves for
/// vectors.
template <class V>
QUENCH_INLINE V lesser(const V& a, const V& b) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return V(_mm512_min_ps(__m512(a), __m512(b)));
#endif
#if defined(__AVX__)
  if constexpr (sizeof(V) == 32) return V(_mm256_min_ps(__m256(a), __m256(b)));
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(V) == 16) return V(_mm_min_ps(__m128(a), __m128(b)));
#endif
  return choose(a < b, a, b);
}
template <class V>
QUENCH_INLINE V greater(const V& a, const V& b) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return V(_mm512_max_ps(__m512(a), __m512(b)));
#endif
#if defined(__AVX__)
  if constexpr (sizeof(V) == 32) return V(_mm256_max_ps(__m256(a), __m256(b)));
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(V) == 16) return V(_mm_max_ps(__m128(a), __m128(b)));
#endif
  return choose(a > b, a, b);
}
/// Does m hold in any lane?
template <class M>
QUENCH_INLINE bool any_lane(const M& m) {
  if constexpr (std::is_arithmetic_v<M>) return bool(m);
#if defined(__AVX512F__)
  else if constexpr (sizeof(M) == 64)
    return _mm512_test_epi32_mask(__m512i(m), __m512i(m)) != 0;
#endif
#if defined(__AVX__)
  else if constexpr (sizeof(M) == 32)
    return !_mm256_testz_si256(__m256i(m), __m256i(m));
#endif
  else {
    std::uint64_t all = 0, word = 0;
    for (std::size_t i = 0; i < sizeof(M); i += 8) {
      std::memcpy(&word, reinterpret_cast<const char*>(&m) + i, 8);
      all |= word;
    }
    return all != 0;
  }
}

/// Integer lanes as floats; |i| < 2^24 is exact.
template <class V>
QUENCH_INLINE V to_float(const ints_of<V>& i) {
  if constexpr (std::is_arithmetic_v<V>)
    return V(i);
  else
    return __builtin_convertvector(i, V);
}
/// Float lanes cut toward zero; |v| < 2^31.
template <class V>
QUENCH_INLINE ints_of<V> truncate_lanes(const V& v) {
  if constexpr (std::is_arithmetic_v<V>)
    return std::int32_t(v);
  else
    return __builtin_convertvector(v, ints_of<V>);
}

template <class V>
QUENCH_INLINE V magnitude(const V& v) {
  return float_of_bits<V>(bits_of(v) & 0x7FFFFFFF);
}

/// Correctly rounded square root of every lane.
template <class V>
QUENCH_INLINE V square_root(V v) {
  if constexpr (std::is_arithmetic_v<V>) return std::sqrt(v);
#if defined(__AVX512F__)
  else if constexpr (sizeof(V) == 64)
    return V(_mm512_sqrt_ps(__m512(v)));
#endif
#if defined(__AVX__)
  else if constexpr (sizeof(V) == 32)
    return V(_mm256_sqrt_ps(__m256(v)));
#endif
#if defined(__SSE2__)
  else if constexpr (sizeof(V) == 16)
    return V(_mm_sqrt_ps(__m128(v)));
#endif
  else {
    for (int i = 0; i < lane_types<V>::size; ++i) v[i] = std::sqrt(v[i]);
    return v;
  }
}

/// A product that is rounded before it is added to anything: keeps compilers from fusing a * b + c, which g++
/// does under -march=native even across intrinsics. Costs no instruction. Formats whose bytes must equal
/// those of a program built without FMA write `rounded(a * b) + c`.
template <class V>
QUENCH_INLINE V rounded(V v) {
#if defined(__FMA__) || defined(__AVX512F__)
  __asm__("" : "+v"(v));
#elif defined(__aarch64__)
  __asm__("" : "+w"(v));
#endif
  return v;
}

namespace detail {
template <class V, int Xor, int... I>
QUENCH_INLINE V swap_lanes(V v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (I ^ Xor)...);
}
}  // namespace detail

}  // namespace quench::inline QUENCH_ISA::simd
