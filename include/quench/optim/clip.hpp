#pragma once
/// \file  Clipping by the global gradient norm (Pascanu et al. 2013; torch's clip_grad_norm_): factor
/// min(1, max_norm / (norm + 1e-6)), multiplied always.
#include <quench/core/error.hpp>
#include <quench/optim/param.hpp>

#include <algorithm>
#include <cmath>

namespace quench::inline QUENCH_ISA {

/// Norm of all gradients together and the factor they were multiplied by.
struct clip_result {
  double norm = 0, coefficient = 1;
  bool finite() const { return std::isfinite(norm); }
};

/// sqrt of the sum of squares of every entry of every gradient, summed in double, row by row: the result
/// depends only on the values. NaN and Inf give NaN or Inf.
template <class T>
double global_norm(const basic_param_list<T>& params) {
  double total = 0;
  for (const auto& p : params)
    for (index i = 0; i < p.grad.rows(); ++i) {
      const T* x = p.grad.data() + i * p.grad.cols();
      double s[4] = {0, 0, 0, 0};
      index j = 0;
      for (; j + 4 <= p.grad.cols(); j += 4)
        for (int k = 0; k < 4; ++k) s[k] += double(x[j + k]) * double(x[j + k]);
      for (; j < p.grad.cols(); ++j) s[0] += double(x[j]) * double(x[j]);
      total += (s[0] + s[1]) + (s[2] + s[3]);
    }
  return std::sqrt(total);
}

/// Scales the gradients of `params`, in place, so that their global norm is at most about `max_norm` (> 0).
/// This is the caller's explicit wish: no rule writes a gradient. A non-finite norm leaves every gradient as
/// it is and returns coefficient 0, so that the caller can skip the step.
template <class T>
clip_result clip_gradients(basic_param_list<T>& params, double max_norm) {
  expects(max_norm > 0, "clip_gradients: max_norm must be > 0, is {}", max_norm);
  clip_result r{global_norm(params), 0};
  if (!r.finite()) return r;
  r.coefficient = std::min(1.0, max_norm / (r.norm + 1e-6));
  if (r.coefficient < 1)
    for (auto& p : params) p.grad *= T(r.coefficient);
  return r;
}

/// max |g| over all gradients; NaN if any is NaN.
template <class T>
double max_abs_gradient(const basic_param_list<T>& params) {
  double top = 0;
  for (const auto& p : params)
    if (p.grad.size() > 0) {
      const double m = double(p.grad.cwiseAbs().template maxCoeff<Eigen::PropagateNaN>());
      if (!(m <= top)) top = m;
      if (std::isnan(top)) break;
    }
  return top;
}

}  // namespace quench::inline QUENCH_ISA
