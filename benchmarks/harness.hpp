#pragma once
/// \file  Paired measurement: a kernel, a memcpy of the same bytes and any peers take turns in one process, and what is
/// reported is the median of the ratios of neighbouring samples. Clock changes, noisy neighbours and page placement hit
/// both sides alike, so a ratio repeats where a time does not.
///
///     static const bool rows = bench::add<float>("simd/abs_max", bench::all_sizes, [](bench::run<float>& r) {
///       r.verify(quench::simd::abs_max(r.in.data(), r.n) == expected);          // before any timing, or it is an error
///       r.measure([&] { bench::keep(quench::simd::abs_max(r.in.data(), r.n)); },
///                 bench::peer("eigen", [&] { ... }));
///     });
///
/// Counters of each row: `ns_per_element`; `x_copy` = time of the kernel / time of memcpy of n elements of T;
/// `vs_<peer>` = time of the peer / time of the kernel (above 1: the kernel is faster); `instructions_per_element` on
/// request (environment QUENCH_BENCH_INSTRUCTIONS=1, smallest size only).
#include "buffer.hpp"
#include "clock.hpp"

#include <benchmark/benchmark.h>

#include <quench/core/random.hpp>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace bench {

/// How much a kernel reads, by where that sits: one input of that many bytes, and as much output.
struct extent {
  const char* label;
  std::size_t bytes;
};
inline constexpr extent in_l1{"L1", std::size_t(8) << 10}, in_l2{"L2", std::size_t(256) << 10};
inline constexpr extent in_64mb{"64MB", std::size_t(64) << 20}, in_256mb{"256MB", std::size_t(256) << 20};
inline constexpr std::initializer_list<extent> all_sizes{in_l1, in_l2, in_64mb, in_256mb};
inline constexpr std::initializer_list<extent> cache_sizes{in_l1, in_l2};

/// A function to compare with, timed beside the kernel.
template <class F>
struct peer_function {
  std::string name;
  F call;
};
template <class F>
peer_function<F> peer(std::string name, F f) {
  return {std::move(name), std::move(f)};
}

inline double median(std::vector<double> v) {
  const auto mid = v.begin() + std::ptrdiff_t(v.size() / 2);
  std::nth_element(v.begin(), mid, v.end());
  return *mid;
}

/// One row of the table in the making. `in` holds n standard normal values, `out` n zeros.
template <class T>
class run {
 public:
  const std::ptrdiff_t n;
  buffer<T> in, out;
  clock_kind clock = clock_kind::thread;   ///< set to wall for kernels with threads

  run(benchmark::State& state, extent e)
      : n(std::ptrdiff_t(e.bytes / sizeof(T))), in(std::size_t(n)), out(std::size_t(n)), state_(state), extent_(e),
        copy_(std::size_t(n)) {
    if (in.data() == nullptr || out.data() == nullptr || copy_.data() == nullptr) {
      state_.SkipWithError("not enough memory");
      skipped_ = true;
      return;
    }
    const quench::random_stream random(1, 0);
    const std::size_t seeds = std::min(std::size_t(n), std::size_t(1) << 16);   // then repeated: Box-Muller is slow
    for (std::size_t i = 0; i < seeds; ++i) in[i] = T(random.normal(i));
    for (std::size_t i = seeds; i < std::size_t(n); ++i) in[i] = in[i - seeds];
  }
  bool skipped() const { return skipped_; }

  /// Says that the kernel's result was compared with the truth. Every row needs one before measure().
  void verify(bool right) {
    verified_ = true;
    if (!right && !skipped_) fail("wrong result");
  }

  /// Times the kernel beside memcpy and the peers. Call it once, last.
  template <class Kernel, class... Peers>
  void measure(Kernel kernel, peer_function<Peers>... peers) {
    if (skipped_) return;
    if (!verified_) return fail("not verified before timing");
    std::vector<timed> all;
    all.push_back(timed::of(kernel, clock));
    auto copy = [&] { std::memcpy(copy_.data(), in.data(), std::size_t(n) * sizeof(T)); };
    all.push_back(timed::of(copy, clock));
    (all.push_back(timed::of(peers.call, clock)), ...);
    for (timed& t : all) t.calibrate(sample_seconds);
    const int samples = extent_.bytes > (std::size_t(8) << 20) ? 11 : 31;
    for (int s = 0; s < samples; ++s)
      for (std::size_t k = 0; k < all.size(); ++k) all[s % 2 == 0 ? k : all.size() - 1 - k].sample();

    const double seconds = median(all[0].samples), count = double(n);
    state_.SetIterationTime(seconds);
    state_.counters["ns_per_element"] = seconds * 1e9 / count;
    state_.counters["x_copy"] = median(ratios(all[0], all[1]));
    std::size_t k = 2;
    ((state_.counters["vs_" + peers.name] = median(ratios(all[k++], all[0]))), ...);
    state_.SetBytesProcessed(std::int64_t(n) * std::int64_t(sizeof(T)));
    state_.SetLabel(extent_.label);
    if (extent_.bytes <= in_l1.bytes && std::getenv("QUENCH_BENCH_INSTRUCTIONS") != nullptr) {
      auto nothing = [] {};
      const long empty = count_instructions(nothing), steps = count_instructions(kernel);
      if (steps >= empty && empty >= 0) state_.counters["instructions_per_element"] = double(steps - empty) / count;
    }
  }

 private:
  static constexpr double sample_seconds = 1e-3;

  /// A loop around one function, type-erased outside the loop so that a call costs nothing extra.
  struct timed {
    std::function<double(long)> loop;
    long repeats = 1;
    std::vector<double> samples;

    template <class F>
    static timed of(F& f, clock_kind kind) {
      timed t;
      t.loop = [&f, kind](long count) {
        const double begin = now(kind);
        for (long i = 0; i < count; ++i) {
          f();
          asm volatile("" : : : "memory");
        }
        return now(kind) - begin;
      };
      return t;
    }
    void calibrate(double target) {
      loop(1);
      for (double t = loop(repeats); t < target; t = loop(repeats))
        repeats = std::max(2 * repeats, long(double(repeats) * target / std::max(t, target / 64)));
    }
    void sample() {
      loop(1);   // its data into the cache, as the sample before may have been another function's
      samples.push_back(loop(repeats) / double(repeats));
    }
  };
  static std::vector<double> ratios(const timed& a, const timed& b) {
    std::vector<double> r;
    for (std::size_t i = 0; i < a.samples.size(); ++i) r.push_back(a.samples[i] / b.samples[i]);
    return r;
  }
  void fail(const char* why) {
    state_.SkipWithError(why);
    skipped_ = true;
  }

  benchmark::State& state_;
  extent extent_;
  buffer<T> copy_;
  bool verified_ = false, skipped_ = false;
};

/// Registers `name/<size>` for each size. `body(run<T>&)` sets up, verifies and measures.
template <class T, class Body>
bool add(const std::string& name, std::initializer_list<extent> sizes, Body body) {
  for (const extent e : sizes)
    benchmark::RegisterBenchmark((name + "/" + e.label).c_str(), [body, e](benchmark::State& state) {
      for (auto _ : state) {
        run<T> r(state, e);
        if (!r.skipped()) body(r);
      }
    })->Iterations(1)->UseManualTime()->Unit(benchmark::kMicrosecond);
  return true;
}

}  // namespace bench
