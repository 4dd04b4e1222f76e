#pragma once
/// \file  Moments of a stream of numbers up to the fourth, with extremes and sums of magnitudes; two streams merge as if
/// they had been one (Pebay 2008, "Formulas for robust, one-pass parallel computation of covariances and arbitrary-order
/// statistical moments", equations 1.5 to 2.1).
#include <quench/stats/block_moments.hpp>

#include <limits>

namespace quench::inline QUENCH_ISA {

/// An accumulator of numbers. Non-finite values are counted and, by default, make every statistic NaN; `finite()` looks
/// at the others alone. Of nothing, counts and sums are 0 and all else is NaN; so is what divides 0 by 0, such as the
/// kurtosis of a constant. State is 11 doubles, trivially copyable. Fourth powers of deviations must fit a double: any
/// float does, and doubles below 1e75.
class moments {
 public:
  /// One number.
  moments& add(double x) {
    moments one;
    if (std::isfinite(x)) one.count_ = 1, one.mean_ = x, one.sum_abs_ = std::abs(x), one.min_ = one.max_ = x + 0.0;
    else one.nonfinite_ = 1;
    return merge(one);
  }
  /// Everything `o` has seen. Exact for counts and extremes, otherwise to rounding in double; order of merging matters
  /// to that rounding only.
  moments& merge(const moments& o) {
    nonfinite_ += o.nonfinite_;
    if (o.count_ == 0) return *this;
    const auto x = [](auto... factor) {   // a product, never fused with the sum around it
      double p = 1;
      ((p = simd::rounded(p * factor)), ...);
      return p;
    };
    const double a = count_, b = o.count_, n = a + b, d = o.mean_ - mean_, dn = d / n;
    m4_ += o.m4_ + x(dn, d, d, d, a / n, b / n, x(a, a) - x(a, b) + x(b, b)) +
           x(6, dn, dn, x(a, a, o.m2_) + x(b, b, m2_)) + x(4, dn, x(a, o.m3_) - x(b, m3_));
    m3_ += o.m3_ + x(d, dn, dn, a, b, a - b) + x(3, dn, x(a, o.m2_) - x(b, m2_));
    m2_ += o.m2_ + x(d, dn, a, b);
    mean_ += x(dn, b);
    count_ = n;
    sum_abs_ += o.sum_abs_;
    min_ = std::min(min_, o.min_), max_ = std::max(max_, o.max_);
    return *this;
  }

  double count() const { return count_; }          ///< finite numbers seen
  double nonfinite() const { return nonfinite_; }  ///< NaN and infinities seen
  /// The same without the non-finite values.
  moments finite() const {
    moments m = *this;
    m.nonfinite_ = 0;
    return m;
  }
  double mean() const { return some(mean_); }
  double variance() const { return some(m2_ / count_); }   ///< biased: divided by n
  double stddev() const { return std::sqrt(variance()); }
  double min() const { return some(min_); }
  double max() const { return some(max_); }
  double abs_max() const { return some(std::max(-min_, max_)); }
  double sum_abs() const { return nonfinite_ > 0 ? nan : sum_abs_; }
  double mean_abs() const { return some(sum_abs_ / count_); }
  /// Mean of (x - mean)^k, k = 2, 3, 4.
  double central(int k) const { return some((k == 2 ? m2_ : k == 3 ? m3_ : k == 4 ? m4_ : nan) / count_); }
  /// Mean of x^k, k = 1 .. 4.
  double raw(int k) const {
    const double u = mean_, c2 = m2_ / count_, c3 = m3_ / count_, c4 = m4_ / count_, u2 = simd::rounded(u * u);
    const auto x = [](double a, double b) { return simd::rounded(a * b); };
    return some(k == 1   ? u
                : k == 2 ? c2 + u2
                : k == 3 ? c3 + x(3 * u, c2) + x(u, u2)
                : k == 4 ? c4 + x(4 * u, c3) + x(6 * u2, c2) + x(u2, u2)
                         : nan);
  }
  double rms() const { return std::sqrt(raw(2)); }
  /// E (x - mean)^3 / sd^3 (biased, as scipy.stats.skew).
  double skewness() const { return some(std::sqrt(count_ / m2_) * (m3_ / m2_)); }
  /// E (x - mean)^4 / sd^4: 3 for a Gaussian (biased, as scipy.stats.kurtosis with fisher=False).
  double kurtosis() const { return some(count_ / m2_ * (m4_ / m2_)); }
  double excess_kurtosis() const { return kurtosis() - 3; }
  /// E x^4 / (E x^2)^2, about zero (He et al. 2024, arXiv 2405.19279, section 2).
  double raw_kurtosis() const { return raw(4) / raw(2) / raw(2); }
  double max_to_rms() const { return abs_max() / rms(); }
  double max_to_mean() const { return abs_max() / mean_abs(); }

  /// From sums over one block about `s.shift`: how blocks enter.
  static moments of(const detail::power_sums& s) {
    const auto x = [](double a, double b) { return simd::rounded(a * b); };
    const double d = s.s1 / s.n, d2 = x(d, d), nd2 = x(s.n, d2);
    moments m;
    m.count_ = s.n;
    m.mean_ = s.shift + d;
    m.m2_ = std::max(0.0, s.s2 - nd2);
    m.m3_ = s.s3 - x(3 * d, s.s2) + x(2 * d, nd2);
    m.m4_ = std::max(0.0, s.s4 - x(4 * d, s.s3) + x(6 * d2, s.s2) - x(3 * d2, nd2));
    m.sum_abs_ = s.sum_abs;
    m.min_ = s.min, m.max_ = s.max;
    return m;
  }
  static moments of_nonfinite(double how_many) {
    moments m;
    m.nonfinite_ = how_many;
    return m;
  }

 private:
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  double some(double x) const { return nonfinite_ > 0 || count_ == 0 ? nan : x; }

  double count_ = 0, nonfinite_ = 0, mean_ = 0, m2_ = 0, m3_ = 0, m4_ = 0, sum_abs_ = 0;
  double min_ = std::numeric_limits<double>::infinity(), max_ = -min_;
};

}  // namespace quench
