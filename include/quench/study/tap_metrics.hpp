#pragma once
/// \file  Outlier metrics of what goes into a layer, gathered over batches ("Beyond Outliers", Vlassis et al.
/// 2025, arXiv 2509.23500, section 3).
#include <quench/stats/features.hpp>
#include <quench/stats/outliers.hpp>
#include <quench/study/records.hpp>

namespace quench::inline QUENCH_ISA::study {

/// Rows are tokens, columns features.
class tap_metrics {
 public:
  template <class T>
  void add(matrix_view<const T> x) {
    const Eigen::Map<const matrix<T>, 0, Eigen::OuterStride<>> rows(x.data, x.rows, x.cols,
                                                                    Eigen::OuterStride<>(x.row_stride));
    to_median_.add(rows);
    to_mean_.add(rows);
    features_.add(rows);
    quench::add(all_, rows);
  }
  outlier_summary summary() const {
    const moments s = features_.summary();
    return {to_median_.value(),  to_mean_.value(), all_.excess_kurtosis(),
            s.excess_kurtosis(), s.raw_kurtosis(), 0};
  }

 private:
  peak_ratio to_median_, to_mean_{middle::mean};
  feature_scales features_;
  moments all_;
};

/// The mean over layers. A layer whose rows are zero for the most part (inputs behind a squared ReLU) has a
/// median of zero and an infinite max-to-median ratio: it is left out of `mmr`, and counted.
inline outlier_summary mean_of(const std::vector<outlier_summary>& layers) {
  outlier_summary m{};
  const double n = double(layers.size());
  double finite = 0;
  for (const auto& s : layers) {
    if (std::isinf(s.mmr))
      m.mmr_left_out += 1;
    else
      m.mmr += s.mmr, finite += 1;
    m.mmr_mean += s.mmr_mean / n, m.kurtosis += s.kurtosis / n;
    m.kurtosis_features += s.kurtosis_features / n, m.kurtosis_rms += s.kurtosis_rms / n;
  }
  m.mmr /= finite;
  return m;
}

}  // namespace quench::inline QUENCH_ISA::study
