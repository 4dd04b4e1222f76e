#pragma once
/// \file  Power sums of one block of numbers that sits in the first-level cache: float lanes where that is safe and
/// accurate, double where it is not. Sixteen virtual lanes on every machine and fused steps everywhere, so a block has
/// the same sums, bit for bit, on every instruction set.
#include <quench/core/matrix.hpp>
#include <quench/simd/double_lanes.hpp>
#include <quench/simd/fused.hpp>
#include <quench/simd/shuffle.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

namespace quench::inline QUENCH_ISA::detail {

inline constexpr index moment_block = 8192;   ///< numbers a block; also the unit threads share out
inline constexpr index moment_strip = 2048;   ///< numbers added up in float before double takes over
inline constexpr int moment_lanes = 16;

/// Sums over a block of (x - shift)^k, and of magnitudes of x; least and greatest x.
struct power_sums {
  double n = 0, shift = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, sum_abs = 0, min = 0, max = 0;
};

/// The least lane, in every lane.
template <int Step = 1, class V>
V least_lane(V v) {
  if constexpr (Step * sizeof(v[0]) < sizeof(V)) {
    const V other = simd::swap_lanes<Step>(v);
    return least_lane<2 * Step>(V(other < v ? other : v));
  } else {
    return v;
  }
}

/// One block in float lanes; n a positive multiple of 16. Any NaN or infinity makes s2 or s4 one too.
template <bool Shifted>
power_sums sum_in_float(const float* x, index n, float shift) {
  using V = simd::float_lanes;
  using I = simd::vec<std::int32_t, simd::lanes_of<float>>;
  constexpr int width = simd::lanes_of<float>;
  alignas(64) double total[5][moment_lanes] = {};
  V lo = V{} + x[0], hi = lo;
  for (index begin = 0; begin < n; begin += moment_strip) {
    const index end = std::min(n, begin + moment_strip);
    alignas(64) float part[5][moment_lanes];
    for (int group = 0; group < moment_lanes; group += width) {
      V s1{}, s2{}, s3{}, s4{}, sa{};
      for (index i = begin + group; i < end; i += moment_lanes) {
        V v = simd::load_vec<V>(x + i);
        lo = v < lo ? v : lo, hi = v > hi ? v : hi;
        sa += std::bit_cast<V>(std::bit_cast<I>(v) & 0x7FFFFFFF);
        if constexpr (Shifted) v -= shift;
        const V q = simd::rounded(v * v);
        s1 += v;
        s2 += q;
        s3 = simd::fused(q, v, s3);
        s4 = simd::fused(q, q, s4);
      }
      simd::store_vec(part[0] + group, s1), simd::store_vec(part[1] + group, s2), simd::store_vec(part[2] + group, s3);
      simd::store_vec(part[3] + group, s4), simd::store_vec(part[4] + group, sa);
    }
    for (int k = 0; k < 5; ++k)
      for (int l = 0; l < moment_lanes; ++l) total[k][l] += double(part[k][l]);
  }
  const double least = double(least_lane(lo)[0]) + 0.0, greatest = 0.0 - double(least_lane(-hi)[0]);
  return {double(n), double(shift), simd::add_16(total[0]), simd::add_16(total[1]), simd::add_16(total[2]),
          simd::add_16(total[3]), simd::add_16(total[4]), least, greatest};
}

/// Is a sum made in float lanes good to 1e-7? Needs squares and fourth powers inside the range of float, a mean that
/// does not cancel them, and no few values (or few distinct ones) that carry the fourth moment by themselves.
inline bool float_sums_hold(const power_sums& s) {
  const double reach = std::max(s.max - s.shift, s.shift - s.min), mean_square = s.s1 * (s.s1 / s.n);
  return reach >= 0x1p-20 && reach <= 0x1p25 && 5 * mean_square <= s.s2 &&
         16 * (reach * reach) * (reach * reach) <= s.s4 && s.s4 * s.n >= 1.5 * s.s2 * s.s2;
}

/// One block of finite numbers in double lanes, about its own mean: right for every float; for double while fourth
/// powers of the deviations stay in range.
template <class T>
power_sums sum_in_double(const T* x, index n) {
  using V = simd::double_lanes;
  using I = simd::vec<std::int64_t, simd::lanes_of<double>>;
  constexpr int width = simd::lanes_of<double>;
  const index whole = n / moment_lanes * moment_lanes;
  alignas(64) double lane[5][moment_lanes] = {};
  V lo = V{} + double(x[0]), hi = lo;
  for (int group = 0; group < moment_lanes; group += width) {
    V sum{};
    for (index i = group; i < whole; i += moment_lanes) {
      const V v = simd::load_doubles(x + i);
      sum += v;
      lo = v < lo ? v : lo, hi = v > hi ? v : hi;
    }
    simd::store_vec(lane[0] + group, sum);
  }
  for (index i = whole; i < n; ++i) lane[0][i - whole] += double(x[i]);
  const double shift = simd::add_16(lane[0]) / double(n);
  for (int group = 0; group < moment_lanes; group += width) {
    V s1{}, s2{}, s3{}, s4{}, sa{};
    for (index i = group; i < whole; i += moment_lanes) {
      const V v = simd::load_doubles(x + i), d = v - shift, q = simd::rounded(d * d);
      sa += std::bit_cast<V>(std::bit_cast<I>(v) & 0x7FFFFFFFFFFFFFFF);
      s1 += d, s2 += q, s3 += simd::rounded(q * d), s4 += simd::rounded(q * q);
    }
    simd::store_vec(lane[0] + group, s1), simd::store_vec(lane[1] + group, s2), simd::store_vec(lane[2] + group, s3);
    simd::store_vec(lane[3] + group, s4), simd::store_vec(lane[4] + group, sa);
  }
  for (index i = whole; i < n; ++i) {
    const double d = double(x[i]) - shift, q = simd::rounded(d * d);
    double* const at = lane[0] + (i - whole);
    at[0] += d, at[moment_lanes] += q, at[2 * moment_lanes] += simd::rounded(q * d);
    at[3 * moment_lanes] += simd::rounded(q * q), at[4 * moment_lanes] += std::abs(double(x[i]));
  }
  double least = least_lane(lo)[0], greatest = -least_lane(-hi)[0];
  for (index i = whole; i < n; ++i) least = std::min(least, double(x[i])), greatest = std::max(greatest, double(x[i]));
  return {double(n), shift, simd::add_16(lane[0]), simd::add_16(lane[1]), simd::add_16(lane[2]), simd::add_16(lane[3]),
          simd::add_16(lane[4]), least + 0.0, greatest + 0.0};
}

}  // namespace quench::detail
