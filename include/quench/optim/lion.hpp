#pragma once
/// \file  Lion (Chen et al. 2023, arXiv 2302.06675): w -= lr * sign(beta1 m + (1 - beta1) g), then m with
/// beta2; with the cautious mask of Liang et al. 2024 (arXiv 2411.16085).
#include <quench/optim/decay.hpp>
#include <quench/optim/rule.hpp>

#include <algorithm>

namespace quench::inline QUENCH_ISA {

/// sign(0) = 0; decay stays outside the sign. `cautious` < 1 multiplies update entries that oppose the
/// gradient by that factor and rescales by the mean of the factors. `decay` independent is lucidrains'
/// decoupled_weight_decay. State: one matrix. Any shape.
struct lion {
  static constexpr std::string_view name = "lion";
  double lr = 1e-4, beta1 = 0.9, beta2 = 0.99, weight_decay = 0, cautious = 1;
  decay_kind decay = decay_kind::scheduled;

  template <class T>
  struct state {
    matrix<T> m;  ///< shaped like the parameter
    void entries(auto&& f) { f("m", m); }
  };
  static void settings(auto& r, auto&& f) {
    f("lr", r.lr), f("beta1", r.beta1), f("beta2", r.beta2), f("weight_decay", r.weight_decay),
        f("cautious", r.cautious);
    f("decay", r.decay);
  }

  template <class T>
  state<T> init(const basic_param<T>& p) const {
    return {detail::zeros_like(p)};
  }
  template <class T>
  void update(basic_param<T>& p, state<T>& s, step_info t) const {
    const T keep = T(1 - decay_share(decay, lr, t.scale, weight_decay)), rate = T(lr * t.scale);
    const T b1 = T(beta1), a1 = T(1 - beta1), b2 = T(beta2), a2 = T(1 - beta2), c = T(cautious);
    const T* g = p.grad.data();
    T *w = p.value.data(), *m = s.m.data();
    const auto sign = [](T x) { return x > T(0) ? T(1) : x < T(0) ? T(-1) : x; };  // sign(0) = 0, NaN stays
    T rescale = T(1);
    if (cautious < 1) {
      index against = 0;
      for (index i = 0; i < p.value.size(); ++i) against += !(sign(b1 * m[i] + a1 * g[i]) * g[i] > T(0));
      const double size = double(std::max<index>(1, p.value.size()));
      rescale = T(1 / std::max(1e-5, (size - double(against) * (1 - cautious)) / size));
    }
    detail::for_pieces(t, p.value.size(), [=, this](index from, index to) {
      if (cautious < 1)
        for (index i = from; i < to; ++i) {
          const T u = sign(b1 * m[i] + a1 * g[i]);
          w[i] = keep * w[i] - rate * rescale * (u * g[i] > T(0) ? u : c * u);
          m[i] = b2 * m[i] + a2 * g[i];
        }
      else
        for (index i = from; i < to; ++i) {
          w[i] = keep * w[i] - rate * sign(b1 * m[i] + a1 * g[i]);
          m[i] = b2 * m[i] + a2 * g[i];
        }
    });
  }
};

}  // namespace quench::inline QUENCH_ISA
