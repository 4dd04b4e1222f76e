#pragma once
/// \file  The bound of dense arithmetic, measured: how many multiply-adds a second this machine does on registers alone.
#include <quench/core/parallel.hpp>
#include <quench/nn/wide.hpp>

#include <chrono>

namespace quench::inline QUENCH_ISA::nn {

namespace detail {
/// Operations of `rounds` rounds of independent multiply-adds (a multiplication and an addition count 2), native width.
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

/// Peak multiply-add operations a second of `workers` bodies run side by side on `run` (1: this thread alone): the best of
/// `tries` tries of about `seconds` each. Measure it on the threads, and in the process, of what it is compared with.
template <class T>
double peak_flops(index workers = 1, const executor& run = {}, int tries = 5, double seconds = 0.02) {
  using clock = std::chrono::steady_clock;
  const auto timed = [&](std::int64_t rounds) {
    std::vector<double> done(static_cast<std::size_t>(workers));
    const auto start = clock::now();
    for_all(run, workers, [&](index w) {
      T sink[3] = {T(0.999), T(0.001), T(0)};
      done[static_cast<std::size_t>(w)] = detail::multiply_add<T>(rounds, sink) + (sink[2] == T(-1) ? 1.0 : 0.0);
    });
    const double s = std::chrono::duration<double>(clock::now() - start).count();
    double sum = 0;
    for (const double d : done) sum += d;
    return std::pair{s, sum / s};
  };
  std::int64_t rounds = 1 << 16;
  while (timed(rounds).first < seconds && rounds < std::int64_t{1} << 40) rounds *= 2;
  double best = 0;
  for (int i = 0; i < tries; ++i) best = std::max(best, timed(rounds).second);
  return best;
}

}  // namespace quench::nn
