// Laws of the moments: definitions in long double, merge == add, and nothing but the numbers matters.
#include "catch.hpp"

#include <quench/core/random.hpp>
#include <quench/stats/summarize.hpp>

#include <cstring>
#include <limits>

namespace q = quench;
namespace {

template <class T>
q::matrix<T> normal(q::index rows, q::index cols, double scale = 1, double mean = 0, std::uint64_t seed = 1) {
  q::matrix<T> m(rows, cols);
  const q::random_stream random(seed, 0);
  for (q::index i = 0; i < m.size(); ++i) m.data()[i] = T(mean + scale * random.normal(std::uint64_t(i)));
  return m;
}

struct truth {
  long double mean = 0, m2 = 0, m3 = 0, m4 = 0, size3 = 0, sum_abs = 0, r4 = 0;
};
template <class M>
truth by_definition(const M& x) {
  truth t;
  const auto n = static_cast<long double>(x.size());
  for (q::index r = 0; r < x.rows(); ++r)
    for (q::index c = 0; c < x.cols(); ++c) {
      const auto v = static_cast<long double>(x(r, c));
      t.mean += v / n, t.sum_abs += std::abs(v), t.r4 += v * v * v * v / n;
    }
  for (q::index r = 0; r < x.rows(); ++r)
    for (q::index c = 0; c < x.cols(); ++c) {
      const long double d = static_cast<long double>(x(r, c)) - t.mean;
      t.m2 += d * d / n, t.m3 += d * d * d / n, t.m4 += d * d * d * d / n, t.size3 += std::abs(d * d * d) / n;
    }
  return t;
}
template <class M>
void holds(const M& x, double tolerance) {
  const q::moments m = q::summarize(x);
  const truth t = by_definition(x);
  const double sd = double(std::sqrt(t.m2));
  CHECK(m.count() == double(x.size()));
  CHECK(std::abs(m.mean() - double(t.mean)) <= tolerance * (sd + std::abs(double(t.mean))));
  CHECK(std::abs(m.central(2) / double(t.m2) - 1) <= tolerance);
  CHECK(std::abs(m.central(3) - double(t.m3)) <= tolerance * double(t.size3));
  CHECK(std::abs(m.central(4) / double(t.m4) - 1) <= tolerance);
  CHECK(std::abs(m.raw(4) / double(t.r4) - 1) <= tolerance);
  CHECK(std::abs(m.sum_abs() / double(t.sum_abs) - 1) <= tolerance);
  CHECK(m.min() == double(x.minCoeff()));
  CHECK(m.max() == double(x.maxCoeff()));
  CHECK(m.abs_max() == double(x.cwiseAbs().maxCoeff()));
}
bool same(const q::moments& a, const q::moments& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

TEST_CASE("moments: worked by hand", "[moments]") {
  Eigen::RowVectorXf x(4);
  x << 1, 2, 3, -6;   // mean 0: squares 50, cubes -180, fourth powers 1394
  const q::moments m = q::summarize(x);
  CHECK(m.mean() == 0);
  CHECK(m.variance() == 12.5);
  CHECK(m.central(3) == -45);
  CHECK(m.central(4) == 348.5);
  CHECK(m.kurtosis() == Approx(348.5 / 156.25).epsilon(1e-15));
  CHECK(m.skewness() == Approx(-45 / std::pow(12.5, 1.5)).epsilon(1e-15));
  CHECK(m.abs_max() == 6);
  CHECK(m.sum_abs() == 12);
  CHECK(m.max_to_mean() == 2);
  CHECK(m.max_to_rms() == Approx(6 / std::sqrt(12.5)).epsilon(1e-15));
}

TEST_CASE("moments: 1e-7 of long double at every size and scale", "[moments]") {
  for (const q::index n : {2, 3, 16, 67, 1000, 8191, 8192, 8193, 65536, 200001}) {
    CAPTURE(n);
    holds(normal<float>(1, n), 1e-7);
    holds(normal<float>(1, n, 1e-4, 1), 1e-7);     // cancels
    holds(normal<float>(1, n, 1, 3), 1e-7);
    holds(normal<float>(1, n, 1e30), 1e-7);        // squares overflow float
    holds(normal<float>(1, n, 1e-30), 1e-7);       // squares underflow float
    holds(normal<float>(1, n, 1e-41), 1e-7);       // subnormal
    holds(normal<double>(1, n, 1e-3, 5), 1e-12);
    holds(normal<double>(1, n, 1e60), 1e-12);
  }
}
TEST_CASE("moments: outliers, few levels and one sign keep their accuracy", "[moments]") {
  auto x = normal<float>(1, 1 << 16);
  x(0, 777) = 300.7f;
  x(0, 40000) = -91.3f;
  holds(x, 1e-7);
  holds(q::matrix<float>(normal<float>(1, 1 << 16).array().round() * 0.0713f), 1e-7);   // int4-like grid
  holds(q::matrix<float>(normal<float>(1, 1 << 16).array().sign() * 0.1f), 1e-7);       // two values
  holds(q::matrix<float>(normal<float>(1, 1 << 16).array().max(0.f)), 1e-7);            // as after ReLU
  holds(q::matrix<float>(normal<float>(1, 1 << 16).array().exp()), 1e-7);               // log-normal
}
TEST_CASE("moments: drift between blocks does not cancel", "[moments]") {
  auto x = normal<float>(1, 1 << 16);
  x.rightCols(1 << 15).array() += 1000.f;
  holds(x, 1e-7);
}

TEMPLATE_TEST_CASE("moments: layout, stride and executor change no bit", "[moments]", float, double) {
  using T = TestType;
  const auto x = normal<T>(37, 5003);
  const q::moments m = q::summarize(x);
  const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> columns = x;
  q::matrix<T> padded = q::matrix<T>::Constant(40, 5100, T(9));
  padded.block(2, 5, 37, 5003) = x;
  const Eigen::Map<const q::matrix<T>, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>> strided(
      padded.data() + 2 * 5100 + 5, 37, 5003, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(5100, 1));
  CHECK(same(m, q::summarize(columns)));
  CHECK(same(m, q::summarize(padded.block(2, 5, 37, 5003))));
  CHECK(same(m, q::summarize(strided)));

  CHECK(same(m, q::summarize(Eigen::Map<const q::matrix<T>>(x.data(), 1, x.size()))));
  q::thread_pool pool(3);
  CHECK(same(m, q::summarize(x, pool.run())));
  CHECK(same(m, q::summarize(columns, pool.run())));
}

TEST_CASE("moments: merging equals adding", "[moments]") {
  const auto x = normal<double>(1, 3000, 2, 7);
  const q::moments whole = q::summarize(x);
  for (const q::index cut : {0, 1, 2, 67, 1500, 2999, 3000}) {
    q::moments a = q::summarize(x.leftCols(cut));
    a.merge(q::summarize(x.rightCols(3000 - cut)));
    CHECK(a.count() == whole.count());
    CHECK(a.mean() == Approx(whole.mean()).epsilon(1e-14));
    for (int k = 2; k <= 4; ++k) CHECK(std::abs(a.central(k) - whole.central(k)) <= 1e-12 * std::pow(whole.stddev(), k));
    CHECK(a.min() == whole.min());
    CHECK(a.max() == whole.max());
  }
  q::moments one_by_one;
  for (q::index i = 0; i < 3000; ++i) one_by_one.add(x(0, i));
  CHECK(one_by_one.central(4) == Approx(whole.central(4)).epsilon(1e-12));
  q::moments nothing;
  CHECK(same(q::moments(whole).merge(nothing), whole));
}

TEMPLATE_TEST_CASE("moments: one non-finite value at any place of any length", "[moments]", float, double) {
  using T = TestType;
  for (const T bad : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity()})
    for (q::index n = 1; n <= 67; ++n)
      for (q::index at = 0; at < n; ++at) {
        auto x = normal<T>(1, n);
        x(0, at) = bad;
        const q::moments m = q::summarize(x);
        q::matrix<T> rest(1, n - 1);
        rest << x.leftCols(at), x.rightCols(n - 1 - at);
        if (!(m.nonfinite() == 1 && std::isnan(m.mean()) && std::isnan(m.kurtosis()) && std::isnan(m.abs_max()) &&
              same(m.finite(), q::summarize(rest)))) {
          CAPTURE(n, at, bad);
          FAIL("non-finite value lost or leaked");
        }
      }
  auto x = normal<T>(1, 20000);   // inside a full block
  x(0, 9000) = std::numeric_limits<T>::quiet_NaN();
  CHECK(q::summarize(x).nonfinite() == 1);
  CHECK(q::summarize(x).finite().count() == 19999);
}

TEMPLATE_TEST_CASE("moments: nothing, zeros and constants", "[moments]", float, double) {
  using T = TestType;
  const q::moments none = q::summarize(q::matrix<T>(0, 5));
  CHECK(none.count() == 0);
  CHECK(none.sum_abs() == 0);
  CHECK(std::isnan(none.mean()));
  CHECK(std::isnan(none.abs_max()));
  for (const T c : {T(0), T(-0.1), T(1e30), T(1e-30)})
    for (const q::index n : {1, 67, 20000}) {
      const q::moments m = q::summarize(q::matrix<T>(q::matrix<T>::Constant(1, n, c)));
      CHECK(m.mean() == Approx(double(c)).epsilon(1e-15));
      CHECK(m.stddev() <= 1e-15 * std::abs(double(c)));
      CHECK(m.max() == double(c));
      CHECK(m.rms() == Approx(std::abs(double(c))).epsilon(1e-15));
    }
  CHECK(std::isnan(q::summarize(q::matrix<T>(q::matrix<T>::Zero(1, 67))).kurtosis()));
}

TEST_CASE("moments: these bits on every instruction set", "[moments]") {
  // Written once by an AVX-512 build; every build must find them again.
  q::matrix<float> x(3, 11000);
  for (q::index i = 0; i < x.size(); ++i) {
    const q::random_stream random(5, 0);
    x.data()[i] = float(random.uniform(std::uint64_t(i)) + random.uniform(std::uint64_t(i) + 99991) - 0.9);
  }
  const q::moments m = q::summarize(x);
  CHECK(m.mean() == 0x1.a0b8d590bcab1p-4);
  CHECK(m.central(2) == 0x1.5657264b9b06p-3);
  CHECK(m.central(3) == -0x1.03ce8b204cf69p-11);
  CHECK(m.central(4) == 0x1.128833f77be33p-4);
  CHECK(m.sum_abs() == 0x1.62e2fc239fe04p+13);
}
