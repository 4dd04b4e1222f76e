#pragma once
// One golden case: its rules by parameter, and what happens around the optimizer's step.
#include "configure.hpp"

#include <quench/optim/clip.hpp>

namespace golden {

/// Everything the runner needs to know about one case besides its numbers.
template <class T>
struct setup {
  std::vector<q::param_group<T>> groups;
  bool declining = false;           ///< lr * (1 - t / 32) at 0-based step t
  double clip = 0, clip_order = 2;  ///< clip by global norm before each step
  std::string average;              ///< "swa_uniform", "ema_0.99"
};

template <class T>
void clip(q::basic_param_list<T>& params, double max_norm, double order) {
  if (order == 2) {
    q::clip_gradients(params, max_norm);
    return;
  }
  const double c = std::min(1.0, max_norm / (q::max_abs_gradient(params) + 1e-6));
  for (auto& p : params) p.grad *= T(c);
}

/// Replaces SOAP's bases after the first step by those of the case ({parameter: [rows' basis, columns'
/// basis]}).
template <class T>
void inject(q::any_optimizer<T>& optimizer, const json& bases) {
  optimizer.visit_state([&](const std::string& name, q::state_ref part) {
    const std::string param = name.substr(0, name.find('/')), field = name.substr(name.find('/') + 1);
    if (!bases.contains(param) || (field != "QL" && field != "QR")) return;
    const std::size_t side = field == "QL" ? 0 : 1;
    const json values = side < bases[param].size() ? bases[param][side] : json();
    auto* m = std::get<q::matrix<T>*>(part);
    if (values.is_null() || values.empty()) return;
    if (std::size_t(m->size()) != values.size()) unknown("init_Q of " + name);
    for (q::index i = 0; i < m->size(); ++i) m->data()[i] = T(values[std::size_t(i)].template get<double>());
  });
}

/// One rule for all parameters.
template <class T>
void everywhere(setup<T>& s, q::any_rule<T> rule) {
  s.groups.push_back({"all", {}, std::move(rule)});
}

}  // namespace golden
