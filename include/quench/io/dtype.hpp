#pragma once
/// \file  Element types of tensors in files (the list of safetensors), and raw bytes to and from numbers.
#include <quench/core/matrix.hpp>
#include <quench/io/error.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

namespace quench::inline QUENCH_ISA::io {

static_assert(std::endian::native == std::endian::little,
              "quench/io reads and writes little-endian files in place");

/// In the order of the safetensors library, which sorts by it: smaller alignment first.
enum class dtype : std::uint8_t {
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,
  f64,
  i64,
  u64
};

struct dtype_facts {
  std::string_view name;  ///< as written in files
  int bits;               ///< of one element
};

inline constexpr std::array<dtype_facts, 22> dtype_table{
    {{"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
     {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
     {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
     {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64}}};

constexpr std::string_view name_of(dtype t) { return dtype_table[static_cast<std::size_t>(t)].name; }
constexpr int bits_of(dtype t) { return dtype_table[static_cast<std::size_t>(t)].bits; }
constexpr std::optional<dtype> dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < dtype_table.size(); ++i)
    if (dtype_table[i].name == name) return static_cast<dtype>(i);
  return std::nullopt;
}

/// The file type of a C++ number.
template <class T>
constexpr dtype dtype_of() {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8, "dtype_of: T must be bool, an integer or a float");
  if constexpr (std::is_same_v<T, bool>)
    return dtype::boolean;
  else if constexpr (std::is_floating_point_v<T>)
    return sizeof(T) == 8 ? dtype::f64 : dtype::f32;
  else if constexpr (sizeof(T) == 8)
    return std::is_signed_v<T> ? dtype::i64 : dtype::u64;
  else if constexpr (sizeof(T) == 4)
    return std::is_signed_v<T> ? dtype::i32 : dtype::u32;
  else if constexpr (sizeof(T) == 2)
    return std::is_signed_v<T> ? dtype::i16 : dtype::u16;
  else
    return std::is_signed_v<T> ? dtype::i8 : dtype::u8;
}

/// How many elements a shape has; nothing when the product does not fit in `index`.
inline std::optional<std::uint64_t> element_count(std::span<const index> shape) {
  std::uint64_t n = 1;
  bool overflow = false;
  for (const index d : shape) {
    if (d < 0) return std::nullopt;
    if (d == 0) return 0;
    overflow = overflow || __builtin_mul_overflow(n, static_cast<std::uint64_t>(d), &n);
  }
  if (overflow || n > static_cast<std::uint64_t>(std::numeric_limits<index>::max())) return std::nullopt;
  return n;
}

/// Bytes of `count` elements of type `t`; nothing when it is no whole number of bytes or overflows.
inline std::optional<std::uint64_t> byte_count(dtype t, std::uint64_t count) {
  std::uint64_t bits = 0;
  if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(bits_of(t)), &bits) || bits % 8 != 0)
    return std::nullopt;
  return bits / 8;
}

/// Rows and columns of an n-dimensional tensor seen as a matrix: the first axis is the rows, the rest are
/// flattened (a convolution's output channels stay its rows); 1-D is one row, 0-D is 1 x 1.
inline std::array<index, 2> matrix_shape(std::span<const index> shape) {
  if (shape.size() < 2) return {1, shape.empty() ? 1 : shape[0]};
  index cols = 1;
  for (const index d : shape.subspan(1)) cols *= d;
  return {shape[0], cols};
}

}  // namespace quench::inline QUENCH_ISA::io
