#pragma once
// The shared test problems of the optimizer goldens: parameters, gradients, noise. See
// tests/data/optim/README.md.
#include <quench/optim/param.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace golden {

using json = nlohmann::json;
namespace q = quench;

/// 64-bit linear congruential generator of the goldens.
struct lcg {
  std::uint64_t s;
  std::uint32_t next() {
    return std::uint32_t((s = s * 6364136223846793005ull + 1442695040888963407ull) >> 32);
  }
  int i8() { return int(next() >> 24) - 128; }
  double unif() { return double(next() >> 8) / 16777216.0; }
  double gauss4() {
    double sum = 0;
    for (int k = 0; k < 4; ++k) sum += double(next() >> 16);
    return (sum - 131070) * (1.75 / 65536);
  }
};

struct shape {
  q::index rows, cols;
};

/// Numbers of one set of parameters, regenerated from the seed (every one is exact in float).
struct problem_set {
  std::map<std::string, q::matrix<double>> params0, target, h;
  std::vector<std::map<std::string, q::matrix<double>>> grads;
};

inline problem_set generate(const std::vector<std::pair<std::string, shape>>& tensors, std::uint64_t seed,
                            bool closed_loop) {
  problem_set p;
  lcg r{seed};
  std::map<std::string, std::vector<std::array<int, 2>>> directions;
  const auto fill = [&](shape s, auto&& draw) {
    q::matrix<double> m(s.rows, s.cols);
    for (q::index i = 0; i < m.size(); ++i) m.data()[i] = draw(i);
    return m;
  };
  const auto pairs = [&](q::index n) {
    std::vector<std::array<int, 2>> out;
    for (q::index i = 0; i < n; ++i) {
      const int a = r.i8(), b = r.i8();
      out.push_back({a, b});
    }
    return out;
  };
  for (const auto& [name, s] : tensors) p.params0[name] = fill(s, [&](q::index) { return r.i8() / 64.0; });
  for (const auto& [name, s] : tensors)
    if (s.rows > 1) directions[name] = pairs(s.cols);
  if (closed_loop) {
    for (const auto& [name, s] : tensors) p.target[name] = fill(s, [&](q::index) { return r.i8() / 64.0; });
    for (const auto& [name, s] : tensors)
      p.h[name] = fill(s, [&](q::index) { return std::ldexp(1.0, int(r.next() >> 30) - 2); });
  }
  for (int t = 0; t < 25; ++t) {
    std::map<std::string, q::matrix<double>> g;
    for (const auto& [name, s] : tensors) {
      if (s.rows == 1) {
        g[name] = fill(s, [&](q::index i) { return std::ldexp(r.i8() / 64.0, -int(i % 3)); });
        continue;
      }
      const auto u = pairs(s.rows);
      const auto& v = directions[name];
      const q::index cols = s.cols;
      g[name] = fill(s, [&](q::index k) {
        const auto [ua, ub] = u[std::size_t(k / cols)];
        const auto [va, vb] = v[std::size_t(k % cols)];
        return std::ldexp((ua * va + ub * vb + 128 * r.i8()) / 8192.0, -int((k / cols) % 3));
      });
    }
    p.grads.push_back(std::move(g));
  }
  return p;
}

inline const problem_set& small_set() {
  static const problem_set p =
      generate({{"W", {12, 8}}, {"V", {5, 16}}, {"b", {1, 8}}, {"S", {8, 8}}}, 20240607, true);
  return p;
}
inline const problem_set& big_set() {
  static const problem_set p = generate({{"X", {40, 24}}, {"Y", {24, 40}}}, 20240608, false);
  return p;
}

inline std::vector<std::string> names_in(const std::string& problem) {
  if (problem == "seq" || problem == "quad") return {"W", "V", "b"};
  if (problem == "mat" || problem == "quadmat") return {"W", "V"};
  if (problem == "sq") return {"S"};
  if (problem == "big") return {"X", "Y"};
  return {};
}

/// A running problem: parameters at their start, and the gradient of each step.
template <class T>
struct instance {
  const problem_set* set;
  bool closed;
  q::basic_param_list<T> params;

  explicit instance(const std::string& problem)
      : set(problem == "big" ? &big_set() : &small_set()), closed(problem.starts_with("quad")) {
    for (const auto& n : names_in(problem))
      params.push_back(
          {n, set->params0.at(n).template cast<T>(), {}, n == "b" ? q::role::vector : q::role::hidden});
  }
  void fill_gradients(int step) {  // 0-based
    for (auto& p : params) {
      if (closed) {
        const q::matrix<T> h = set->h.at(p.name).template cast<T>(),
                           target = set->target.at(p.name).template cast<T>();
        p.grad = h.cwiseProduct(p.value - target);
      } else {
        p.grad = set->grads[std::size_t(step)].at(p.name).template cast<T>();
      }
    }
  }
};

}  // namespace golden
