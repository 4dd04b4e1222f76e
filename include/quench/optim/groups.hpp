#pragma once
/// \file  Parameter groups: which parameters take which rule, by role, by name pattern, or by any predicate.
#include <quench/optim/any_rule.hpp>

#include <functional>
#include <initializer_list>

namespace quench::inline QUENCH_ISA {

/// Matches a whole name against a pattern in which '*' stands for any text and '?' for one character.
constexpr bool name_matches(std::string_view name, std::string_view pattern) {
  std::size_t n = 0, p = 0, star = pattern.npos, from = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n]) && pattern[p] != '*')
      ++n, ++p;
    else if (p < pattern.size() && pattern[p] == '*')
      star = p++, from = n;
    else if (star != pattern.npos)
      p = star + 1, n = ++from;
    else
      return false;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// Predicates for groups and for `optimizer`; generic, so they fit parameters of any scalar.
inline auto by_role(std::initializer_list<role> roles) {
  return [set = std::vector<role>(roles)](const auto& p) {
    for (role r : set)
      if (p.kind == r) return true;
    return false;
  };
}
inline auto by_name(std::string pattern) {
  return [pattern = std::move(pattern)](const auto& p) { return name_matches(p.name, pattern); };
}
/// Hidden weights that are matrices: at least two rows and two columns. What Muon and its relatives take; 1 x
/// n, n x 1 and 1 x 1 tensors fall through to the auxiliary rule whatever their role says.
inline auto hidden_matrices() {
  return [](const auto& p) { return p.kind == role::hidden && p.value.rows() > 1 && p.value.cols() > 1; };
}

/// One rule with its hyper-parameters, for the parameters it wants. Within a list of groups the first that
/// wants a parameter takes it. Different learning rates, decays (or none) are different groups with copies of
/// a rule; the schedule scales them all alike.
template <class T>
struct param_group {
  std::string name;
  std::function<bool(const basic_param<T>&)> wants;  ///< empty: all that are left
  any_rule<T> rule;
};

}  // namespace quench::inline QUENCH_ISA
