#pragma once
/// \file  Schedule-free learning (Defazio et al. 2024, arXiv 2405.15682), with AdamW's or plain SGD's step:
/// gradients are taken at y between the fast iterate z and its average x, y = lerp(z, x, beta1), and x is
/// what is evaluated.
#include <quench/optim/rule.hpp>

#include <algorithm>
#include <cmath>

namespace quench::inline QUENCH_ISA {

/// The parameter holds y while training; `any_optimizer::evaluation` (or `evaluation` here) gives x. Needs no
/// schedule, only its own linear warm-up; a schedule's factor still multiplies. Weight decay acts at y and is
/// added to the direction: coupled to lr. The average weighs step k (from 0) with (k+1)^r * max lr^lr_power.
/// With `sgd` the direction is the gradient itself; else g / (sqrt(v_hat) + eps), with a bias-corrected
/// moving average of g in place of g when `inner_momentum` > 0. 0 < beta1 <= 1 is the interpolation, not a
/// moving average. State: z, v (not for sgd), one more with inner momentum, and two numbers. Any shape.
struct schedule_free {
  static constexpr std::string_view name = "schedule_free";
  double lr = 0.0025, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0, inner_momentum = 0, r = 0,
         lr_power = 2;
  std::int64_t warmup = 0;
  bool sgd = false;

  template <class T>
  struct state {
    matrix<T> z, v, m;
    double lr_max = 0, weight_sum = 0;
    void entries(auto&& f) {
      f("z", z), f("v", v), f("m", m), f("lr_max", lr_max), f("weight_sum", weight_sum);
    }
  };
  static void settings(auto& s, auto&& f) {
    f("lr", s.lr), f("beta1", s.beta1), f("beta2", s.beta2), f("eps", s.eps),
        f("weight_decay", s.weight_decay);
    f("inner_momentum", s.inner_momentum), f("r", s.r), f("lr_power", s.lr_power), f("warmup", s.warmup),
        f("sgd", s.sgd);
  }

  template <class T>
  state<T> init(const basic_param<T>& p) const {
    return {p.value, sgd ? matrix<T>() : detail::zeros_like(p),
            inner_momentum > 0 && !sgd ? detail::zeros_like(p) : matrix<T>()};
  }
  template <class T>
  void update(basic_param<T>& p, state<T>& s, step_info t) const {
    const double k = double(t.step),
                 rate = lr * t.scale * (warmup > 0 ? std::min(1.0, k / double(warmup)) : 1.0);
    s.lr_max = std::max(s.lr_max, rate);
    const double weight = std::pow(k, r) * std::pow(s.lr_max, lr_power);
    s.weight_sum += weight;
    const double share = s.weight_sum > 0 ? weight / s.weight_sum : 0;
    const T c = T(share), into_y = T(rate * (beta1 * (1 - share) - 1)), into_z = T(rate),
            wd = T(weight_decay);
    const T b2 = T(beta2), a2 = T(1 - beta2), unroot = T(1 / std::sqrt(1 - std::pow(beta2, k))), e = T(eps);
    const T mu = T(inner_momentum), take = T(1 - inner_momentum),
            unbias = T(1 / (1 - std::pow(inner_momentum, k)));
    const T* g = p.grad.data();
    T *y = p.value.data(), *z = s.z.data(), *v = s.v.data(), *m = s.m.data();
    detail::for_pieces(t, p.value.size(), [=](index from, index to) {
      for (index i = from; i < to; ++i) {
        T n = g[i];
        if (v) {
          v[i] = b2 * v[i] + a2 * g[i] * g[i];
          if (m) n = (m[i] = mu * m[i] + take * g[i]) * unbias;
          n /= std::sqrt(v[i]) * unroot + e;
        }
        n += wd * y[i];
        y[i] = y[i] + c * (z[i] - y[i]) + into_y * n;
        z[i] -= into_z * n;
      }
    });
  }
  /// x = lerp(y, z, 1 - 1 / beta1).
  template <class T>
  matrix<T> evaluation(const basic_param<T>& p, const state<T>& s) const {
    return p.value + T(1 - 1 / beta1) * (s.z - p.value);
  }
};

}  // namespace quench::inline QUENCH_ISA
