#pragma once
/// \file  The driver that walks a parameter list with one rule. It owns the state, never the training loop.
#include <quench/core/error.hpp>
#include <quench/optim/rule.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace quench::inline QUENCH_ISA {

namespace detail {

/// Runs update(i, t) for every i of `work`: large parameters one after another with the executor inside, the
/// others side by side, dealt to eight equal piles. Updates are independent, so the order cannot change a
/// result.
template <class T, class Update>
void for_params(const basic_param_list<T>& params, const std::vector<std::size_t>& work, const executor& run,
                step_info t, Update update) {
  const auto cost = [&](std::size_t i) {
    const auto& w = params[i].value;
    return double(w.rows()) * double(w.cols()) * (8.0 + double(std::min(w.rows(), w.cols())));
  };
  if (!run) {
    for (std::size_t i : work) update(i, t);
    return;
  }
  std::vector<std::size_t> small;
  for (std::size_t i : work) {
    if (cost(i) < 3e7) {
      small.push_back(i);
      continue;
    }
    step_info inside = t;
    inside.threads = &run;
    update(i, inside);
  }
  std::stable_sort(small.begin(), small.end(), [&](auto a, auto b) { return cost(a) > cost(b); });
  constexpr std::size_t piles = 8;
  std::array<std::vector<std::size_t>, piles> pile;
  std::array<double, piles> load{};
  for (std::size_t i : small) {
    const auto k = std::size_t(std::min_element(load.begin(), load.end()) - load.begin());
    pile[k].push_back(i);
    load[k] += cost(i);
  }
  for_all(run, index(piles), [&](index k) {
    for (std::size_t i : pile[std::size_t(k)]) update(i, t);
  });
}

template <class T>
void expects_gradient(const basic_param<T>& p, const char* who) {
  expects(p.grad.rows() == p.value.rows() && p.grad.cols() == p.value.cols(),
          "{}: gradient of '{}' must be {} x {} like its value, is {} x {}", who, p.name, p.value.rows(),
          p.value.cols(), p.grad.rows(), p.grad.cols());
}

}  // namespace detail

/// One rule applied to the parameters `wants` accepts (all when empty); state is created on first use.
///
///     optimizer hidden(muon{.lr = 0.02}, [](const param& p) { return p.kind == role::hidden; });
///     hidden.step(net, lr_scale);
///
/// For several rules, names known at run time, skipping of non-finite gradients, or saved state:
/// optim/any.hpp.
template <class Rule, class T = float>
class optimizer {
  static_assert(update_rule<Rule, T>,
                "the rule needs init(const basic_param<T>&) and update(basic_param<T>&, state&, step_info)");

 public:
  using state_type = state_of<Rule, T>;
  using predicate = std::function<bool(const basic_param<T>&)>;

  explicit optimizer(Rule rule, predicate wants = {}) : rule_(std::move(rule)), wants_(std::move(wants)) {}

  /// One update of every wanted parameter. `params` must be the same list, in the same order, at every step;
  /// each gradient must have its value's shape. `run` may be any executor and changes no bit. \throws error
  /// when the list changed or a shape does not fit; nothing has been written then.
  void step(basic_param_list<T>& params, double lr_scale = 1, const executor& run = {}) {
    if (states_.empty()) states_.resize(params.size());
    expects(states_.size() == params.size(), "optimizer::step: the list must keep its {} parameters, has {}",
            states_.size(), params.size());
    std::vector<std::size_t> work;
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (wants_ && !wants_(params[i])) continue;
      detail::expects_gradient(params[i], "optimizer::step");
      work.push_back(i);
    }
    const step_info t{++step_, float(lr_scale), lr_scale};
    for (std::size_t i : work)
      if (!states_[i]) states_[i] = std::make_unique<state_type>(rule_.init(std::as_const(params[i])));
    if constexpr (requires(const Rule& r, std::vector<const basic_param<T>*> all,
                           std::vector<state_type*> s) { r.begin(all, s, t); }) {
      std::vector<const basic_param<T>*> all;
      std::vector<state_type*> states;
      for (std::size_t i : work) all.push_back(&params[i]), states.push_back(states_[i].get());
      rule_.begin(all, states, t);
    }
    detail::for_params(params, work, run, t,
                       [&](std::size_t i, step_info at) { rule_.update(params[i], *states_[i], at); });
  }

  /// State of parameter i, or null when it has none (yet).
  const state_type* state(std::size_t i) const { return i < states_.size() ? states_[i].get() : nullptr; }
  state_type* state(std::size_t i) { return i < states_.size() ? states_[i].get() : nullptr; }
  std::int64_t steps() const { return step_; }
  Rule& rule() { return rule_; }
  const Rule& rule() const { return rule_; }

 private:
  Rule rule_;
  predicate wants_;
  std::vector<std::unique_ptr<state_type>> states_;
  std::int64_t step_ = 0;
};

template <class Rule>
optimizer(Rule) -> optimizer<Rule, float>;
template <class Rule, class Wants>
optimizer(Rule, Wants) -> optimizer<Rule, float>;

}  // namespace quench::inline QUENCH_ISA
