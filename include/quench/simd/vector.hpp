#pragma once
/// \file  Native-width vectors by the compilers' own extension (`vector_size`, GCC manual 6.52): the lanes of kernels
/// that shuffle, mix integers with floats, or run one group a lane, on every ISA and without xsimd.
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
/// Does m hold in any lane?
template <class M>
QUENCH_INLINE bool any_lane(const M& m) {
  if constexpr (std::is_arithmetic_v<M>) return bool(m);
  else {
    std::int32_t all = 0;
    for (int i = 0; i < int(sizeof(M) / 4); ++i) all |= m[i];
    return all != 0;
  }
}

/// Integer lanes as floats; |i| < 2^24 is exact.
template <class V>
QUENCH_INLINE V to_float(const ints_of<V>& i) {
  if constexpr (std::is_arithmetic_v<V>) return V(i);
  else return __builtin_convertvector(i, V);
}
/// Float lanes cut toward zero; |v| < 2^31.
template <class V>
QUENCH_INLINE ints_of<V> truncate_lanes(const V& v) {
  if constexpr (std::is_arithmetic_v<V>) return std::int32_t(v);
  else return __builtin_convertvector(v, ints_of<V>);
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
  else if constexpr (sizeof(V) == 64) return V(_mm512_sqrt_ps(__m512(v)));
#endif
#if defined(__AVX__)
  else if constexpr (sizeof(V) == 32) return V(_mm256_sqrt_ps(__m256(v)));
#endif
#if defined(__SSE2__)
  else if constexpr (sizeof(V) == 16) return V(_mm_sqrt_ps(__m128(v)));
#endif
  else {
    for (int i = 0; i < lane_types<V>::size; ++i) v[i] = std::sqrt(v[i]);
    return v;
  }
}

/// A product that is rounded before it is added to anything: keeps compilers from fusing a * b + c, which g++ does
/// under -march=native even across intrinsics. Costs no instruction. Formats whose bytes must equal those of a
/// program built without FMA write `rounded(a * b) + c`.
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

/// N bytes as integer lanes of V (N = lanes of V), and back (the low byte of each lane).
template <class V>
QUENCH_INLINE ints_of<V> load_bytes(const void* p) {
  if constexpr (std::is_arithmetic_v<V>) return *static_cast<const std::uint8_t*>(p);
  else return __builtin_convertvector(load_vec<vec<std::uint8_t, lane_types<V>::size>>(p), ints_of<V>);
}
template <class V>
QUENCH_INLINE void store_bytes(void* p, const ints_of<V>& i) {
  if constexpr (std::is_arithmetic_v<V>) *static_cast<std::uint8_t*>(p) = std::uint8_t(i);
  else {
    using B = vec<std::uint8_t, lane_types<V>::size>;
    store_vec(p, B(__builtin_convertvector(i, B)));
  }
}

/// table[i] for each lane, 0 <= i < 16.
template <class V>
QUENCH_INLINE V lookup16(const float* table, const ints_of<V>& i) {
  if constexpr (std::is_arithmetic_v<V>) return table[i];
#if defined(__AVX512F__)
  else if constexpr (sizeof(V) == 64) return V(_mm512_permutexvar_ps(__m512i(i), _mm512_loadu_ps(table)));
#endif
  else {
    V v{};
    for (int k = 0; k < lane_types<V>::size; ++k) v[k] = table[i[k]];
    return v;
  }
}

namespace detail {
template <class V, int H, int... K>
QUENCH_INLINE void exchange(V& a, V& b, std::integer_sequence<int, K...>) {
  constexpr int N = sizeof...(K);
  const V low = __builtin_shufflevector(a, b, ((K & H) ? N + K - H : K)...);
  b = __builtin_shufflevector(a, b, ((K & H) ? N + K : K + H)...);
  a = low;
}
template <int H, class V, std::size_t N>
QUENCH_INLINE void transpose_from(V (&a)[N]) {
  if constexpr (H < int(N)) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      constexpr std::size_t h = std::size_t(H);
      (exchange<V, H>(a[I / h * 2 * h + I % h], a[I / h * 2 * h + I % h + h], std::make_integer_sequence<int, int(N)>{}),
       ...);
    }(std::make_index_sequence<N / 2>{});
    transpose_from<2 * H>(a);
  }
}
}  // namespace detail

/// Lane j of a[i] <-> lane i of a[j], for as many vectors as they have lanes.
template <class V, std::size_t N>
QUENCH_INLINE void transpose(V (&a)[N]) {
  static_assert(sizeof(V) / sizeof(a[0][0]) == N);
  detail::transpose_from<1>(a);
}

/// Lane i of the result is lane i ^ Xor of v.
template <int Xor, class V>
QUENCH_INLINE V swap_lanes(V v) {
  return detail::swap_lanes<V, Xor>(v, std::make_integer_sequence<int, int(sizeof(V) / sizeof(v[0]))>{});
}

}  // namespace quench::simd
