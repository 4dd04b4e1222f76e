// An optimizer rule needs init(param) and update(param, state, step_info).
// says: update_rule
#include <quench/optim/optimizer.hpp>

struct gradient_descent {
  float lr = 0.1f;
  struct state {};
  state init(const quench::param&) const { return {}; }
#ifndef REFUSED
  void update(quench::param& p, state&, quench::step_info t) const { p.value -= lr * t.lr_scale * p.grad; }
#endif
};

int main() { quench::optimizer<gradient_descent> rule{gradient_descent{}}; }
