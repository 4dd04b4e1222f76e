#include "catch.hpp"

#include <quench/stats/spectrum.hpp>

namespace q = quench;

TEST_CASE("spectrum: worked by hand, any scale and layout", "[spectrum]") {
  for (const double scale : {1.0, 1e30, 1e-30}) {
    q::matrix<float> x = q::matrix<float>::Zero(3, 4);
    x(0, 1) = float(3 * scale), x(1, 0) = float(-4 * scale);   // singular values 4, 3, 0
    for (const auto& s : {q::spectrum(x), q::spectrum(Eigen::MatrixXf(x)), q::spectrum(x.transpose().eval())}) {
      REQUIRE(s.status == q::spectrum_status::ok);
      REQUIRE(s.singular_values.size() == 3);
      CHECK(s.singular_values[0] == Approx(4 * scale).epsilon(1e-6));
      CHECK(s.singular_values[1] == Approx(3 * scale).epsilon(1e-6));
      CHECK(s.singular_values[2] <= 1e-7 * scale);
      CHECK(s.top_share() == Approx(16.0 / 25));
      CHECK(s.explained(2) == Approx(1));
      CHECK(s.stable_rank() == Approx(25.0 / 16));
      CHECK(s.effective_rank() == Approx(std::exp(-4.0 / 7 * std::log(4.0 / 7) - 3.0 / 7 * std::log(3.0 / 7))).epsilon(1e-5));
    }
  }
}
TEST_CASE("spectrum: identity, centring, and trouble as a status", "[spectrum]") {
  const auto s = q::spectrum(Eigen::MatrixXd::Identity(9, 9).eval());
  CHECK(s.stable_rank() == Approx(9));
  CHECK(s.effective_rank() == Approx(9));
  Eigen::MatrixXd x = Eigen::MatrixXd::Constant(6, 2, 5);
  x(0, 0) = 6, x(1, 0) = 4;
  CHECK(q::spectrum(x, true).singular_values[0] == Approx(std::sqrt(2.0)));
  CHECK(q::spectrum(x, true).singular_values[1] == Approx(0).margin(1e-7));
  CHECK(q::spectrum(Eigen::MatrixXd(0, 3)).status == q::spectrum_status::empty);
  for (q::index i = 0; i < x.size(); ++i) {
    Eigen::MatrixXd bad = x;
    bad.data()[i] = i % 2 == 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    CHECK(q::spectrum(bad).status == q::spectrum_status::not_finite);
    CHECK(std::isnan(q::spectrum(bad).stable_rank()));
  }
  const auto zero = q::spectrum(Eigen::MatrixXd::Zero(3, 3).eval());
  CHECK(zero.status == q::spectrum_status::ok);
  CHECK(zero.singular_values == std::vector<double>(3, 0.0));
  CHECK(std::isnan(zero.stable_rank()));
}
