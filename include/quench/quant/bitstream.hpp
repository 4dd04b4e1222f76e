#pragma once
/// \file  Codes of 1..16 bits in a little-endian bit stream, lowest bits first, and grid values to and from them.
#include <quench/format/grid.hpp>
#include <quench/simd/loops.hpp>

namespace quench::inline QUENCH_ISA {

/// `bits` bits (1..16) that start at bit `at` of a little-endian stream. Reads no byte beyond the last one used.
inline unsigned read_bits(const std::uint8_t* stream, std::size_t at, int bits) {
  std::uint32_t window = 0;
  const std::size_t first = at / 8, last = (at + std::size_t(bits) - 1) / 8;
  for (std::size_t b = first; b <= last; ++b) window |= std::uint32_t(stream[b]) << (8 * (b - first));
  return (window >> (at % 8)) & ((1u << bits) - 1u);
}

/// Sets the bits of a zeroed place in the stream. Touches no byte beyond the last one used.
inline void write_bits(std::uint8_t* stream, std::size_t at, int bits, unsigned value) {
  std::uint32_t window = (value & ((1u << bits) - 1u)) << (at % 8);
  const std::size_t first = at / 8, last = (at + std::size_t(bits) - 1) / 8;
  for (std::size_t b = first; b <= last; ++b, window >>= 8) stream[b] = std::uint8_t(stream[b] | (window & 255u));
}

namespace detail {

/// Encodes n grid values into codes [first, first + n) of a row (zeroed before).
inline void write_codes(std::uint8_t* row, std::size_t first, const float* values, std::ptrdiff_t n, const value_grid& g) {
  for (std::ptrdiff_t i = 0; i < n; ++i)
    write_bits(row, (first + std::size_t(i)) * std::size_t(g.bits), g.bits, encode_value(g, values[i]));
}

/// Value of every code; codes that hold none give NaN.
inline std::vector<float> decode_table(const value_grid& g) {
  std::vector<float> table(std::size_t(1) << g.bits);
  for (std::size_t c = 0; c < table.size(); ++c) table[c] = g.decode(unsigned(c));
  return table;
}

/// out[i] = table[code first + i].
inline void read_values(const std::uint8_t* row, std::size_t first, std::ptrdiff_t n, int bits, const float* table, float* out) {
  for (std::ptrdiff_t i = 0; i < n; ++i) out[i] = table[read_bits(row, (first + std::size_t(i)) * std::size_t(bits), bits)];
}

}  // namespace detail
}  // namespace quench
