#pragma once
/// \file  Outlier features: columns (channels) whose root mean square stands out, measured by the kurtosis of the vector
/// s_j = sqrt(mean_i x_ij^2) (He et al. 2024, arXiv 2405.19279; Vlassis et al. 2025, arXiv 2509.23500, section 3).
#include <quench/core/error.hpp>
#include <quench/stats/summarize.hpp>

namespace quench::inline QUENCH_ISA {

/// Accumulates the mean square of every column over the rows (tokens) of the matrices added.
class feature_scales {
 public:
  /// Adds the rows of `x` (any layout). Squares and sums are in double, in row order; a non-finite value makes its
  /// column NaN or infinite.
  /// \throws error when the number of columns changes.
  template <dense_matrix M>
  feature_scales& add(const M& x) {
    const auto v = view_of(x);
    grow(v.cols);
    for (index r = 0; r < v.rows; ++r)
      for (index c = 0; c < v.cols; ++c) {
        const double a = double(v(r, c));
        squares_[std::size_t(c)] += simd::rounded(a * a);
      }
    rows_ += double(v.rows);
    return *this;
  }
  /// Everything `o` has seen. \throws error when the number of columns differs.
  feature_scales& merge(const feature_scales& o) {
    if (o.squares_.empty()) return *this;
    grow(index(o.squares_.size()));
    for (std::size_t c = 0; c < squares_.size(); ++c) squares_[c] += o.squares_[c];
    rows_ += o.rows_;
    return *this;
  }
  /// s, one number a column.
  std::vector<double> rms() const {
    std::vector<double> s;
    for (const double q : squares_) s.push_back(std::sqrt(q / rows_));
    return s;
  }
  /// Moments of s: `.excess_kurtosis()` is variant (b) of the paper's code, `.raw_kurtosis()` He et al.'s
  /// mean(s^4) / mean(s^2)^2, from 1 (all features alike) to the number of columns (one feature has it all).
  moments summary() const {
    const std::vector<double> s = rms();
    return summarize(Eigen::Map<const Eigen::VectorXd>(s.data(), index(s.size())));
  }

 private:
  void grow(index cols) {
    if (squares_.empty()) squares_.resize(static_cast<std::size_t>(cols));
    expects(index(squares_.size()) == cols, "feature_scales: matrices must have {} columns as the first, has {}",
            squares_.size(), cols);
  }
  std::vector<double> squares_;
  double rows_ = 0;
};

/// Moments of the per-column root mean squares of `x`.
template <dense_matrix M>
moments feature_summary(const M& x) {
  return feature_scales().add(x).summary();
}

}  // namespace quench
