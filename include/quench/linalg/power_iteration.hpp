#pragma once
/// \file  The largest eigenvalue of a symmetric positive semidefinite matrix: power iteration (von Mises
/// 1929), and the one-step lower bound that preconditioned methods normalise by (Li, psgd_torch).
#include <quench/core/error.hpp>
#include <quench/core/matrix.hpp>

#include <cmath>
#include <limits>

namespace quench::inline QUENCH_ISA {

struct power_result {
  double value = 0;
  int iterations = 0;
};

/// Rayleigh quotients from `start` (n x 1, overwritten by the vector) until two agree within `tolerance`, at
/// most `max_iterations`. 0 for a zero matrix; NaN for NaN. Scale the matrix yourself if its square may
/// overflow.
template <class T>
power_result power_iteration(const matrix<T>& a, matrix<T>& start, double tolerance = 1e-6,
                             int max_iterations = 100) {
  expects(a.rows() == a.cols() && start.rows() == a.rows() && start.cols() == 1,
          "power_iteration: start must be {} x 1, is {} x {}", a.rows(), start.rows(), start.cols());
  power_result r;
  double before = 0;
  for (; r.iterations < max_iterations; ++r.iterations) {
    const T norm = start.norm();
    if (!(norm > T(0))) break;
    start /= norm;
    const matrix<T> next = a * start;
    r.value = double((start.transpose() * next)(0, 0));
    start = next;
    if (std::abs(r.value - before) <= tolerance) break;
    before = r.value;
  }
  return r;
}

/// A cheap lower bound of the spectral norm of a symmetric matrix: one power step from its longest column,
/// after scaling by the largest entry. 0 for a zero matrix.
template <class T>
T spectral_norm_bound(const matrix<T>& a) {
  const T top = a.size() == 0 ? T(0) : a.cwiseAbs().template maxCoeff<Eigen::PropagateNaN>();
  if (!(top > T(0)) || !std::isfinite(top)) return top;
  index j = 0;
  (a / top).colwise().squaredNorm().maxCoeff(&j);
  Eigen::Matrix<T, 1, Eigen::Dynamic> x = (a.col(j).transpose() / top) * (a / top);
  const T norm = x.norm();
  if (!(norm > T(0))) return T(0);
  x /= norm;
  return top * ((a / top) * x.transpose()).norm();
}

/// A tighter lower bound from a few probes (rows of `v`, k x n, any noise): they are turned towards the
/// longest row of `a`, then multiplied by it four times. For symmetric positive semidefinite `a` pass its
/// largest diagonal entry as `top`, for skew-symmetric `a` its largest entry. 0 for a zero matrix.
template <class T>
T spectral_norm_bound(matrix<T> a, matrix<T> v, T top) {
  const T tiny = std::numeric_limits<T>::min();
  if (!std::isfinite(top)) return top;
  top += tiny;
  a /= top;
  index j = 0;
  a.rowwise().squaredNorm().maxCoeff(&j);
  for (index k = 0; k < v.rows(); ++k) {
    const T along = a.row(j).dot(v.row(k));
    v.row(k) = a.row(j) + (along > T(0) ? T(1) : along < T(0) ? T(-1) : T(0)) * v.row(k);
  }
  for (int half = 0; half < 2; ++half) {
    v = v * a;
    v.array().colwise() /= v.rowwise().norm().array() + tiny;
    v = v * a;
  }
  return top * v.rowwise().norm().maxCoeff();
}

}  // namespace quench::inline QUENCH_ISA
