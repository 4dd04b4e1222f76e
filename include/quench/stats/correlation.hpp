#pragma once
/// \file  Do two quantities move together: Pearson's r, Spearman's rho, and how surprising they are under no relation,
/// by Student's t with n - 2 degrees of freedom (Abramowitz & Stegun 26.7.1, through the incomplete beta function).
#include <quench/core/error.hpp>
#include <quench/core/matrix.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace quench::inline QUENCH_ISA {

/// r in [-1, 1] over n pairs; p: two-sided probability of such an |r| or a larger one if there is no relation. r is NaN
/// when a side is constant or a value is not finite; p also when n < 3.
struct correlation {
  double r = std::numeric_limits<double>::quiet_NaN();
  index n = 0;
  double p = std::numeric_limits<double>::quiet_NaN();
};

/// Regularised incomplete beta function I_x(a, b), a, b > 0, x in [0, 1]: continued fraction (DLMF 8.17.22) by the
/// modified Lentz method; relative error about 1e-14 for a, b up to 1e5.
inline double incomplete_beta(double a, double b, double x) {
  if (!(x > 0)) return x == 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, 1 - x);
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  constexpr double tiny = 1e-300;
  const auto away_from_zero = [](double v) { return std::abs(v) < tiny ? tiny : v; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), f = d;
  for (int m = 1; m <= 10000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d), c = away_from_zero(1 + even / c), f *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d), c = away_from_zero(1 + odd / c), f *= d * c;
    if (std::abs(d * c - 1) < 1e-16) break;
  }
  return front * f / a;
}

/// Two-sided probability of |T| >= |t| for Student's t with `df` > 0 degrees of freedom.
inline double student_t_p(double t, double df) { return incomplete_beta(df / 2, 0.5, df / (df + t * t)); }

/// Pearson's r. \throws error when lengths differ. Two passes in double, scaled: no overflow.
inline correlation pearson(std::span<const double> x, std::span<const double> y) {
  expects(x.size() == y.size(), "pearson: x and y must have the same length, have {} and {}", x.size(), y.size());
  correlation out;
  out.n = index(x.size());
  const double n = double(x.size());
  const auto centred = [n](std::span<const double> v) {   // about the mean, largest deviation 1
    double most = 0, mean = 0, reach = 0;
    for (const double a : v) most = std::max(most, std::abs(a));
    if (most == 0) most = 1;
    for (const double a : v) mean += a / most / n;
    std::vector<double> d;
    for (const double a : v) d.push_back(a / most - mean), reach = std::max(reach, std::abs(d.back()));
    if (reach < 1e-15) std::fill(d.begin(), d.end(), 0.0);   // a constant, up to rounding of its mean
    else for (double& a : d) a /= reach;
    return d;
  };
  if (x.size() < 2 || !std::all_of(x.begin(), x.end(), [](double a) { return std::isfinite(a); }) ||
      !std::all_of(y.begin(), y.end(), [](double a) { return std::isfinite(a); }))
    return out;
  const std::vector<double> u = centred(x), v = centred(y);
  double uu = 0, vv = 0, uv = 0;
  for (std::size_t i = 0; i < u.size(); ++i) uu += u[i] * u[i], vv += v[i] * v[i], uv += u[i] * v[i];
  if (uu == 0 || vv == 0) return out;
  out.r = std::clamp(uv / std::sqrt(uu) / std::sqrt(vv), -1.0, 1.0);
  if (out.n >= 3) {
    const double df = n - 2, rest = (1 - out.r) * (1 + out.r);   // = df / (df + t^2)
    out.p = incomplete_beta(df / 2, 0.5, rest);
  }
  return out;
}

/// Ranks from 1, ties sharing the mean of theirs.
inline std::vector<double> ranks(std::span<const double> x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  std::vector<double> rank(x.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t j = i;
    while (j < order.size() && x[order[j]] == x[order[i]]) ++j;
    for (std::size_t k = i; k < j; ++k) rank[order[k]] = 0.5 * double(i + j + 1);
    i = j;
  }
  return rank;
}

/// Spearman's rho: Pearson's r of the ranks; p by the same t approximation as scipy.stats.spearmanr (fair from n = 10).
inline correlation spearman(std::span<const double> x, std::span<const double> y) {
  expects(x.size() == y.size(), "spearman: x and y must have the same length, have {} and {}", x.size(), y.size());
  const auto finite = [](std::span<const double> v) { return std::all_of(v.begin(), v.end(), [](double a) { return std::isfinite(a); }); };
  if (!finite(x) || !finite(y)) return {.n = index(x.size())};
  return pearson(ranks(x), ranks(y));
}

}  // namespace quench
