#pragma once
// The list of optimizers is compiled once for all of our programs and tests; its costly rules in files of their own.
#include <quench/optim/any.hpp>

namespace quench::inline QUENCH_ISA {

extern template const std::vector<optimizer_entry<float>>& optimizer_list<float>();
extern template const std::vector<optimizer_entry<double>>& optimizer_list<double>();

namespace detail {
template <class T>
using groups_of = std::vector<param_group<T>>;
extern template groups_of<float> everywhere<float, shampoo>();
extern template groups_of<double> everywhere<double, shampoo>();
extern template groups_of<float> everywhere<float, shampoo_google>();
extern template groups_of<double> everywhere<double, shampoo_google>();
extern template groups_of<float> everywhere<float, soap>();
extern template groups_of<double> everywhere<double, soap>();
extern template groups_of<float> everywhere<float, psgd>();
extern template groups_of<double> everywhere<double, psgd>();
extern template groups_of<float> everywhere<float, psgd_white>();
extern template groups_of<double> everywhere<double, psgd_white>();
}  // namespace detail
}  // namespace quench
