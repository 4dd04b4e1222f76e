// AdamW, Lion and SGD with momentum beside a memcpy of the parameter. Bytes moved per element: AdamW 28, Lion
// and SGD 20.
#include "harness.hpp"

#include <quench/optim/adamw.hpp>
#include <quench/optim/lion.hpp>
#include <quench/optim/sgd.hpp>

#include <cmath>

namespace {

namespace q = quench;

/// One step from zero state must move every weight as the formula says; then steps are timed.
template <class Rule, class Expected>
void time_rule(bench::run<float>& r, Rule rule, Expected expected) {
  q::basic_param<float> p{"w", q::matrix<float>::Constant(1, r.n, 1.f), q::matrix<float>(1, r.n),
                          q::role::hidden};
  std::copy(r.in.data(), r.in.data() + r.n, p.grad.data());
  auto state = rule.init(p);
  rule.update(p, state, {});
  bool right = true;
  for (std::ptrdiff_t i = 0; i < r.n; ++i)
    right = right && std::abs(p.value(0, i) - expected(p.grad(0, i))) < 1e-5f;
  r.verify(right);
  q::step_info t{2};
  r.measure([&] {
    rule.update(p, state, t);
    bench::keep(p.value.data());
  });
}

const bool adamw = bench::add<float>("optim/adamw", bench::all_sizes, [](bench::run<float>& r) {
  time_rule(r, q::adamw{.lr = 1e-3, .weight_decay = 0.1},
            [](float g) { return 1.f - 1e-4f - 1e-3f * g / (std::abs(g) + 1e-8f); });
});
const bool lion = bench::add<float>("optim/lion", bench::all_sizes, [](bench::run<float>& r) {
  time_rule(r, q::lion{.lr = 1e-3}, [](float g) { return g > 0 ? 1.f - 1e-3f : g < 0 ? 1.f + 1e-3f : 1.f; });
});
const bool sgd = bench::add<float>("optim/sgd_momentum", bench::all_sizes, [](bench::run<float>& r) {
  time_rule(r, q::sgd{.lr = 1e-3, .momentum = 0.9}, [](float g) { return 1.f - 1e-3f * g; });
});

}  // namespace
