#pragma once
/// \file  Counts of values in equal bins over a fixed range; two histograms of one range merge exactly.
#include <quench/core/error.hpp>
#include <quench/core/matrix.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace quench::inline QUENCH_ISA {

/// Bin i counts edge(i) <= x < edge(i + 1); the last bin includes its upper edge (as numpy.histogram). Values outside
/// the range and non-finite ones are counted apart. Counts are exact up to 2^53.
class histogram {
 public:
  /// \throws error unless bins >= 1 and low < high are finite.
  histogram(double low, double high, index bins) : low_(low), high_(high) {
    expects(bins >= 1, "histogram: bins must be >= 1, is {}", bins);
    expects(std::isfinite(high - low) && low < high, "histogram: range must be finite with low < high, is [{}, {}]", low, high);
    counts_.resize(static_cast<std::size_t>(bins));
  }
  histogram& add(double x) {
    if (!std::isfinite(x)) nonfinite_ += 1;
    else if (x < low_) below_ += 1;
    else if (x > high_) above_ += 1;
    else counts_[std::size_t(bin(x))] += 1;
    return *this;
  }
  /// Every element of `x`, any layout.
  template <dense_matrix M>
  histogram& add(const M& x) {
    const auto v = view_of(x);
    for (index r = 0; r < v.rows; ++r)
      for (index c = 0; c < v.cols; ++c) add(double(v(r, c)));
    return *this;
  }
  /// Everything `o` has seen. \throws error when the bins differ.
  histogram& merge(const histogram& o) {
    expects(low_ == o.low_ && high_ == o.high_ && bins() == o.bins(),
            "histogram::merge: both must have {} bins over [{}, {}], other has {} over [{}, {}]", bins(), low_, high_,
            o.bins(), o.low_, o.high_);
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += o.counts_[i];
    below_ += o.below_, above_ += o.above_, nonfinite_ += o.nonfinite_;
    return *this;
  }

  index bins() const { return index(counts_.size()); }
  double edge(index i) const { return i >= bins() ? high_ : low_ + (high_ - low_) * (double(i) / double(bins())); }
  double operator[](index i) const { return counts_[std::size_t(i)]; }
  const std::vector<double>& counts() const { return counts_; }
  double below() const { return below_; }
  double above() const { return above_; }
  double nonfinite() const { return nonfinite_; }
  /// Finite values seen, in range or not.
  double total() const {
    double n = below_ + above_;
    for (const double c : counts_) n += c;
    return n;
  }
  /// Value below which a fraction p of the finite values lie, linear within a bin; the range's end when it lies outside;
  /// NaN when nothing was seen. \throws error when p is outside [0, 1].
  double quantile(double p) const {
    expects(p >= 0 && p <= 1, "histogram::quantile: p must be in [0, 1], is {}", p);
    if (total() == 0) return std::numeric_limits<double>::quiet_NaN();
    double left = p * total() - below_;
    if (left < 0 || (left == 0 && below_ > 0)) return low_;
    for (index i = 0; i < bins(); left -= counts_[std::size_t(i)], ++i)
      if (counts_[std::size_t(i)] > 0 && left <= counts_[std::size_t(i)])
        return edge(i) + (edge(i + 1) - edge(i)) * (left / counts_[std::size_t(i)]);
    return high_;
  }

 private:
  index bin(double x) const {   // by division, then corrected: a value on an edge belongs above it
    index i = std::min(bins() - 1, index((x - low_) / (high_ - low_) * double(bins())));
    while (i > 0 && x < edge(i)) --i;
    while (i + 1 < bins() && x >= edge(i + 1)) ++i;
    return i;
  }
  double low_, high_, below_ = 0, above_ = 0, nonfinite_ = 0;
  std::vector<double> counts_;
};

}  // namespace quench
