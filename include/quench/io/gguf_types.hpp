#pragma once
/// \file  The type numbers of GGUF files (ggml): tensor types with their block sizes, and metadata types.
#include <quench/io/dtype.hpp>

namespace quench::inline QUENCH_ISA::io {

/// A tensor type: `elements` consecutive values of a row take `bytes` bytes.
struct ggml_type_facts {
  int id;
  std::string_view name;
  std::uint64_t elements, bytes;
};

/// Every type of ggml 0.25, by number; gaps are types that have been removed.
inline constexpr ggml_type_facts ggml_types[] = {
    {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},      {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},      {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},
    {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},   {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},   {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
    {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},        {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},   {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},
    {40, "NVFP4", 64, 36},    {41, "Q1_0", 128, 18},    {42, "Q2_0", 64, 18}};

/// nullptr when there is none.
constexpr const ggml_type_facts* ggml_type_of_id(std::uint32_t id) {
  for (const auto& t : ggml_types)
    if (static_cast<std::uint32_t>(t.id) == id) return &t;
  return nullptr;
}
constexpr const ggml_type_facts* ggml_type_named(std::string_view name) {
  for (const auto& t : ggml_types)
    if (t.name == name) return &t;
  return nullptr;
}
/// The element type of a type that is no block format.
constexpr std::optional<dtype> plain_dtype(const ggml_type_facts& t) {
  return t.elements == 1 ? dtype_named(t.name) : std::nullopt;
}

/// Bytes of a tensor whose last axis (the contiguous one) is `shape.back()`; nothing when that is no multiple
/// of the block, or the size does not fit.
inline std::optional<std::uint64_t> ggml_bytes(const ggml_type_facts& t, std::span<const index> shape) {
  const auto count = element_count(shape);
  const std::uint64_t row = shape.empty() ? 1 : static_cast<std::uint64_t>(shape.back());
  std::uint64_t bytes = 0;
  if (!count || row % t.elements != 0 || __builtin_mul_overflow(*count / t.elements, t.bytes, &bytes))
    return std::nullopt;
  return bytes;
}

/// The type of a metadata value.
enum class gguf_type : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};

/// Bytes of one value of a fixed-size type; 0 for strings, arrays and unknown types.
constexpr std::uint64_t gguf_size(gguf_type t) {
  constexpr std::uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return static_cast<std::uint32_t>(t) < std::size(sizes) ? sizes[static_cast<std::uint32_t>(t)] : 0;
}

template <class T>
constexpr gguf_type gguf_type_of() {
  if constexpr (std::is_same_v<T, bool>)
    return gguf_type::boolean;
  else if constexpr (std::is_same_v<T, float>)
    return gguf_type::f32;
  else if constexpr (std::is_same_v<T, double>)
    return gguf_type::f64;
  else if constexpr (sizeof(T) == 1)
    return std::is_signed_v<T> ? gguf_type::i8 : gguf_type::u8;
  else if constexpr (sizeof(T) == 2)
    return std::is_signed_v<T> ? gguf_type::i16 : gguf_type::u16;
  else if constexpr (sizeof(T) == 4)
    return std::is_signed_v<T> ? gguf_type::i32 : gguf_type::u32;
  else
    return std::is_signed_v<T> ? gguf_type::i64 : gguf_type::u64;
}

}  // namespace quench::inline QUENCH_ISA::io
