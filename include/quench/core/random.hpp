#pragma once
/// \file  Counter-based random bits: a pure function of (seed, stream, position), so that a result never depends on
/// thread count, vector width, visiting order or a restart.
#include <quench/core/config.hpp>

#include <cmath>

namespace quench::inline QUENCH_ISA {

/// Finaliser of MurmurHash3 (Appleby 2008), 64 bit: a well-mixed function of (seed, stream).
constexpr std::uint64_t mix_bits(std::uint64_t seed, std::uint64_t stream) {
  std::uint64_t h = seed ^ (stream * 0x9E3779B97F4A7C15ull);
  h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCDull;
  h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53ull;
  return h ^ (h >> 33);
}

/// Turns (seed, row) into an independent 32-bit key for per-element hashing.
constexpr std::uint32_t derive_key(std::uint64_t seed, std::uint64_t row) {
  return static_cast<std::uint32_t>(mix_bits(seed, row));
}

/// Random numbers by position: `random_stream(seed, stream).bits(i)` is the same wherever and whenever it is asked for.
struct random_stream {
  std::uint64_t key;

  constexpr random_stream(std::uint64_t seed, std::uint64_t stream) : key(mix_bits(mix_bits(seed, 1), stream + 1)) {}

  /// 64 random bits for position i.
  constexpr std::uint64_t bits(std::uint64_t i) const { return mix_bits(key, i + 1); }
  /// Uniform in [0, 1), 53 bits.
  constexpr double uniform(std::uint64_t i) const { return double(bits(i) >> 11) * 0x1p-53; }
  /// Integer in [0, n), n >= 1 (high half of bits * n; bias below n / 2^64).
  constexpr std::uint64_t below(std::uint64_t i, std::uint64_t n) const {
    constexpr std::uint64_t low = 0xFFFFFFFFull;
    const std::uint64_t x = bits(i), x1 = x >> 32, x0 = x & low, n1 = n >> 32, n0 = n & low;
    const std::uint64_t middle = x1 * n0 + ((x0 * n0) >> 32);
    return x1 * n1 + (middle >> 32) + ((x0 * n1 + (middle & low)) >> 32);
  }
  /// Standard normal (Box & Muller 1958), one draw a position.
  double normal(std::uint64_t i) const {
    const double u = 1.0 - uniform(2 * i), v = uniform(2 * i + 1);
    return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
  }
};

}  // namespace quench
