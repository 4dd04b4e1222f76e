#pragma once
/// \file  Parameters, the optimizer concept, and the driver that walks a parameter list.
#include <quench/core/error.hpp>
#include <quench/optim/param.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace quench::inline QUENCH_ISA {

/// When the step happens and how the schedule has scaled it.
struct step_info { std::int64_t step = 1; float lr_scale = 1.f; };

/// A rule is its hyper-parameters; the state of one tensor is a separate, inspectable struct.
template <class O>
concept update_rule = requires(const O rule, param& p, typename O::state& s, step_info t) {
  { rule.init(p) } -> std::same_as<typename O::state>;
  { rule.update(p, s, t) };
};

/// One rule applied to the parameters `wants` accepts; state is created on first use.
template <update_rule O>
class optimizer {
 public:
  explicit optimizer(O rule, std::function<bool(const param&)> wants = {}) : rule_(std::move(rule)), wants_(std::move(wants)) {}
  void step(param_list& params, float lr_scale = 1.f) {
    if (states_.size() != params.size()) states_.resize(params.size());
    const step_info t{++step_, lr_scale};
    for (std::size_t i = 0; i < params.size(); ++i) {
      param& p = params[i];
      if (wants_ && !wants_(p)) continue;
      expects(p.grad.rows() == p.value.rows() && p.grad.cols() == p.value.cols(), "optimizer::step: grad and value differ in shape");
      if (!states_[i]) states_[i] = std::make_unique<typename O::state>(rule_.init(p));
      rule_.update(p, *states_[i], t);
    }
  }
  const typename O::state* state(std::size_t i) const { return i < states_.size() ? states_[i].get() : nullptr; }
  O& rule() { return rule_; }

 private:
  O rule_;
  std::function<bool(const param&)> wants_;
  std::vector<std::unique_ptr<typename O::state>> states_;
  std::int64_t step_ = 0;
};

}  // namespace quench
