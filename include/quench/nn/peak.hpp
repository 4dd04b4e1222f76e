#pragma once
/// \file  The bound of dense arithmetic, measured: how many multiply-adds a second this machine does on
/// registers alone.
#include <quench/core/parallel.hpp>
#include <quench/nn/wide.hpp>

#include <chrono>

namespace quench::inline QUENCH_ISA::nn {

namespace detail {
/// Operations of `rounds` rounds of independent multiply-adds (a multiplication and an addition count 2),
/// native width.
template <class T>
QUENCH_NOINLINE double multiply_add(std::int64_t rounds, T* sink) {
  constexpr int chains = simd::vector_registers >= 32 ? 16 : 10;
  wide<T> x[chains], m = wide<T>{} + sink[0], a = wide<T>{} + sink[1];
#pragma GCC unroll 16
  for (int i = 0; i < chains; ++i) x[i] = wide<T>{} + T(i);
  for (std::int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 16
    for (int i = 0; i < chains; ++i) x[i] = x[i] * m + a;
  for (int i = 1; i < chains; ++i) x[0] += x[i];
  sink[2] = sum_lanes<T>(x[0]);
  return 2.0 * double(rounds) * chains * double(lanes<T>);
}
}  // namespace detail

/// Peak multiply-add operations a second of `workers` bodies side by side on `run` (1: this thread alone):
/// the sum over workers of the best of `tries` stretches of about a millisecond, short enough that other
/// programs spare some of them. Measure it on the threads, and in the process, of what it is compared with.
template <class T>
double peak_flops(index workers = 1, const executor& run = {}, int tries = 30) {
  using clock = std::chrono::steady_clock;
  std::vector<double> best(static_cast<std::size_t>(workers));
  for_all(run, workers, [&](index w) {
    T sink[3] = {T(0.999), T(0.001), T(0)};
    const auto rate = [&](std::int64_t rounds) {
      const auto start = clock::now();
      const double work = detail::multiply_add<T>(rounds, sink);
      return work / std::chrono::duration<double>(clock::now() - start).count();
    };
    double& most = best[static_cast<std::size_t>(w)];
    for (int i = 0; i < tries; ++i) most = std::max(most, rate(1 << 16));
  });
  double sum = 0;
  for (const double b : best) sum += b;
  return sum;
}

}  // namespace quench::inline QUENCH_ISA::nn
