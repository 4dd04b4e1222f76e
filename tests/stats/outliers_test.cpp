// Outlier ratios, features, tails, histogram, correlation: worked by hand, then the laws.
#include "catch.hpp"

#include <quench/core/random.hpp>
#include <quench/stats/correlation.hpp>
#include <quench/stats/features.hpp>
#include <quench/stats/histogram.hpp>
#include <quench/stats/outliers.hpp>
#include <quench/stats/tails.hpp>

namespace q = quench;
namespace {
q::matrix<float> normal(q::index rows, q::index cols, std::uint64_t seed = 1) {
  q::matrix<float> m(rows, cols);
  for (q::index i = 0; i < m.size(); ++i) m.data()[i] = float(q::random_stream(seed, 0).normal(std::uint64_t(i)));
  return m;
}
const double not_a_number = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
}  // namespace

TEST_CASE("max to median and mean: worked by hand", "[outliers]") {
  q::matrix<float> x(2, 4);
  x << 1, -2, 4, 8, 3, 3, -3, 3;   // lower medians 2 and 3; averaged 3 and 3; means 3.75 and 3
  CHECK(q::max_to_median(x) == (8.0 / 2 + 1) / 2);
  CHECK(q::max_to_median(x, q::per_row(), q::middle::averaged_median) == Approx((8.0 / 3 + 1) / 2));
  CHECK(q::max_to_mean(x) == Approx((8 / 3.75 + 1) / 2));
  CHECK(q::max_to_median(x, q::per_block(2)) == (2.0 / 1 + 8.0 / 4 + 1 + 1) / 4);
  CHECK(q::max_to_median(x, q::per_tensor()) == 8.0 / 3);
  CHECK(q::max_to_median(x, q::per_column()) == Approx((3.0 / 1 + 3.0 / 2 + 4.0 / 3 + 8.0 / 3) / 4));
}
TEST_CASE("max to median: special groups", "[outliers]") {
  q::matrix<double> x = q::matrix<double>::Zero(3, 5);
  x.row(0) << 1, 1, 2, 3, 4;
  q::peak_ratio r;
  CHECK(r.add(x).value() == 2);      // rows of zeros are left out and counted
  CHECK(r.zeros() == 2);
  x(1, 3) = 1;
  CHECK(q::max_to_median(x) == inf);
  for (q::index n = 1; n <= 67; ++n)
    for (q::index at = 0; at < n; ++at) {
      auto y = normal(1, n);
      y(0, at) = float(not_a_number);
      if (!std::isnan(q::max_to_median(y))) FAIL("NaN lost at " << at << " of " << n);
    }
  CHECK(std::isnan(q::max_to_median(q::matrix<float>(0, 0))));
}
TEST_CASE("max to median: layout, executor and merging", "[outliers]") {
  const auto x = normal(64, 301);
  const double whole = q::max_to_median(x);
  q::thread_pool pool(3);
  CHECK(q::max_to_median(Eigen::MatrixXf(x)) == whole);
  CHECK(q::peak_ratio().add(x, pool.run()).value() == whole);
  CHECK(q::peak_ratio().add(x.topRows(20)).merge(q::peak_ratio().add(x.bottomRows(44))).value() == Approx(whole).epsilon(1e-14));
  CHECK(q::max_to_median(q::matrix<float>(x * 4.f)) == Approx(whole).epsilon(1e-12));
  CHECK_THROWS_WITH(q::peak_ratio().merge(q::peak_ratio(q::middle::mean)), Catch::Contains("same middle"));
}

TEST_CASE("feature kurtosis: worked by hand", "[outliers]") {
  q::matrix<float> x(2, 3);
  x << 3, 0, 1, 4, 0, -1;   // s = sqrt(12.5), 0, 1
  const q::moments m = q::feature_summary(x);
  CHECK(m.raw(2) == Approx(13.5 / 3));
  CHECK(m.raw_kurtosis() == Approx((12.5 * 12.5 + 1) / 3 / ((13.5 / 3) * (13.5 / 3))));
  q::matrix<double> spike = q::matrix<double>::Zero(8, 16);
  spike.col(5).setConstant(2);
  CHECK(q::feature_summary(spike).raw_kurtosis() == Approx(16));   // one feature has it all
  const auto y = normal(50, 24);
  CHECK(q::feature_scales().add(y.topRows(13)).merge(q::feature_scales().add(y.bottomRows(37))).summary().kurtosis() ==
        Approx(q::feature_summary(y).kurtosis()).epsilon(1e-12));
  CHECK(q::feature_summary(Eigen::MatrixXf(y)).kurtosis() == q::feature_summary(y).kurtosis());
  CHECK_THROWS_WITH(q::feature_scales().add(y).add(x), Catch::Contains("24 columns"));
}

TEST_CASE("tails: worked by hand", "[tails]") {
  q::matrix<float> x(1, 5);
  x << 1, -2, 0, 2, 4;   // squares 25, magnitudes 9, mean 1, sd 2
  CHECK(q::top_share(x, 1) == Approx(16.0 / 25));
  CHECK(q::top_share(x, 2, 1) == Approx(6.0 / 9));
  CHECK(q::top_share(x, 99) == 1);
  CHECK(q::top_share(x, 0) == 0);
  CHECK(q::beyond_sigma(x, 1) == Approx(2.0 / 5));
  CHECK(q::beyond_sigma(x, 2) == 0);
  CHECK(q::magnitude_quantile(x, 0.5) == 2);
  CHECK(q::magnitude_quantile(x, 0.9) == Approx(3.2));
  CHECK(q::magnitude_quantile(x, 1) == 4);
  CHECK(q::percentile_ratio(x, 1, 0.25) == 4);
  x(0, 2) = float(not_a_number);
  CHECK(std::isnan(q::top_share(x, 1)));
  CHECK(std::isnan(q::magnitude_quantile(x, 0.5)));
  CHECK(std::isnan(q::beyond_sigma(x, 1)));
  CHECK_THROWS_WITH(q::magnitude_quantile(x, 1.5), Catch::Contains("1.5"));
  const auto g = normal(1, 200000);
  CHECK(q::beyond_sigma(g, 1) == Approx(0.3173).margin(0.004));
  CHECK(q::beyond_sigma(g, 3) == Approx(0.0027).margin(0.0006));
}

TEST_CASE("histogram", "[histogram]") {
  q::matrix<double> x(1, 9);
  x << 0, 0.1, 0.3, 0.5, 0.99, 1, -0.1, 1.1, not_a_number;
  q::histogram h(0, 1, 4);
  h.add(x);
  CHECK(h.counts() == std::vector<double>{2, 1, 1, 2});   // the last bin has its upper edge
  CHECK(h.below() == 1);
  CHECK(h.above() == 1);
  CHECK(h.nonfinite() == 1);
  CHECK(h.total() == 8);
  CHECK(q::histogram(0, 1, 4).add(x.leftCols(4)).merge(q::histogram(0, 1, 4).add(x.rightCols(5))).counts() == h.counts());
  CHECK(h.quantile(0.5) == Approx(0.5));
  for (int k = 0; k <= 70; ++k) {                          // an edge belongs to the bin above it
    q::histogram e(0, 0.7, 70);
    e.add(e.edge(k));
    CHECK(e[std::min(k, 69)] == 1);
  }
  CHECK_THROWS_WITH(q::histogram(0, 1, 4).merge(q::histogram(0, 1, 5)), Catch::Contains("4 bins"));
  CHECK_THROWS_WITH(q::histogram(1, 1, 4), Catch::Contains("low < high"));
}

TEST_CASE("correlation: worked by hand and against tables", "[correlation]") {
  const std::vector<double> x{1, 2, 3, 4, 5}, y{2, 1, 4, 3, 5};
  CHECK(q::pearson(x, y).r == Approx(0.8));
  CHECK(q::pearson(x, y).p == Approx(0.104088).margin(1e-6));   // t = 2.3094, 3 degrees of freedom
  CHECK(q::spearman(x, y).r == Approx(0.8));
  CHECK(q::ranks(std::vector<double>{3, 1, 3, 2}) == std::vector<double>{3.5, 1, 3.5, 2});
  CHECK(q::spearman(std::vector<double>{1, 2, 2, 3}, std::vector<double>{1, 3, 2, 4}).r == Approx(0.948683298));
  CHECK(q::student_t_p(12.7062047, 1) == Approx(0.05).epsilon(1e-7));   // critical values of Student's t
  CHECK(q::student_t_p(2.77644511, 4) == Approx(0.05).epsilon(1e-7));
  CHECK(q::student_t_p(2.0422724563, 30) == Approx(0.05).epsilon(1e-7));
  CHECK(q::student_t_p(1.9601, 1e5) == Approx(0.05).epsilon(1e-3));
  CHECK(q::incomplete_beta(1, 1, 0.3) == Approx(0.3));
  CHECK(q::incomplete_beta(2, 3, 0.4) == Approx(0.5248));   // 6x^2 - 8x^3 + 3x^4
  const std::vector<double> six{1, 2, 3, 4, 5, 6};
  // six points: |r| >= 0.81 is needed for p < 0.05
  const double t = 0.8114 * std::sqrt(4 / (1 - 0.8114 * 0.8114));
  CHECK(q::student_t_p(t, 4) == Approx(0.05).margin(2e-4));
  CHECK(q::pearson(six, six).r == 1);
  CHECK(q::pearson(six, six).p == 0);
  CHECK(std::isnan(q::pearson(six, std::vector<double>(6, 0.1)).r));
  CHECK(std::isnan(q::spearman(six, std::vector<double>{1, 2, not_a_number, 4, 5, 6}).r));
  CHECK(std::isnan(q::pearson(std::vector<double>{1, 2}, std::vector<double>{1, 2}).p));
  std::vector<double> huge = six;
  for (double& v : huge) v *= 1e307;
  CHECK(q::pearson(six, huge).r == Approx(1));
  CHECK_THROWS_WITH(q::pearson(six, x), Catch::Contains("6 and 5"));
}
