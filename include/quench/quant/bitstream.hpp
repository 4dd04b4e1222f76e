#pragma once
/// \file  Codes of 1..16 bits in a little-endian bit stream, lowest bits first, and grid values to and from them.
#include <quench/format/grid.hpp>
#include <quench/simd/codes.hpp>

#include <algorithm>
#include <vector>

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

/// Packs one code a byte (n of them) into codes [first, first + n) of a row (zeroed before).
inline void write_bytes(std::uint8_t* row, std::size_t first, const std::uint8_t* codes, std::ptrdiff_t n, int bits) {
  std::ptrdiff_t i = 0;
  std::size_t at = first * std::size_t(bits);
  if (bits == 8) {
    std::copy(codes, codes + n, row + first);
    return;
  }
  if (bits == 4 && at % 8 == 0) i = simd::pack_nibbles(codes, row + at / 8, n);
  for (; i < n && (first + std::size_t(i)) * std::size_t(bits) % 8 != 0; ++i)
    write_bits(row, (first + std::size_t(i)) * std::size_t(bits), bits, codes[i]);
  for (; i + 8 <= n; i += 8) {   // eight codes are `bits` bytes
    std::uint64_t word = 0;
    for (int j = 0; j < 8; ++j) word |= std::uint64_t(codes[i + j]) << (j * bits);
    at = (first + std::size_t(i)) * std::size_t(bits) / 8;
    for (int j = 0; j < bits; ++j) row[at + std::size_t(j)] = std::uint8_t(word >> (8 * j));
  }
  for (; i < n; ++i) write_bits(row, (first + std::size_t(i)) * std::size_t(bits), bits, codes[i]);
}

/// Encodes n <= 4096 grid values into codes [first, first + n) of a row (zeroed before).
inline void write_codes(std::uint8_t* row, std::size_t first, const float* values, std::ptrdiff_t n, const value_grid& g) {
  if (g.bits > 8) {
    for (std::ptrdiff_t i = 0; i < n; ++i)
      write_bits(row, (first + std::size_t(i)) * std::size_t(g.bits), g.bits, encode_value(g, values[i]));
    return;
  }
  alignas(64) std::uint8_t codes[4096];
  if (g.kind == grid_kind::integer) simd::integers_to_bytes(values, codes, n, (1 << g.bits) - 1);
  else
    for (std::ptrdiff_t i = 0; i < n; ++i) codes[i] = std::uint8_t(encode_value(g, values[i]));
  write_bytes(row, first, codes, n, g.bits);
}

/// Value of every code; codes that hold none give NaN.
inline std::vector<float> decode_table(const value_grid& g) {
  std::vector<float> table(std::size_t(1) << g.bits);
  for (std::size_t c = 0; c < table.size(); ++c) table[c] = g.decode(unsigned(c));
  return table;
}

/// out[i] = table[code first + i].
inline void read_values(const std::uint8_t* row, std::size_t first, std::ptrdiff_t n, int bits, const float* table, float* out) {
  std::ptrdiff_t i = 0;
  const auto one = [&] { out[i] = table[read_bits(row, (first + std::size_t(i)) * std::size_t(bits), bits)]; };
  if (bits == 8) {
    for (; i < n; ++i) out[i] = table[row[first + std::size_t(i)]];
    return;
  }
  for (; i < n && (first + std::size_t(i)) * std::size_t(bits) % 8 != 0; ++i) one();
  if (bits == 4) i += simd::unpack_nibbles(row + (first + std::size_t(i)) / 2, table, out + i, n - i);
  if (bits < 8) {
    const unsigned mask = (1u << bits) - 1u;
    for (; i + 8 <= n; i += 8) {
      const std::uint8_t* from = row + (first + std::size_t(i)) * std::size_t(bits) / 8;
      std::uint64_t word = 0;
      for (int j = 0; j < bits; ++j) word |= std::uint64_t(from[j]) << (8 * j);
      for (int j = 0; j < 8; ++j) out[i + j] = table[unsigned(word >> (j * bits)) & mask];
    }
  }
  for (; i < n; ++i) one();
}

}  // namespace detail
}  // namespace quench
