// Looking at numbers: what one pass over memory costs beside a copy of it.
#include "harness.hpp"

#include <quench/core/matrix.hpp>

#include <cmath>

namespace {

// The bound of everything that only reads: add up all elements.
const bool read_only = bench::add<float>("stats/read_sum", bench::all_sizes, [](bench::run<float>& r) {
  const Eigen::Map<const Eigen::ArrayXf> x(r.in.data(), r.n);
  double exact = 0;
  for (std::ptrdiff_t i = 0; i < r.n; ++i) exact += double(x[i]);
  r.verify(std::abs(double(x.sum()) - exact) < 1e-3 * double(r.n));
  r.measure([&] { bench::keep(x.sum()); });
});

}  // namespace
