#pragma once
/// \file  What a block codec is: a struct that turns `elements` floats into `bytes` bytes for another program.
#include <quench/core/error.hpp>
#include <quench/core/matrix.hpp>
#include <quench/format/half.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace quench::inline QUENCH_ISA {

/// `encode` and `decode` see one block; they read and write exactly `elements` floats and `bytes` bytes, need
/// no alignment, allocate nothing, and depend on nothing but their input. Optional members:
///   encode_many(x, blocks, out)                   the same bytes, faster; decode_many(in, blocks, x) too
///   encode_weighted(row, cols, importance, out)   a whole row, errors weighted by column (imatrix)
///   ggml_type                                     its number in GGUF files
///   any_input                                     true when NaN and Inf are representable input
template <class C>
concept block_codec = requires(const float* x, float* y, const std::byte* in, std::byte* out) {
  { C::name } -> std::convertible_to<std::string_view>;
  { C::elements } -> std::convertible_to<index>;
  { C::bytes } -> std::convertible_to<index>;
  C::encode(x, out);
  C::decode(in, y);
};

template <class C>
inline constexpr bool takes_importance = requires(const float* x, index n, std::byte* out) {
  C::encode_weighted(x, n, x, out);
};

/// The GGUF type number of C, or -1.
template <class C>
constexpr int ggml_type_of() {
  if constexpr (requires { C::ggml_type; })
    return C::ggml_type;
  else
    return -1;
}

namespace detail {

static_assert(std::endian::native == std::endian::little,
              "quench: block formats are little-endian in memory");

template <class T>
QUENCH_INLINE void put(std::byte* p, T value) {
  std::memcpy(p, &value, sizeof(T));
}
template <class T>
QUENCH_INLINE T get(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}
QUENCH_INLINE void put_fp16(std::byte* p, float x) { put(p, to_fp16(x)); }
QUENCH_INLINE float get_fp16(const std::byte* p) { return from_fp16(get<std::uint16_t>(p)); }

/// "Split" nibbles: byte j holds code j below and code j + n/2 above.
QUENCH_INLINE void put_nibbles(std::byte* p, const std::uint8_t* codes, int n) {
  for (int j = 0; j < n / 2; ++j) p[j] = std::byte((codes[j] & 15) | (codes[j + n / 2] & 15) << 4);
}
QUENCH_INLINE void get_nibbles(const std::byte* p, std::uint8_t* codes, int n) {
  for (int j = 0; j < n / 2; ++j) {
    codes[j] = std::uint8_t(p[j] & std::byte{15});
    codes[j + n / 2] = std::uint8_t(p[j] >> 4);
  }
}

/// The first element of largest magnitude (0 when all are 0).
inline float first_largest(const float* x, index n) {
  float largest = 0, value = 0;
  for (index j = 0; j < n; ++j)
    if (std::fabs(x[j]) > largest) {
      largest = std::fabs(x[j]);
      value = x[j];
    }
  return value;
}
inline float largest_magnitude(const float* x, index n) { return std::fabs(first_largest(x, n)); }

/// x cut toward zero to an integer, where "no such integer" is 0 rather than undefined.
QUENCH_INLINE int cut(float x) { return x > -2147483648.f && x < 2147483648.f ? int(x) : 0; }
/// x rounded to the nearest integer, halves away from zero; out of range 0.
QUENCH_INLINE int round_away(float x) {
  const int whole = cut(x);
  const float rest = std::fabs(x - float(whole));
  return rest >= 0.5f && rest < 1.f ? whole + (x < 0 ? -1 : 1) : whole;
}

}  // namespace detail
}  // namespace quench::inline QUENCH_ISA
