#pragma once
/// \file  How a number between two grid values chooses one. Random modes are a pure function of (seed, offset, row,
/// column), so threads, tiles, strides and instruction sets cannot change a result.
#include <quench/core/error.hpp>
#include <quench/core/matrix.hpp>
#include <quench/core/random.hpp>
#include <quench/simd/loops.hpp>

namespace quench::inline QUENCH_ISA {

enum class round_mode : std::uint8_t { nearest_even, nearest_away, toward_zero, floor, ceil, stochastic, dither };

struct nearest_even {};   ///< ties to the even code (the default)
struct nearest_away {};   ///< ties away from zero
struct toward_zero {};    ///< truncation
struct round_down {};     ///< toward minus infinity
struct round_up {};       ///< toward plus infinity
/// Up with probability equal to the distance from the lower neighbour, from `bits` random bits (1..23): a value on the
/// grid never changes, and with k bits the bias is at most 2^-(k+1) steps. `offset` selects an independent draw.
struct stochastic {
  std::uint64_t seed = 0, offset = 0;
  int bits = 23;
};
/// Like stochastic, with thresholds from a low-discrepancy sequence along each row (fractional parts of column times
/// the golden ratio, shifted by a hash of the row): neighbouring errors cancel faster than random ones.
struct dither {
  std::uint64_t seed = 0, offset = 0;
};

/// A rounding mode with its parameters; converts from each of the above.
struct rounding {
  round_mode mode = round_mode::nearest_even;
  int bits = 23;
  std::uint64_t seed = 0, offset = 0;

  constexpr rounding() = default;
  constexpr rounding(round_mode m) : mode(m) {}
  constexpr rounding(nearest_even) {}
  constexpr rounding(nearest_away) : mode(round_mode::nearest_away) {}
  constexpr rounding(toward_zero) : mode(round_mode::toward_zero) {}
  constexpr rounding(round_down) : mode(round_mode::floor) {}
  constexpr rounding(round_up) : mode(round_mode::ceil) {}
  constexpr rounding(stochastic s) : mode(round_mode::stochastic), bits(s.bits), seed(s.seed), offset(s.offset) {}
  constexpr rounding(dither d) : mode(round_mode::dither), seed(d.seed), offset(d.offset) {}

  constexpr bool random() const { return mode == round_mode::stochastic || mode == round_mode::dither; }
  bool operator==(const rounding&) const = default;

  /// \throws error when a stochastic mode has no bits, or more than 23.
  void check(std::string_view who) const {
    expects(bits >= 1 && bits <= 23, "{}: stochastic rounding takes 1..23 random bits, has {}", who, bits);
  }
  /// The key of one row; per-element bits are a hash of (key, column).
  std::uint32_t key(index row) const { return derive_key(seed + offset * 0x9E3779B97F4A7C15ull, std::uint64_t(row)); }
  /// The mode at one row, for code that rounds single numbers.
  struct bound;
  bound bind(index row) const;
};

namespace detail {

/// 32 well-mixed bits from a key and a column (two multiplications; constants of Wellons' lowbias32).
constexpr std::uint32_t hash_column(std::uint32_t key, std::uint32_t column) {
  std::uint32_t h = column * 0x9E3779B9u + key;
  h = (h ^ (h >> 16)) * 0x21F0AAADu;
  h = (h ^ (h >> 15)) * 0x735A2D97u;
  return h ^ (h >> 15);
}

/// A threshold in (0, 1) that no grid value reaches: (k random bits + 1/2) / 2^k, exactly.
constexpr float threshold_of(std::uint32_t hash, int bits) {
  return (float(hash >> (32 - bits)) + 0.5f) * std::bit_cast<float>(std::uint32_t(127 - bits) << 23);
}

}  // namespace detail

struct rounding::bound {
  round_mode mode = round_mode::nearest_even;
  int bits = 23;
  std::uint32_t key = 0;

  constexpr bound() = default;
  constexpr bound(nearest_even) {}
  constexpr bound(round_mode m, int k, std::uint32_t row_key) : mode(m), bits(k), key(row_key) {}

  float threshold(index column) const {
    const auto c = std::uint32_t(column);
    if (mode == round_mode::dither) return detail::threshold_of(c * 0x9E3779B9u + key, 23);
    return detail::threshold_of(detail::hash_column(key, c), bits);
  }
};
inline rounding::bound rounding::bind(index row) const { return {mode, bits, random() ? key(row) : 0u}; }

namespace detail {

/// Rounds x, measured in grid steps (|x| <= 2^20), to a whole number of steps. `threshold` is read by the random modes.
template <class V>
QUENCH_INLINE V round_steps(V x, round_mode mode, V threshold) {
  using T = simd::scalar_t<V>;
  switch (mode) {
    case round_mode::nearest_even: return simd::round_even_small(x);
    case round_mode::nearest_away: {
      const V t = simd::trunc(x);
      return simd::select(simd::abs(x - t) >= V(T(0.5)), t + simd::with_sign_of(V(T(1)), x), t);
    }
    case round_mode::toward_zero: return simd::trunc(x);
    case round_mode::floor: return simd::floor(x);
    case round_mode::ceil: return simd::ceil(x);
    case round_mode::stochastic:
    case round_mode::dither: {
      const V f = simd::floor(x);
      return simd::select(x - f > threshold, f + V(T(1)), f);
    }
  }
  return x;
}

}  // namespace detail
}  // namespace quench
