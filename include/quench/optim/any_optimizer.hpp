#pragma once
/// \file  The driver for groups of rules: steps, non-finite gradients, and state that is visited, saved and
/// restored.
#include <quench/optim/groups.hpp>
#include <quench/optim/optimizer.hpp>

namespace quench::inline QUENCH_ISA {

/// What a step did. `nonfinite` names the first parameter whose gradient holds a NaN or an Inf (only looked
/// for with `skip_nonfinite`); then nothing was written and the step does not count.
struct step_report {
  bool taken = true;
  std::string nonfinite;
};

/// Groups of rules over one parameter list. The first group is the main one: `lr()` is its learning rate.
template <class T>
class any_optimizer {
 public:
  explicit any_optimizer(std::vector<param_group<T>> groups, std::string name = {})
      : groups_(std::move(groups)), name_(std::move(name)) {
    expects(!groups_.empty(), "any_optimizer: needs at least one group");
    if (name_.empty()) name_ = groups_.front().rule.name();
  }

  bool skip_nonfinite = false;  ///< leave everything untouched when any gradient holds a NaN or an Inf

  /// One update of every parameter that a group wants. `params` is the same list, in the same order, at every
  /// step. `lr_scale` is the schedule's factor on every group's learning rate. The bits do not depend on
  /// `run`. \throws error naming the parameter when a gradient's shape differs from its value's, or the list
  /// changed.
  step_report step(basic_param_list<T>& params, double lr_scale = 1, const executor& run = {}) {
    prepare(params);
    for (const auto& p : params)
      if (groups_of(p) < groups_.size()) detail::expects_gradient(p, "any_optimizer::step");
    if (skip_nonfinite)
      for (const auto& p : params)
        if (!p.grad.allFinite()) return {false, p.name};
    const step_info t{++step_, float(lr_scale), lr_scale};
    std::vector<std::size_t> work;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      std::vector<const basic_param<T>*> all;
      std::vector<any_state*> states;
      for (std::size_t i = 0; i < params.size(); ++i)
        if (slots_[i].group == g) {
          all.push_back(&params[i]), states.push_back(slots_[i].state.get());
          work.push_back(i);
        }
      groups_[g].rule.begin(all, states, t);
    }
    detail::for_params(params, work, run, t, [&](std::size_t i, step_info at) {
      groups_[slots_[i].group].rule.update(params[i], *slots_[i].state, at);
    });
    return {};
  }

  const std::string& name() const { return name_; }
  /// Every setting of every group, "lr=0.02,...,aux.lr=0.003,...": `make_optimizer(name(), settings())` is
  /// the same again.
  std::string settings() const {
    std::string out = groups_.front().rule.settings();
    for (std::size_t g = 1; g < groups_.size(); ++g)
      for (const auto& [key, value] : parse_settings(groups_[g].rule.settings()))
        out += ',' + groups_[g].name + '.' + key + '=' + value;
    return out + ",skip_nonfinite=" + setting_text(skip_nonfinite);
  }
  double lr() const { return groups_.front().rule.lr(); }
  std::int64_t steps() const { return step_; }
  const std::vector<param_group<T>>& groups() const { return groups_; }
  /// Name of the group that takes `p`, empty when none does.
  std::string group_of(const basic_param<T>& p) const {
    const std::size_t g = groups_of(p);
    return g < groups_.size() ? groups_[g].name : std::string();
  }

  /// `params` with the weights to evaluate and store: equal to the values except under rules that train at
  /// another point than they evaluate (schedule-free). Gradients are left out.
  basic_param_list<T> evaluation(const basic_param_list<T>& params) const {
    basic_param_list<T> out;
    for (std::size_t i = 0; i < params.size(); ++i) {
      const bool known = i < slots_.size() && slots_[i].state;
      out.push_back(
          {params[i].name,
           known ? groups_[slots_[i].group].rule.evaluation(params[i], *slots_[i].state) : params[i].value,
           {},
           params[i].kind});
    }
    return out;
  }

  /// Creates the state of every parameter (a step does so by itself); needed before visiting a fresh
  /// optimizer.
  void prepare(const basic_param_list<T>& params) {
    if (slots_.empty()) slots_ = fresh(params);
    expects(slots_.size() == params.size(), "any_optimizer: the list must keep its {} parameters, has {}",
            slots_.size(), params.size());
    for (std::size_t i = 0; i < params.size(); ++i)
      expects(slots_[i].name == params[i].name, "any_optimizer: parameter {} must stay '{}', is '{}'", i,
              slots_[i].name, params[i].name);
  }

  /// f("<parameter>/<part>", part) for all state, in a fixed order; parts may be read and written.
  void visit_state(const state_visitor& f) { visit(slots_, f); }
  /// Bytes of all state.
  std::size_t state_bytes() {
    std::size_t n = 0;
    visit_state([&](const std::string&, state_ref part) { n += detail::bytes_of(part); });
    return n;
  }

  state_archive save() {
    state_archive a{name_, settings(), step_, {}};
    visit_state([&](const std::string& name, state_ref part) { a.entries.push_back({name, copy_of(part)}); });
    return a;
  }
  /// Continues from `a` with the same bits. \throws error naming the first difference (rule, settings, a
  /// part's name, type or shape); this optimizer is then as it was.
  void restore(const state_archive& a, const basic_param_list<T>& params) {
    expects(a.rule == name_, "any_optimizer::restore: saved by '{}', this is '{}'", a.rule, name_);
    expects(a.settings == settings(), "any_optimizer::restore: saved with settings '{}', this has '{}'",
            a.settings, settings());
    auto slots = fresh(params);
    std::size_t k = 0;
    visit(slots, [&](const std::string& name, state_ref part) {
      expects(k < a.entries.size(), "any_optimizer::restore: '{}' is missing from the saved state", name);
      const state_entry& e = a.entries[k++];
      expects(e.name == name, "any_optimizer::restore: expected '{}', the saved state has '{}'", name,
              e.name);
      const std::string want = kind_of(copy_of(part)), have = kind_of(e.value);
      expects(want == have, "any_optimizer::restore: '{}' must be {}, is {}", name, want, have);
      std::visit([&](auto* p) { *p = std::get<std::remove_reference_t<decltype(*p)>>(e.value); }, part);
    });
    expects(k == a.entries.size(), "any_optimizer::restore: the saved state has {} parts, this needs {}",
            a.entries.size(), k);
    slots_ = std::move(slots);
    step_ = a.step;
  }

 private:
  struct slot {
    std::string name;
    std::size_t group;
    std::unique_ptr<any_state> state;
  };

  std::size_t groups_of(const basic_param<T>& p) const {
    std::size_t g = 0;
    while (g < groups_.size() && groups_[g].wants && !groups_[g].wants(p)) ++g;
    return g;
  }
  std::vector<slot> fresh(const basic_param_list<T>& params) const {
    std::vector<slot> out;
    for (const auto& p : params) {
      const std::size_t g = groups_of(p);
      out.push_back({p.name, g, g < groups_.size() ? groups_[g].rule.init(p) : nullptr});
    }
    return out;
  }
  static void visit(std::vector<slot>& slots, const state_visitor& f) {
    for (slot& s : slots)
      if (s.state) s.state->visit([&](const std::string& part, state_ref r) { f(s.name + '/' + part, r); });
  }

  std::vector<param_group<T>> groups_;
  std::string name_;
  std::vector<slot> slots_;
  std::int64_t step_ = 0;
};

}  // namespace quench::inline QUENCH_ISA
