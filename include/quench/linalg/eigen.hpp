#pragma once
/// \file  Symmetric eigendecomposition that reports instead of spinning: non-finite input is refused, entries
/// are scaled to at most 1 first, and a float failure is tried again in double.
#include <quench/core/error.hpp>
#include <quench/core/matrix.hpp>

#include <Eigen/Eigenvalues>

#include <cmath>

namespace quench::inline QUENCH_ISA {

/// a = vectors diag(values) vectors^T; values ascend. `ok` is false (and the rest empty) for NaN, Inf, or no
/// convergence.
template <class T>
struct eigen_system {
  matrix<T> vectors;
  Eigen::Array<T, Eigen::Dynamic, 1> values;
  bool ok = false;
};

/// Only the lower triangle of the square matrix `a` is read. Finite for zero, rank-deficient, 1e-30 and 1e30
/// sized input. O(n^3), about 25 n^3 flops.
template <class T>
eigen_system<T> symmetric_eigen(const matrix<T>& a) {
  expects(a.rows() == a.cols(), "symmetric_eigen: a must be square, is {} x {}", a.rows(), a.cols());
  eigen_system<T> out;
  const index n = a.rows();
  if (n == 0) {
    out.ok = true;
    return out;
  }
  using dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  dense scaled = a.template selfadjointView<Eigen::Lower>();
  const T top = scaled.cwiseAbs().template maxCoeff<Eigen::PropagateNaN>();
  if (!std::isfinite(top)) return out;
  if (top == T(0)) {
    out.vectors = matrix<T>::Identity(n, n);
    out.values = Eigen::Array<T, Eigen::Dynamic, 1>::Zero(n);
    out.ok = true;
    return out;
  }
  int exponent = 0;
  std::frexp(top, &exponent);
  scaled = scaled.unaryExpr(
      [exponent](T x) { return std::ldexp(x, -exponent); });  // exact: a rounded division would cost digits
  const Eigen::Tridiagonalization<dense> tri(scaled);
  Eigen::SelfAdjointEigenSolver<dense> solver;
  const Eigen::Matrix<T, Eigen::Dynamic, 1> diagonal = tri.diagonal(), below = tri.subDiagonal();
  solver.computeFromTridiagonal(diagonal, below, Eigen::ComputeEigenvectors);
  if (solver.info() == Eigen::Success) {
    out.vectors = tri.matrixQ() * solver.eigenvectors();
    out.values = solver.eigenvalues().array().unaryExpr([exponent](T x) { return std::ldexp(x, exponent); });
    out.ok = true;
  } else if constexpr (sizeof(T) < sizeof(double)) {
    const eigen_system<double> again = symmetric_eigen<double>(a.template cast<double>());
    out.ok = again.ok;
    out.vectors = again.vectors.template cast<T>();
    out.values = again.values.template cast<T>();
  }
  return out;
}

}  // namespace quench::inline QUENCH_ISA
