#pragma once
/// \file  The values of a number format as data: what a kernel needs to know, without knowing the format's type. There
/// are three kinds of grid (even steps, floating point, a list), so three kernels serve every format there is.
#include <quench/core/error.hpp>

#include <bit>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

namespace quench::inline QUENCH_ISA {

enum class grid_kind : std::uint8_t { integer, minifloat, codebook };
/// What a non-saturating cast gives beyond the largest value (formats without a special code always saturate).
enum class overflow_code : std::uint8_t { none, nan, inf };

/// A sorted list of values with the thresholds between them: x > thresholds[j] selects values[j + 1] or more.
struct codebook {
  std::vector<float> values;        ///< ascending, finite, distinct
  std::vector<unsigned> codes;      ///< the code of each value
  std::vector<float> thresholds;    ///< values.size() - 1 of them; ties are settled inside them
};

/// The line of values of one format. All numbers are in units of the scale.
struct value_grid {
  std::string_view name = {};
  grid_kind kind = grid_kind::integer;
  int bits = 0;                     ///< width of a code
  float low = 0, high = 0;          ///< smallest and largest value a scale maps onto (integers: restricted range)
  float full_low = 0;               ///< smallest value of all: -2^(b-1) for two's complement, else low
  int mantissa = 0;                 ///< minifloat: explicit mantissa bits
  int min_exponent = 0;             ///< minifloat: exponent of the smallest normal; below it steps stay equal
  overflow_code overflow = overflow_code::none;
  float (*decode)(unsigned) = nullptr;      ///< value of a code; NaN for codes that hold none
  const codebook& (*book)() = nullptr;      ///< codebook kind: the list (built once); else null
  double (*gaussian_clip)() = nullptr;      ///< clip, in standard deviations, of least square error under a Gaussian

  /// Magnitude that a symmetric scale maps the largest element onto.
  constexpr float top() const { return high > -low ? high : -low; }
};

/// 2^e for -1022 <= e <= 1023, exactly.
constexpr double pow2(int e) { return std::bit_cast<double>(std::uint64_t(e + 1023) << 52); }

/// Exponent e of |x| = m * 2^e, 1 <= m < 2, by bit field; -127 for zero and subnormal x.
constexpr int exponent_of(float x) { return int((std::bit_cast<std::uint32_t>(x) >> 23) & 255u) - 127; }

/// The code of a value that lies on the grid (as a kernel leaves it). NaN gives the format's NaN code, or 0 where
/// there is none; the sign of zero is kept where the format has one.
inline unsigned encode_value(const value_grid& g, float v) {
  const unsigned mask = g.bits >= 32 ? ~0u : (1u << g.bits) - 1u;
  if (g.kind == grid_kind::integer) return v == v ? unsigned(int(v)) & mask : 0u;
  if (g.kind == grid_kind::codebook) {
    const codebook& b = g.book();
    std::size_t j = 0;
    for (std::size_t half = b.values.size(); half > 1;) {   // last value <= v
      const std::size_t mid = half / 2;
      if (b.values[j + mid] <= v) j += mid;
      half -= mid;
    }
    return b.codes[j];
  }
  const std::uint32_t word = std::bit_cast<std::uint32_t>(v);
  const int m = g.mantissa;
  const unsigned sign = (word >> 31) << (g.bits - 1), exponents = (1u << (g.bits - 1 - m)) - 1u;
  const std::uint32_t magnitude = word & 0x7FFFFFFFu;
  if (magnitude >= 0x7F800000u) {
    if (g.overflow == overflow_code::none) return magnitude > 0x7F800000u ? 0u : sign | (exponents << m | ((1u << m) - 1u));
    if (g.overflow == overflow_code::nan) return sign | (exponents << m | ((1u << m) - 1u));
    return magnitude == 0x7F800000u ? sign | exponents << m : sign | exponents << m | 1u << (m - 1);
  }
  const int e = exponent_of(v);
  if (e < g.min_exponent || e == -127)
    return sign | unsigned(std::fabs(double(v)) * pow2(m - g.min_exponent));
  return sign | unsigned(e - g.min_exponent + 1) << m | (magnitude & 0x7FFFFFu) >> (23 - m);
}

}  // namespace quench
