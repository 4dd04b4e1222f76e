#pragma once
/// \file  Loops over contiguous memory: wide body and scalar tail from one text, so that a result cannot depend on where
/// the body ends. Non-temporal copies for outputs no cache can hold.
#include <quench/simd/primitives.hpp>

#include <algorithm>
#include <cstring>

namespace quench::inline QUENCH_ISA::simd {

/// Calls step(std::type_identity<V>{}, i) over [0, n): V = widest_t<T> while a whole one fits, then V = T.
template <class T, class Step>
QUENCH_INLINE void sweep(std::ptrdiff_t n, Step&& step) {
  constexpr std::ptrdiff_t N = lane_count<T>;
  std::ptrdiff_t i = 0;
  for (; i + N <= n; i += N) step(std::type_identity<widest_t<T>>{}, i);
  if constexpr (N > 1)
    for (; i < n; ++i) step(std::type_identity<T>{}, i);
}

/// dst[i] = op(src[i], i). `op` must accept both lane types; src may equal dst.
template <class T, class Op>
QUENCH_INLINE void transform(const T* src, T* dst, std::ptrdiff_t n, Op op) {
  sweep<T>(n, [&]<class V>(std::type_identity<V>, std::ptrdiff_t i) QUENCH_INLINE_LAMBDA { simd::store(dst + i, op(simd::load(src + i, V{}), i)); });
}

/// Bits of max |x[i]|, 0 for n == 0: as an integer, so that NaN is above Inf and neither is ever lost.
template <class T>
bits_t<T> abs_max_bits(const T* x, std::ptrdiff_t n) {
  using V = widest_t<T>;
  using B = bits_t<V>;
  constexpr std::ptrdiff_t N = lane_count<T>;
  B m0(bits_t<T>(0)), m1 = m0, m2 = m0, m3 = m0;
  std::ptrdiff_t i = 0;
  for (; i + 4 * N <= n; i += 4 * N) {
    m0 = bits_max(m0, magnitude_bits(simd::load(x + i, V{})));
    m1 = bits_max(m1, magnitude_bits(simd::load(x + i + N, V{})));
    m2 = bits_max(m2, magnitude_bits(simd::load(x + i + 2 * N, V{})));
    m3 = bits_max(m3, magnitude_bits(simd::load(x + i + 3 * N, V{})));
  }
  for (; i + N <= n; i += N) m0 = bits_max(m0, magnitude_bits(simd::load(x + i, V{})));
  bits_t<T> m = simd::reduce_max(bits_max(bits_max(m0, m1), bits_max(m2, m3)));
  for (; i < n; ++i) m = bits_max(m, magnitude_bits(x[i]));
  return m;
}

/// out[k] = bits of max |x| over block k of `width` elements, for `count` blocks in a row; width is a multiple of
/// lane_count<T>. As many blocks as there are lanes are reduced together.
template <class T>
void block_abs_max(const T* x, std::ptrdiff_t width, std::ptrdiff_t count, T* out) {
  using V = widest_t<T>;
  using B = bits_t<V>;
  constexpr std::ptrdiff_t N = lane_count<T>;
  std::ptrdiff_t k = 0;
  for (; k + N <= count; k += N) {
    B m[std::size_t(N)];
    for (std::ptrdiff_t j = 0; j < N; ++j) {
      const T* p = x + (k + j) * width;
      m[j] = magnitude_bits(simd::load(p, V{}));
      for (std::ptrdiff_t i = N; i < width; i += N) m[j] = bits_max(m[j], magnitude_bits(simd::load(p + i, V{})));
    }
    simd::store(out + k, from_bits(max_of_each(m), V{}));
  }
  for (; k < count; ++k) out[k] = from_bits(abs_max_bits(x + k * width, width), T{});
}

/// max |x[i]|, 0 for n == 0; NaN when any element is NaN, whatever its position.
template <class T>
T abs_max(const T* x, std::ptrdiff_t n) { return from_bits(abs_max_bits(x, n), T{}); }

/// True when every element is finite.
template <class T>
bool all_finite(const T* x, std::ptrdiff_t n) { return abs_max_bits(x, n) < ieee<T>::exponent; }

/// Outputs from this size on bypass the cache (bytes).
inline constexpr std::size_t stream_threshold = std::size_t(8) << 20;

/// Copies n elements with non-temporal stores where possible. Call stream_fence() once after the last one.
template <class T>
void stream_copy(T* dst, const T* src, std::ptrdiff_t n) {
#if defined(__SSE2__)
  std::ptrdiff_t i = 0;
  const auto misfit = std::ptrdiff_t(reinterpret_cast<std::uintptr_t>(dst) % 64);
  if (misfit != 0) {
    i = std::min<std::ptrdiff_t>(n, (64 - misfit) / std::ptrdiff_t(sizeof(T)));
    std::memcpy(dst, src, std::size_t(i) * sizeof(T));
  }
  constexpr std::ptrdiff_t line = 64 / std::ptrdiff_t(sizeof(T));
  for (; i + line <= n; i += line) {
    const auto* from = reinterpret_cast<const char*>(src + i);
    auto* to = reinterpret_cast<char*>(dst + i);
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
#elif defined(__AVX__)
    for (int k = 0; k < 64; k += 32)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + k), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + k)));
#else
    for (int k = 0; k < 64; k += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + k), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k)));
#endif
  }
  std::memcpy(dst + i, src + i, std::size_t(n - i) * sizeof(T));
#else
  std::memcpy(dst, src, std::size_t(n) * sizeof(T));
#endif
}

/// Makes streamed stores visible to other threads.
inline void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace quench::simd
