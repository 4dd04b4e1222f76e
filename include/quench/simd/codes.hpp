#pragma once
/// \file  Between lanes and packed codes: narrow whole numbers to bytes, two codes to a byte, and 16-entry tables.
/// Generic bodies and AVX2 / AVX-512 ones; the same bytes everywhere.
#include <quench/simd/primitives.hpp>

namespace quench::inline QUENCH_ISA::simd {

/// out[i] = the low bits (`mask`, at most 255) of the whole number x[i]; NaN gives 0.
inline void integers_to_bytes(const float* x, std::uint8_t* out, std::ptrdiff_t n, int mask) {
  std::ptrdiff_t i = 0;
#if defined(__AVX512BW__)
  for (; i + 16 <= n; i += 16) {
    const __m512 v = _mm512_loadu_ps(x + i);
    const __m512i whole = _mm512_maskz_cvtps_epi32(_mm512_cmp_ps_mask(v, v, _CMP_ORD_Q), v);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm512_cvtepi32_epi8(_mm512_and_si512(whole, _mm512_set1_epi32(mask))));
  }
#elif defined(__AVX2__)
  const __m256i keep = _mm256_set1_epi32(mask);
  for (; i + 16 <= n; i += 16) {
    const auto whole = [&](const float* p) {
      const __m256 v = _mm256_loadu_ps(p);
      return _mm256_and_si256(keep, _mm256_cvtps_epi32(_mm256_and_ps(v, _mm256_cmp_ps(v, v, _CMP_ORD_Q))));
    };
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(whole(x + i), whole(x + i + 8)), 0xD8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
  }
#endif
  for (; i < n; ++i) out[i] = x[i] == x[i] ? std::uint8_t(int(x[i]) & mask) : std::uint8_t(0);
}

/// out[k] = codes[2 k] | codes[2 k + 1] << 4 for whole vectors; codes are below 16. Returns how many codes were packed.
inline std::ptrdiff_t pack_nibbles(const std::uint8_t* codes, std::uint8_t* out, std::ptrdiff_t n) {
  std::ptrdiff_t i = 0;
#if defined(__AVX512BW__)
  for (; i + 64 <= n; i += 64) {
    const __m512i pairs = _mm512_maddubs_epi16(_mm512_loadu_si512(codes + i), _mm512_set1_epi16(0x1001));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i / 2), _mm512_cvtepi16_epi8(pairs));
  }
#elif defined(__AVX2__)
  for (; i + 32 <= n; i += 32) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + i)), _mm256_set1_epi16(0x1001));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i / 2), _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1)));
  }
#endif
  for (; i + 2 <= n; i += 2) out[i / 2] = std::uint8_t(codes[i] | codes[i + 1] << 4);
  return i;
}

/// out[2 k] = table[low half of codes[k]], out[2 k + 1] = table[high half], for whole vectors. Returns how many values.
inline std::ptrdiff_t unpack_nibbles(const std::uint8_t* codes, const float* table, float* out, std::ptrdiff_t n) {
  std::ptrdiff_t i = 0;
#if defined(__AVX512F__)
  const __m512 lut = _mm512_loadu_ps(table);
  for (; i + 16 <= n; i += 16) {
    // A byte in each 64-bit lane: its low half selects for the even float, its high half, moved up 28, for the odd one.
    const __m512i byte = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + i / 2)));
    _mm512_storeu_ps(out + i, _mm512_permutexvar_ps(_mm512_or_si512(byte, _mm512_slli_epi64(byte, 28)), lut));
  }
#elif defined(__AVX2__)
  const __m256 low = _mm256_loadu_ps(table), high = _mm256_loadu_ps(table + 8);
  const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
  for (; i + 8 <= n; i += 8) {
    std::uint32_t four;
    __builtin_memcpy(&four, codes + i / 2, 4);
    const __m256i at = _mm256_srlv_epi32(_mm256_set1_epi32(int(four)), shifts);
    const __m256 upper = _mm256_castsi256_ps(_mm256_slli_epi32(at, 28));
    _mm256_storeu_ps(out + i, _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, at), _mm256_permutevar8x32_ps(high, at), upper));
  }
#endif
  for (; i + 2 <= n; i += 2) {
    out[i] = table[codes[i / 2] & 15];
    out[i + 1] = table[codes[i / 2] >> 4];
  }
  return i;
}

/// out[i] = values[number of thresholds below x[i]]: a sorted list of at most 16 values, thresholds padded with Inf.
/// NaN gives values[0]: treat it outside.
template <class V>
QUENCH_INLINE V list_of_16(V x, const float* thresholds, const float* values) {
  using T = scalar_t<V>;
  V chosen = V(T(values[0]));
  for (int j = 0; j < 15; ++j) chosen = simd::select(x > V(T(thresholds[j])), V(T(values[j + 1])), chosen);
  return chosen;
}

}  // namespace quench::simd
