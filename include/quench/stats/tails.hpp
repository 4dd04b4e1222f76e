#pragma once
/// \file  Where the mass sits: share of the k largest, fraction beyond k sigma, percentiles of magnitudes and their
/// ratios (the tail measures of Vlassis et al. 2025's code, arXiv 2509.23500).
#include <quench/core/error.hpp>
#include <quench/stats/summarize.hpp>

#include <functional>

namespace quench::inline QUENCH_ISA {
namespace detail {

/// |x| in row order.
template <dense_matrix M>
std::vector<scalar_of<M>> magnitudes(const M& x) {
  const auto v = view_of(x);
  std::vector<scalar_of<M>> a;
  a.reserve(static_cast<std::size_t>(v.rows * v.cols));
  for (index r = 0; r < v.rows; ++r)
    for (index c = 0; c < v.cols; ++c) a.push_back(std::abs(v(r, c)));
  return a;
}
template <class T>
bool all_finite(const std::vector<T>& a) {
  return std::all_of(a.begin(), a.end(), [](T m) { return m <= std::numeric_limits<T>::max(); });
}

}  // namespace detail

/// Share of sum |x|^power held by the k largest magnitudes, in [0, 1]: power 2 (default) is energy, 1 mass. NaN when
/// any value is not finite or all are zero. Copies the magnitudes. O(n) expected, + O(k log k): added up from the
/// largest down, so independent of layout.
/// \throws error when k < 0 or power <= 0.
template <dense_matrix M>
double top_share(const M& x, index k, double power = 2) {
  expects(k >= 0 && power > 0, "top_share: k must be >= 0 and power > 0, are {} and {}", k, power);
  auto a = detail::magnitudes(x);
  if (!detail::all_finite(a)) return std::numeric_limits<double>::quiet_NaN();
  std::sort(a.begin(), a.end(), std::greater<>());
  double top = 0, all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double part = std::pow(double(a[i]) / double(a[0]), power);
    if (i < std::size_t(k)) top += part;
    all += part;
  }
  return top / all;
}

/// Fraction of the finite values of `x` with |x - mean| > k standard deviations; `m` holds the moments of `x` (pass
/// those of a larger set to measure a part against the whole). NaN when there is none, or non-finite ones in `m`.
template <dense_matrix M>
double beyond_sigma(const M& x, double k, const moments& m) {
  const auto v = view_of(x);
  const double mean = m.mean(), limit = k * m.stddev();
  if (!(limit >= 0)) return std::numeric_limits<double>::quiet_NaN();
  double beyond = 0, count = 0;
  for (index r = 0; r < v.rows; ++r)
    for (index c = 0; c < v.cols; ++c) {
      const double d = std::abs(double(v(r, c)) - mean);
      beyond += d > limit && std::isfinite(d) ? 1 : 0;
      count += std::isfinite(d) ? 1 : 0;
    }
  return beyond / count;
}
template <dense_matrix M>
double beyond_sigma(const M& x, double k) {
  return beyond_sigma(x, k, summarize(x));
}

/// The p-th quantile of |x|, p in [0, 1], linear between neighbours (numpy's default). NaN for an empty or non-finite
/// `x`. Copies the magnitudes; O(n) expected.
/// \throws error when p is outside [0, 1].
template <dense_matrix M>
double magnitude_quantile(const M& x, double p) {
  expects(p >= 0 && p <= 1, "magnitude_quantile: p must be in [0, 1], is {}", p);
  auto a = detail::magnitudes(x);
  if (a.empty() || !detail::all_finite(a)) return std::numeric_limits<double>::quiet_NaN();
  const double at = p * double(a.size() - 1);
  const auto low = a.begin() + std::ptrdiff_t(at);
  std::nth_element(a.begin(), low, a.end());
  const double part = at - std::floor(at), below = double(*low);
  return part > 0 ? below + part * (double(*std::min_element(low + 1, a.end())) - below) : below;
}

/// Ratio of two quantiles of |x|: how much wider the tail is than the body. 0.999 over 0.5 by default.
template <dense_matrix M>
double percentile_ratio(const M& x, double tail = 0.999, double body = 0.5) {
  return magnitude_quantile(x, tail) / magnitude_quantile(x, body);
}

}  // namespace quench
