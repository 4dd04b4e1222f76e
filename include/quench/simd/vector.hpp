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
/// a < b ? a : b and a > b ? a : b: one instruction each, which compilers do not find by themselves for vectors.
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
  else if constexpr (sizeof(M) == 64) return _mm512_test_epi32_mask(__m512i(m), __m512i(m)) != 0;
#endif
#if defined(__AVX__)
  else if constexpr (sizeof(M) == 32) return !_mm256_testz_si256(__m256i(m), __m256i(m));
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

/// N bytes as integer lanes of V (N = lanes of V), and back (the low byte of each lane); the same for 16-bit words.
/// Compilers spell these conversions as long shuffles, hence the instructions by name.
template <class V>
QUENCH_INLINE ints_of<V> load_bytes(const void* p) {
  if constexpr (std::is_arithmetic_v<V>) return *static_cast<const std::uint8_t*>(p);
#if defined(__AVX512F__)
  else if constexpr (sizeof(V) == 64) return ints_of<V>(_mm512_cvtepu8_epi32(load_vec<__m128i>(p)));
#endif
#if defined(__AVX2__)
  else if constexpr (sizeof(V) == 32) return ints_of<V>(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(load_vec<long long>(p))));
#endif
  else return __builtin_convertvector(load_vec<vec<std::uint8_t, lane_types<V>::size>>(p), ints_of<V>);
}
template <class V>
QUENCH_INLINE void store_bytes(void* p, const ints_of<V>& i) {
  if constexpr (std::is_arithmetic_v<V>) *static_cast<std::uint8_t*>(p) = std::uint8_t(i);
#if defined(__AVX512F__)
  else if constexpr (sizeof(V) == 64) store_vec(p, _mm512_cvtepi32_epi8(__m512i(i)));
#endif
  else {
    using B = vec<std::uint8_t, lane_types<V>::size>;
    store_vec(p, B(__builtin_convertvector(i, B)));
  }
}
/// Sixteen nibbles, the low ones of eight bytes first, as sixteen lanes.
template <class V>
  requires(lane_types<V>::size == 16)
QUENCH_INLINE ints_of<V> spread_nibbles(std::uint64_t both) {
  const vec<std::uint64_t, 2> halves{both & 0x0F0F0F0F0F0F0F0Full, both >> 4 & 0x0F0F0F0F0F0F0F0Full};
#if defined(__AVX512F__)
  return ints_of<V>(_mm512_cvtepu8_epi32(__m128i(halves)));
#else
  return __builtin_convertvector(std::bit_cast<vec<std::uint8_t, 16>>(halves), ints_of<V>);
#endif
}
template <class V>
QUENCH_INLINE ints_of<V> load_words(const void* p) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return ints_of<V>(_mm512_cvtepu16_epi32(load_vec<__m256i>(p)));
  else
#endif
    return __builtin_convertvector(load_vec<vec<std::uint16_t, lane_types<V>::size>>(p), ints_of<V>);
}
template <class V>
QUENCH_INLINE void store_words(void* p, const ints_of<V>& i) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) store_vec(p, _mm512_cvtepi32_epi16(__m512i(i)));
  else
#endif
  {
    using H = vec<std::uint16_t, lane_types<V>::size>;
    store_vec(p, H(__builtin_convertvector(i, H)));
  }
}

/// table[i] for each lane, 0 <= i < 16.
template <class V>
QUENCH_INLINE V lookup16(const float* table, const ints_of<V>& i) {
  if constexpr (std::is_arithmetic_v<V>) return table[i];
#if defined(__AVX512F__)
  else if constexpr (sizeof(V) == 64) return V(_mm512_permutexvar_ps(__m512i(i), _mm512_loadu_ps(table)));
#endif
#if defined(__AVX2__)
  else if constexpr (sizeof(V) == 32) {
    const __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), __m256i(i));
    const __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), __m256i(i));
    return V(_mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(__m256i(i), 28))));
  }
#endif
  else {
    V v{};
    for (int k = 0; k < lane_types<V>::size; ++k) v[k] = table[i[k]];
    return v;
  }
}

/// table[i] for each lane, 0 <= i < 32.
template <class V>
QUENCH_INLINE ints_of<V> lookup32(const std::int32_t* table, const ints_of<V>& i) {
  if constexpr (std::is_arithmetic_v<V>) return table[i];
#if defined(__AVX512F__)
  else if constexpr (sizeof(V) == 64)
    return ints_of<V>(_mm512_permutex2var_epi32(_mm512_loadu_si512(table), __m512i(i), _mm512_loadu_si512(table + 16)));
#endif
  else {
    ints_of<V> v{};
    for (int k = 0; k < lane_types<V>::size; ++k) v[k] = table[i[k]];
    return v;
  }
}

/// Bit `at` of every lane, lane i in bit i of the result.
template <class I>
QUENCH_INLINE std::uint32_t gather_bits(const I& i, int at) {
#if defined(__AVX512F__)
  if constexpr (sizeof(I) == 64) return _mm512_test_epi32_mask(__m512i(i), _mm512_set1_epi32(1 << at));
  else
#endif
  {
    std::uint32_t bits = 0;
    for (int k = 0; k < int(sizeof(I) / 4); ++k) bits |= std::uint32_t(i[k] >> at & 1) << k;
    return bits;
  }
}
/// 0, 1, 2 .. N - 1.
template <class V>
inline constexpr auto iota = []<int... K>(std::integer_sequence<int, K...>) {
  return ints_of<V>{K...};
}(std::make_integer_sequence<int, lane_types<V>::size>{});

/// The smallest integer >= v; |v| < 2^31.
template <class V>
QUENCH_INLINE ints_of<V> ceil_to_int(const V& v) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64)
    return ints_of<V>(_mm512_cvt_roundps_epi32(__m512(v), _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC));
  else
#endif
  {
    const ints_of<V> cut = truncate_lanes(v);
    return choose(v > to_float<V>(cut), ints_of<V>(cut + 1), cut);
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

/// Lane j of the result is op over the lanes of a[j]: N - 1 operations and 2 (N - 1) shuffles for N vectors of N lanes.
template <int H = 1, std::size_t N, class V, class Op>
QUENCH_INLINE V reduce_each(V (&a)[N], Op&& op) {
  if constexpr (N == 1) return a[0];
  else {
    V half[N / 2];
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (detail::exchange<V, H>(a[2 * I], a[2 * I + 1], std::make_integer_sequence<int, lane_types<V>::size>{}), ...);
      ((half[I] = op(a[2 * I], a[2 * I + 1])), ...);
    }(std::make_index_sequence<N / 2>{});
    return reduce_each<2 * H>(half, op);
  }
}

/// Lane i of the result is lane i ^ Xor of v.
template <int Xor, class V>
QUENCH_INLINE V swap_lanes(V v) {
  return detail::swap_lanes<V, Xor>(v, std::make_integer_sequence<int, int(sizeof(V) / sizeof(v[0]))>{});
}

}  // namespace quench::simd
