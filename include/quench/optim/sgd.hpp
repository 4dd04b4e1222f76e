#pragma once
/// \file  Stochastic gradient descent with momentum (Polyak 1964), dampening and Nesterov's look-ahead
/// (Sutskever et al. 2013), as torch.optim.SGD: w -= lr * (g + momentum * buf).
#include <quench/optim/rule.hpp>

namespace quench::inline QUENCH_ISA {

/// `weight_decay` is added to the gradient (coupled L2, after the sign change of `maximize`). The first
/// momentum is the gradient itself, without dampening. `nesterov` needs momentum > 0 and dampening 0 to be
/// Nesterov's method. State: one buffer when momentum != 0. Elementwise: any shape, NaN and Inf stay where
/// they are.
struct sgd {
  static constexpr std::string_view name = "sgd";
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;

  template <class T>
  struct state {
    matrix<T> buf;  ///< momentum, shaped like the parameter (0 x 0 without momentum)
    void entries(auto&& f) { f("buf", buf); }
  };
  static void settings(auto& r, auto&& f) {
    f("lr", r.lr), f("momentum", r.momentum), f("dampening", r.dampening), f("weight_decay", r.weight_decay);
    f("nesterov", r.nesterov), f("maximize", r.maximize);
  }

  template <class T>
  state<T> init(const basic_param<T>& p) const {
    return {momentum != 0 ? detail::zeros_like(p) : matrix<T>()};
  }
  template <class T>
  void update(basic_param<T>& p, state<T>& s, step_info t) const {
    const T sign = maximize ? T(-1) : T(1), decay = T(weight_decay), mu = T(momentum), rate = T(lr * t.scale);
    const T keep = t.step == 1 ? T(0) : mu, take = t.step == 1 ? T(1) : T(1 - dampening);
    const T* g = p.grad.data();
    T* w = p.value.data();
    T* b = s.buf.data();
    detail::for_pieces(t, p.value.size(), [=, this](index from, index to) {
      if (momentum == 0)
        for (index i = from; i < to; ++i) w[i] -= rate * (sign * g[i] + decay * w[i]);
      else if (nesterov)
        for (index i = from; i < to; ++i) {
          const T d = sign * g[i] + decay * w[i];
          b[i] = keep * b[i] + take * d;
          w[i] -= rate * (d + mu * b[i]);
        }
      else
        for (index i = from; i < to; ++i) {
          b[i] = keep * b[i] + take * (sign * g[i] + decay * w[i]);
          w[i] -= rate * b[i];
        }
    });
  }
};

}  // namespace quench::inline QUENCH_ISA
