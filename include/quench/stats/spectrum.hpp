#pragma once
/// \file  Singular values of a matrix and what they say about its rank: explained variance, stable rank (Rudelson &
/// Vershynin 2007), effective rank (Roy & Vetterli 2007).
#include <quench/core/matrix.hpp>

#include <Eigen/Eigenvalues>

#include <cmath>
#include <limits>
#include <vector>

namespace quench::inline QUENCH_ISA {

enum class spectrum_status { ok, empty, not_finite, not_converged };

/// Singular values, largest first. Every measure is NaN unless `status` is ok and some value is not zero.
struct spectrum_summary {
  spectrum_status status = spectrum_status::empty;
  std::vector<double> singular_values;

  /// sigma_1^2 + ... + sigma_k^2 over the sum of all, in [0, 1].
  double explained(index k) const {
    double top = 0, all = 0;
    for (std::size_t i = 0; i < singular_values.size(); ++i) {
      const double s = singular_values[i] / singular_values[0];
      if (i < std::size_t(k < 0 ? 0 : k)) top += s * s;
      all += s * s;
    }
    return all > 0 ? top / all : std::numeric_limits<double>::quiet_NaN();
  }
  double top_share() const { return explained(1); }
  /// ||X||_F^2 / ||X||_2^2, from 1 to the rank.
  double stable_rank() const { return 1 / explained(1); }
  /// exp of the entropy of sigma_i / sum sigma, from 1 to the rank.
  double effective_rank() const {
    double sum = 0, entropy = 0;
    for (const double s : singular_values) sum += s / singular_values[0];
    for (const double s : singular_values) {
      const double p = s / singular_values[0] / sum;
      if (p > 0) entropy -= p * std::log(p);
    }
    return sum > 0 ? std::exp(entropy) : std::numeric_limits<double>::quiet_NaN();
  }
};

/// The spectrum of `x` by the eigenvalues of its smaller Gram matrix, in double on `x` over its largest magnitude, so any
/// scale is safe. Values under about 1e-8 of the largest are not resolved (clamped at 0). With `centred`, of x minus
/// its column means: the eigenvalues of the covariance. Trouble is reported in `status`, before any iteration when a
/// value is not finite. O(m n min(m, n)); allocates a copy of `x` in double.
template <dense_matrix M>
spectrum_summary spectrum(const M& x, bool centred = false) {
  const auto v = view_of(x);
  spectrum_summary s;
  if (v.rows == 0 || v.cols == 0) return s;
  double most = 0;
  for (index r = 0; r < v.rows; ++r)
    for (index c = 0; c < v.cols; ++c) {
      const double a = std::abs(double(v(r, c)));
      if (!(a <= std::numeric_limits<double>::max())) {
        s.status = spectrum_status::not_finite;
        return s;
      }
      most = std::max(most, a);
    }
  s.singular_values.assign(static_cast<std::size_t>(std::min(v.rows, v.cols)), 0.0);
  s.status = spectrum_status::ok;
  if (most == 0) return s;
  matrix<double> a(v.rows, v.cols);
  for (index r = 0; r < v.rows; ++r)
    for (index c = 0; c < v.cols; ++c) a(r, c) = double(v(r, c)) / most;
  if (centred) a.rowwise() -= a.colwise().mean().eval();
  matrix<double> gram;
  if (v.rows < v.cols) gram.noalias() = a * a.transpose();
  else gram.noalias() = a.transpose() * a;
  const Eigen::SelfAdjointEigenSolver<matrix<double>> solver(gram, Eigen::EigenvaluesOnly);
  if (solver.info() != Eigen::Success) {
    s.status = spectrum_status::not_converged;
    s.singular_values.clear();
    return s;
  }
  const index n = gram.rows();
  for (index i = 0; i < n; ++i) s.singular_values[std::size_t(i)] = most * std::sqrt(std::max(0.0, solver.eigenvalues()[n - 1 - i]));
  return s;
}

}  // namespace quench
