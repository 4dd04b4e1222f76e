#pragma once
/// \file  The noise of probing methods: a pure function of (seed, parameter's name, step, draw), or the
/// caller's own.
#include <quench/core/matrix.hpp>
#include <quench/core/random.hpp>

#include <functional>
#include <string_view>

namespace quench::inline QUENCH_ISA {

/// FNV-1a of a name: the order of parameters in a list changes no draw.
constexpr std::uint64_t name_key(std::string_view name) {
  std::uint64_t h = 0xCBF29CE484222325ull;
  for (char c : name) h = (h ^ std::uint64_t(static_cast<unsigned char>(c))) * 0x100000001B3ull;
  return h;
}

/// Where a rule's random numbers come from. By default counter-based, so a result does not depend on threads,
/// order or a restart. `normal` and `uniform`, when set, are called instead, once a number in row-major order
/// (replaying another program's generator); such a rule must then run serially.
struct probe_noise {
  std::uint64_t seed = 0;
  std::function<double()> normal, uniform;

  /// An m x n matrix of zero mean, unit variance entries: the sum of four uniforms, near enough to a normal
  /// for probes that only need E[v v^T] = I.
  template <class T>
  matrix<T> draw(index m, index n, std::string_view name, std::int64_t step, std::uint64_t number) const {
    matrix<T> out(m, n);
    if (normal) {
      for (index i = 0; i < out.size(); ++i) out.data()[i] = T(normal());
      return out;
    }
    const random_stream bits(seed ^ name_key(name), std::uint64_t(step) * 64 + number);
    for (index i = 0; i < out.size(); ++i) {
      const std::uint64_t b = bits.bits(std::uint64_t(i));
      const auto sum = double((b & 0xFFFF) + (b >> 16 & 0xFFFF) + (b >> 32 & 0xFFFF) + (b >> 48));
      out.data()[i] = T((sum - 131070.0) * (1.7320508075688772 / 65536));
    }
    return out;
  }
  /// Uniform in [0, 1).
  double chance(std::string_view name, std::int64_t step, std::uint64_t number) const {
    return uniform ? uniform()
                   : random_stream(seed ^ name_key(name), std::uint64_t(step) * 64 + number).uniform(0);
  }
};

}  // namespace quench::inline QUENCH_ISA
