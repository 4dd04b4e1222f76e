#pragma once
/// \file  float <-> binary16 (IEEE 754-2008) and bfloat16 by integer arithmetic, for scalars and vector
/// lanes: round to nearest even, overflow to infinity, every NaN becomes the quiet NaN of its sign (0x7E00,
/// 0x7FC0). Decoding keeps a NaN a NaN, with any payload.
#include <quench/simd/shuffle.hpp>

#include <cstddef>

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

/// bfloat16 nearest to x, in the low 16 bits of each lane; the others hold anything.
template <class V>
QUENCH_INLINE simd::ints_of<V> to_bf16_bits(const V& x) {
  using I = simd::ints_of<V>;
  const I u = simd::bits_of(x), top = u >> 16;
  const I nearest = top + (((u & 0xFFFF) + 0x7FFF + (top & 1)) >> 16);
  return simd::choose((u & 0x7FFFFFFF) > 0x7F800000, I((top & 0x8000) | 0x7FC0), nearest);
}
template <class V>
QUENCH_INLINE V from_bf16_bits(const simd::ints_of<V>& h) {
  return simd::float_of_bits<V>(h << 16);
}

/// n codes of n floats and back, wide: the same bits as one at a time. No alignment needed; ranges must not
/// overlap.
inline void to_fp16_row(const float* x, std::ptrdiff_t n, void* out) {
  constexpr std::ptrdiff_t N = simd::lanes_of<float>;
  using V = simd::vec<float, int(N)>;
  auto* to = static_cast<std::byte*>(out);
  std::ptrdiff_t i = 0;
  for (; i + N <= n; i += N) {
    const V v = simd::load_vec<V>(x + i);
#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512BW__)
    // The instruction keeps a NaN's payload: those lanes are written again.
    const __m512 r = __m512(v);
    __m256i h = _mm512_maskz_cvtps_ph(0xFFFF, r, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __mmask16 nan = _mm512_cmpunord_ps_mask(r, r);
    h = _mm256_mask_blend_epi16(
        nan, h,
        _mm256_or_si256(_mm256_and_si256(h, _mm256_set1_epi16(short(0x8000))), _mm256_set1_epi16(0x7E00)));
    std::memcpy(to + 2 * i, &h, 32);
#else
    simd::store_words<V>(to + 2 * i, to_fp16_bits(v));
#endif
  }
  for (; i < n; ++i) {
    const auto h = std::uint16_t(to_fp16_bits(x[i]));
    std::memcpy(to + 2 * i, &h, 2);
  }
}
inline void from_fp16_row(const void* in, std::ptrdiff_t n, float* x) {
  constexpr std::ptrdiff_t N = simd::lanes_of<float>;
  using V [[maybe_unused]] = simd::vec<float, int(N)>;
  const auto* from = static_cast<const std::byte*>(in);
  std::ptrdiff_t i = 0;
  for (; i + N <= n; i += N)
#if defined(__AVX512F__)
    simd::store_vec(x + i, _mm512_cvtph_ps(simd::load_vec<__m256i>(from + 2 * i)));
#else
    simd::store_vec(x + i, from_fp16_bits<V>(simd::load_words<V>(from + 2 * i)));
#endif
  for (; i < n; ++i) {
    std::uint16_t h;
    std::memcpy(&h, from + 2 * i, 2);
    x[i] = from_fp16_bits<float>(h);
  }
}
inline void to_bf16_row(const float* x, std::ptrdiff_t n, void* out) {
  constexpr std::ptrdiff_t N = simd::lanes_of<float>;
  using V = simd::vec<float, int(N)>;
  auto* to = static_cast<std::byte*>(out);
  std::ptrdiff_t i = 0;
  for (; i + N <= n; i += N) simd::store_words<V>(to + 2 * i, to_bf16_bits(simd::load_vec<V>(x + i)));
  for (; i < n; ++i) {
    const auto h = std::uint16_t(to_bf16_bits(x[i]));
    std::memcpy(to + 2 * i, &h, 2);
  }
}
inline void from_bf16_row(const void* in, std::ptrdiff_t n, float* x) {
  constexpr std::ptrdiff_t N = simd::lanes_of<float>;
  using V = simd::vec<float, int(N)>;
  const auto* from = static_cast<const std::byte*>(in);
  std::ptrdiff_t i = 0;
  for (; i + N <= n; i += N) simd::store_vec(x + i, from_bf16_bits<V>(simd::load_words<V>(from + 2 * i)));
  for (; i < n; ++i) {
    std::uint16_t h;
    std::memcpy(&h, from + 2 * i, 2);
    x[i] = from_bf16_bits<float>(std::int32_t(h));
  }
}

/// The nearest binary16 or bfloat16 code of one float, and the value of a code.
inline std::uint16_t to_fp16(float x) { return std::uint16_t(to_fp16_bits(x)); }
inline float from_fp16(std::uint16_t code) {
#if defined(__F16C__)
  return _cvtsh_ss(code);
#else
  return from_fp16_bits<float>(code);
#endif
}
inline std::uint16_t to_bf16(float x) { return std::uint16_t(to_bf16_bits(x)); }
inline float from_bf16(std::uint16_t code) { return from_bf16_bits<float>(std::int32_t(code)); }

}  // namespace quench::inline QUENCH_ISA
