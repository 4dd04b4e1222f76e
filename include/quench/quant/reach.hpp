#pragma once
/// \file  Scale rules, one function each: the magnitude of a tile that should land on the top of the grid.
#include <quench/quant/ranges.hpp>
#include <quench/quant/options.hpp>
#include <quench/format/grid.hpp>

#include <vector>

namespace quench::inline QUENCH_ISA::detail {

/// Nearest-rank percentile of the finite |x| of a tile, 0 < p <= 100. Allocates a copy of the tile.
template <class T>
T reach_of(const percentile& rule, matrix_view<const T> tile, T largest, const value_grid&) {
  std::vector<T> a;
  a.reserve(std::size_t(tile.size()));
  for_each_piece(tile, [&](const T* x, index, index, index n) {
    for (index i = 0; i < n; ++i)
      if (const T m = simd::abs(x[i]); m <= largest) a.push_back(m);
  });
  if (a.empty()) return T(0);
  const double rank = std::ceil(rule.p / 100.0 * double(a.size()));
  const auto at = a.begin() + std::clamp<std::ptrdiff_t>(std::ptrdiff_t(rank) - 1, 0, std::ptrdiff_t(a.size()) - 1);
  std::nth_element(a.begin(), at, a.end());
  return *at;
}

/// clip * sqrt(mean x^2) over the finite elements, at most max |x|. Sums are scaled by max |x|: no overflow, no underflow.
template <class T>
T reach_of(const gaussian& rule, matrix_view<const T> tile, T largest, const value_grid& g) {
  if (!(largest > T(0))) return T(0);
  const double unit = double(largest);
  double count = 0;
  const double sum = tile_sum(tile, [&](T x) {
    if (!(simd::abs(x) <= largest)) return 0.0;
    const double u = simd::opaque(double(x) / unit);
    return simd::opaque(u * u);
  });
  for_each_piece(tile, [&](const T* x, index, index, index n) {
    for (index i = 0; i < n; ++i) count += simd::abs(x[i]) <= largest ? 1 : 0;
  });
  const double clip = rule.clip > 0 ? double(rule.clip) : g.gaussian_clip();
  return T(std::min(unit, clip * (unit * std::sqrt(sum / count))));
}

template <class T>
T reach_of(const custom_scale& rule, matrix_view<const T> tile, T, const value_grid&) {
  if constexpr (std::is_same_v<T, float>) {
    const double reach = rule(tile);
    expects(reach >= 0 && reach <= double(std::numeric_limits<float>::max()),
            "custom_scale: the reach of a tile must be finite and not negative, is {}", reach);
    return float(reach);
  } else {
    static_cast<void>(tile);
    expects(false, "custom_scale: takes float matrices only");
    return T(0);
  }
}

/// The E8M0 exponent for max |x| = `largest` (OCP MX v1.0 section 6.3; CEIL, EVEN as in torchao, RCEIL as in cuBLAS).
/// For integers the element is code / 2^(b-2), as MXINT8's code / 64. Zero and subnormal count as 2^-127.
inline int shared_exponent(pow2_rule rule, float largest, const value_grid& g) {
  const bool integer = g.kind == grid_kind::integer;
  const float element_max = integer ? g.high / float(1 << (g.bits - 2)) : g.top();
  const int element_exponent = exponent_of(element_max), bits = integer ? g.bits - 2 : g.mantissa;
  std::uint32_t word = std::bit_cast<std::uint32_t>(largest);
  int e = 0;
  switch (rule) {
    case pow2_rule::floor: e = exponent_of(largest) - element_exponent; break;
    case pow2_rule::ceil: e = exponent_of(largest) + ((word & 0x7FFFFFu) != 0) - element_exponent; break;
    case pow2_rule::even:
      word += 1u << (23 - bits - 1);
      e = int(word >> 23) - 127 - element_exponent;
      break;
    case pow2_rule::rceil: {
      word = std::bit_cast<std::uint32_t>(largest * float(1.0f / element_max));
      e = int(word >> 23) - 127;
      if (e == -127 ? (word & 0x7FFFFFu) > 0x400000u : (word & 0x7FFFFFu) != 0) ++e;
      break;
    }
  }
  return std::clamp(e, -127, 127);
}

}  // namespace quench::detail
