#pragma once
/// \file  Moving lanes of simd/vector.hpp about: bytes and words to lanes and back, tables, transposition,
/// reductions.
#include <quench/simd/vector.hpp>

namespace quench::inline QUENCH_ISA::simd {

/// N bytes as integer lanes of V (N = lanes of V), and back (the low byte of each lane); the same for 16-bit
/// words. Compilers spell these conversions as long shuffles, hence the instructions by name.
template <class V>
QUENCH_INLINE ints_of<V> load_bytes(const void* p) {
  if constexpr (std::is_arithmetic_v<V>) return *static_cast<const std::uint8_t*>(p);
#if defined(__AVX512F__)
  else if constexpr (sizeof(V) == 64)
    return ints_of<V>(_mm512_cvtepu8_epi32(load_vec<__m128i>(p)));
#endif
#if defined(__AVX2__)
  else if constexpr (sizeof(V) == 32)
    return ints_of<V>(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(load_vec<long long>(p))));
#endif
  else
    return __builtin_convertvector(load_vec<vec<std::uint8_t, lane_types<V>::size>>(p), ints_of<V>);
}
template <class V>
QUENCH_INLINE void store_bytes(void* p, const ints_of<V>& i) {
  if constexpr (std::is_arithmetic_v<V>) *static_cast<std::uint8_t*>(p) = std::uint8_t(i);
#if defined(__AVX512F__)
  else if constexpr (sizeof(V) == 64)
    store_vec(p, _mm512_cvtepi32_epi8(__m512i(i)));
#endif
  else {
    using B = vec<std::uint8_t, lane_types<V>::size>;
    store_vec(p, B(__builtin_convertvector(i, B)));
  }
}
/// Sixteen nibbles, the low ones of eight bytes first, as sixteen lanes.
template <class V>
requires(lane_types<V>::size == 16) QUENCH_INLINE ints_of<V> spread_nibbles(std::uint64_t both) {
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
  if constexpr (sizeof(V) == 64)
    return ints_of<V>(_mm512_cvtepu16_epi32(load_vec<__m256i>(p)));
  else
#endif
    return __builtin_convertvector(load_vec<vec<std::uint16_t, lane_types<V>::size>>(p), ints_of<V>);
}
template <class V>
QUENCH_INLINE void store_words(void* p, const ints_of<V>& i) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64)
    store_vec(p, _mm512_cvtepi32_epi16(__m512i(i)));
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
  else if constexpr (sizeof(V) == 64)
    return V(_mm512_permutexvar_ps(__m512i(i), _mm512_loadu_ps(table)));
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
    return ints_of<V>(
        _mm512_permutex2var_epi32(_mm512_loadu_si512(table), __m512i(i), _mm512_loadu_si512(table + 16)));
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
  if constexpr (sizeof(I) == 64)
    return _mm512_test_epi32_mask(__m512i(i), _mm512_set1_epi32(1 << at));
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
}
(std::make_integer_sequence<int, lane_types<V>::size>{});

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
      (exchange<V, H>(a[I / h * 2 * h + I % h], a[I / h * 2 * h + I % h + h],
                      std::make_integer_sequence<int, int(N)>{}),
       ...);
    }
    (std::make_index_sequence<N / 2>{});
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

/// Lane j of the result is op over the lanes of a[j]: N - 1 operations and 2 (N - 1) shuffles for N vectors
/// of N lanes.
template <int H = 1, std::size_t N, class V, class Op>
QUENCH_INLINE V reduce_each(V (&a)[N], Op&& op) {
  if constexpr (N == 1)
    return a[0];
  else {
    V half[N / 2];
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (detail::exchange<V, H>(a[2 * I], a[2 * I + 1], std::make_integer_sequence<int, lane_types<V>::size>{}),
       ...);
      ((half[I] = op(a[2 * I], a[2 * I + 1])), ...);
    }
    (std::make_index_sequence<N / 2>{});
    return reduce_each<2 * H>(half, op);
  }
}

/// Lane i of the result is lane i ^ Xor of v.
template <int Xor, class V>
QUENCH_INLINE V swap_lanes(V v) {
  return detail::swap_lanes<V, Xor>(v, std::make_integer_sequence<int, int(sizeof(V) / sizeof(v[0]))>{});
}

}  // namespace quench::inline QUENCH_ISA::simd
