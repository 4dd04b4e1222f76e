#pragma once
/// \file  Model soups (Wortsman et al. 2022, arXiv 2203.05482): the uniform or weighted mean of several
/// models.
#include <quench/average/mean.hpp>

#include <cmath>
#include <span>

namespace quench::inline QUENCH_ISA {

/// sum_k weights[k] models[k], summed in double in the order given. Weights are taken as they are (0.9 and
/// 0.1 for a linear merge). Average first and quantize the result, never the other way round. \throws error
/// on no model, on as many weights as not models, on a non-finite weight, on lists that do not match.
template <class T>
basic_param_list<T> soup(std::span<const basic_param_list<T>> models, std::span<const double> weights) {
  expects(!models.empty() && models.size() == weights.size(),
          "soup: needs one weight a model and at least one, has {} and {}", weights.size(), models.size());
  detail::running_mean<T> check;
  for (const auto& m : models) check.prepare(m, "soup");
  basic_param_list<T> out;
  for (std::size_t i = 0; i < models[0].size(); ++i) {
    const auto& first = models[0][i];
    matrix<double> sum = matrix<double>::Zero(first.value.rows(), first.value.cols());
    for (std::size_t k = 0; k < models.size(); ++k) {
      expects(std::isfinite(weights[k]), "soup: weight {} must be finite, is {}", k, weights[k]);
      sum += weights[k] * models[k][i].value.template cast<double>();
    }
    out.push_back({first.name, sum.template cast<T>(), {}, first.kind});
  }
  return out;
}

/// The uniform mean.
template <class T>
basic_param_list<T> soup(std::span<const basic_param_list<T>> models) {
  return soup<T>(models,
                 std::vector<double>(models.size(), 1.0 / double(std::max<std::size_t>(1, models.size()))));
}
template <class T>
basic_param_list<T> soup(const std::vector<basic_param_list<T>>& models) {
  return soup<T>(std::span<const basic_param_list<T>>(models));
}
template <class T>
basic_param_list<T> soup(const std::vector<basic_param_list<T>>& models, const std::vector<double>& weights) {
  return soup<T>(std::span<const basic_param_list<T>>(models), std::span<const double>(weights));
}

}  // namespace quench::inline QUENCH_ISA
