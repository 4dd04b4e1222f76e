// Looking at numbers: what one pass over memory costs beside a copy of it.
#include "harness.hpp"

#include <quench/stats/summarize.hpp>

#include <cmath>

namespace {

namespace q = quench;
template <class T>
using row = Eigen::Map<const Eigen::Array<T, 1, Eigen::Dynamic>>;

bool near(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance * std::abs(b); }

/// Central moments by the definition, in long double.
template <class T>
bool right(const q::moments& m, const row<T>& x) {
  long double mean = 0, m2 = 0, m4 = 0, sum_abs = 0;
  for (q::index i = 0; i < x.size(); ++i) mean += static_cast<long double>(x[i]), sum_abs += std::abs(x[i]);
  mean /= static_cast<long double>(x.size());
  for (q::index i = 0; i < x.size(); ++i) {
    const long double d = static_cast<long double>(x[i]) - mean;
    m2 += d * d, m4 += d * d * d * d;
  }
  const auto n = static_cast<long double>(x.size());
  return near(m.sum_abs(), double(sum_abs), 1e-7) && near(m.central(2), double(m2 / n), 1e-7) &&
         near(m.central(4), double(m4 / n), 1e-7) && m.max() == double(x.maxCoeff()) && m.min() == double(x.minCoeff());
}

// The bound of everything that only reads: add up all elements.
const bool read_only = bench::add<float>("stats/read_sum", bench::all_sizes, [](bench::run<float>& r) {
  const row<float> x(r.in.data(), r.n);
  double exact = 0;
  for (q::index i = 0; i < r.n; ++i) exact += double(x[i]);
  r.verify(std::abs(double(x.sum()) - exact) < 1e-3 * double(r.n));
  r.measure([&] { bench::keep(x.sum()); });
});

const bool moments_float = bench::add<float>("stats/summarize<float>", bench::all_sizes, [](bench::run<float>& r) {
  const row<float> x(r.in.data(), r.n);
  r.verify(right(q::summarize(x), x));
  r.measure([&] { bench::keep(q::summarize(x)); }, bench::peer("eigen", [&] {   // the same six, three passes
    const float mean = x.mean();
    const auto d2 = (x - mean).square();
    bench::keep(x.abs().maxCoeff());
    bench::keep(x.abs().sum());
    bench::keep(d2.sum());
    bench::keep(((x - mean) * d2).sum());
    bench::keep(d2.square().sum());
  }));
});

// Numbers that cancel: float lanes give up about zero and start again about the mean.
const bool moments_shifted = bench::add<float>("stats/summarize<float>, mean 3", {bench::in_l2}, [](bench::run<float>& r) {
  for (std::size_t i = 0; i < std::size_t(r.n); ++i) r.in[i] += 3.f;
  const row<float> x(r.in.data(), r.n);
  r.verify(right(q::summarize(x), x));
  r.measure([&] { bench::keep(q::summarize(x)); });
});

// One value dwarfs the rest: double lanes take over in its block.
const bool moments_heavy = bench::add<float>("stats/summarize<float>, outlier", {bench::in_l2}, [](bench::run<float>& r) {
  r.in[12345] = 1000.f;
  const row<float> x(r.in.data(), r.n);
  r.verify(right(q::summarize(x), x));
  r.measure([&] { bench::keep(q::summarize(x)); });
});

const bool moments_double = bench::add<double>("stats/summarize<double>", bench::all_sizes, [](bench::run<double>& r) {
  const row<double> x(r.in.data(), r.n);
  r.verify(right(q::summarize(x), x));
  r.measure([&] { bench::keep(q::summarize(x)); });
});

const bool moments_columns = bench::add<float>("stats/summarize<float>, column-major", {bench::in_l2, bench::in_64mb},
                                               [](bench::run<float>& r) {
  const q::index rows = r.n >= 1 << 20 ? 4096 : 256;
  const Eigen::Map<const Eigen::MatrixXf> x(r.in.data(), rows, r.n / rows);
  r.verify(near(q::summarize(x).central(4), q::summarize(row<float>(r.in.data(), r.n)).central(4), 1e-7));
  r.measure([&] { bench::keep(q::summarize(x)); });
});

}  // namespace
