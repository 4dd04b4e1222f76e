#pragma once
/// \file  signSGD and Signum (Bernstein et al. 2018, arXiv 1802.04434): w *= 1 - lr decay; w -= lr sign(m).
#include <quench/optim/decay.hpp>
#include <quench/optim/rule.hpp>

namespace quench::inline QUENCH_ISA {

/// m <- momentum m + (1 - dampening) g, from zero; with momentum 0 the sign of the gradient. sign(0) = 0, NaN
/// stays. `first_twice` starts from m = g and then counts the first gradient again, as plainLM does. State:
/// one matrix when momentum != 0. Any shape.
struct signum {
  static constexpr std::string_view name = "signum";
  double lr = 1e-3, momentum = 0.9, dampening = 0, weight_decay = 0.1;
  bool first_twice = false;

  template <class T>
  struct state {
    matrix<T> m;  ///< shaped like the parameter (0 x 0 without momentum)
    void entries(auto&& f) { f("m", m); }
  };
  static void settings(auto& r, auto&& f) {
    f("lr", r.lr), f("momentum", r.momentum), f("dampening", r.dampening), f("weight_decay", r.weight_decay);
    f("first_twice", r.first_twice);
  }
  template <class T>
  state<T> init(const basic_param<T>& p) const {
    return {momentum != 0 ? detail::zeros_like(p) : matrix<T>()};
  }
  template <class T>
  void update(basic_param<T>& p, state<T>& s, step_info t) const {
    const T keep = T(1 - lr * t.scale * weight_decay), rate = T(lr * t.scale), take = T(1 - dampening);
    const T mu = first_twice && t.step == 1 ? T(0) : T(momentum);
    const T first = first_twice && t.step == 1 ? T(momentum) : T(0);
    const T* g = p.grad.data();
    T *w = p.value.data(), *m = s.m.data();
    const auto sign = [](T v) { return v > T(0) ? T(1) : v < T(0) ? T(-1) : v; };
    detail::for_pieces(t, p.value.size(), [=](index from, index to) {
      if (m)
        for (index i = from; i < to; ++i) {
          m[i] = mu * m[i] + (first + take) * g[i];
          w[i] = keep * w[i] - rate * sign(m[i]);
        }
      else
        for (index i = from; i < to; ++i) w[i] = keep * w[i] - rate * sign(g[i]);
    });
  }
};

}  // namespace quench::inline QUENCH_ISA
