// Add an optimizer of your own: hyper-parameters, the state of one tensor, and the update. Nothing else is
// needed to train with it; `name`, `settings` and `entries` are what lets it be chosen by text, saved and
// resumed.
#include <quench/optim/any_optimizer.hpp>

#include <iostream>

namespace q = quench;

// Momentum SGD whose step has the length lr whatever the gradient's: the rule in 13 lines.
struct unit_momentum {
  static constexpr std::string_view name = "unit_momentum";
  double lr = 0.1, momentum = 0.9;
  template <class T>
  struct state {
    q::matrix<T> m;
    void entries(auto&& f) { f("m", m); }
  };
  static void settings(auto& r, auto&& f) { f("lr", r.lr), f("momentum", r.momentum); }

  template <class T>
  state<T> init(const q::basic_param<T>& p) const {
    return {q::detail::zeros_like(p)};
  }
  template <class T>
  void update(q::basic_param<T>& p, state<T>& s, q::step_info t) const {
    s.m = T(momentum) * s.m + p.grad;
    p.value -= T(lr * t.scale / (double(s.m.norm()) + 1e-12)) * s.m;
  }
};

int main() {
  q::param_list net{{"w", q::matrix<float>::Constant(4, 3, 2.f), {}, q::role::hidden}};
  q::any_optimizer<float> opt({{"all", {}, unit_momentum{.lr = 0.5}}});
  for (int step = 0; step < 200; ++step) {
    net[0].grad = net[0].value;  // the gradient of |w|^2 / 2
    opt.step(net, 1 - step / 200.0);
    if (step == 99) {  // saved and restored, it continues with the same bits
      const auto saved = opt.save();
      opt.restore(saved, net);
    }
  }
  std::cout << opt.name() << " (" << opt.settings() << ") ends at |w| = " << net[0].value.norm() << '\n';
  return net[0].value.norm() < 0.1f ? 0 : 1;
}
