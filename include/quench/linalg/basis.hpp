#pragma once
/// \file  Keeping an orthonormal eigenbasis up to date: one power step and a QR (Wang et al. 2022; Vyas et
/// al. 2024, SOAP).
#include <quench/linalg/eigen.hpp>
#include <quench/linalg/product.hpp>

#include <Eigen/QR>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace quench::inline QUENCH_ISA {

/// The orthonormal factor of a = Q R by Householder reflections, n x n. Column signs are the factorisation's
/// own.
template <class T>
matrix<T> orthonormal_factor(const matrix<T>& a) {
  using dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  const Eigen::HouseholderQR<dense> qr(a);
  return qr.householderQ() * dense::Identity(a.rows(), a.cols());
}

/// Indices that sort `values`, stable.
template <class Values>
std::vector<index> sorted_order(const Values& values, bool descending) {
  std::vector<index> order(std::size_t(values.size()));
  std::iota(order.begin(), order.end(), index(0));
  std::stable_sort(order.begin(), order.end(), [&](index a, index b) {
    return descending ? values(a) > values(b) : values(a) < values(b);
  });
  return order;
}

template <class T>
matrix<T> columns(const matrix<T>& m, const std::vector<index>& order) {
  matrix<T> out(m.rows(), index(order.size()));
  for (std::size_t k = 0; k < order.size(); ++k) out.col(index(k)) = m.col(order[k]);
  return out;
}
template <class T>
matrix<T> rows(const matrix<T>& m, const std::vector<index>& order) {
  matrix<T> out(index(order.size()), m.cols());
  for (std::size_t k = 0; k < order.size(); ++k) out.row(index(k)) = m.row(order[k]);
  return out;
}

/// Refreshes the basis q (n x n, orthonormal columns) of the symmetric matrix a: columns are put in
/// descending order of q^T a q, then q <- the orthonormal factor of a q. Returns that order, so that what is
/// stored per column can follow. Leaves q alone and returns an empty order when the result would not be
/// finite. About 2 + 10/3 n^3 multiply-adds.
template <class T>
std::vector<index> refresh_basis(matrix<T>& q, const matrix<T>& a, const executor& run = {}) {
  expects(a.rows() == a.cols() && q.rows() == a.rows() && q.cols() == a.rows(),
          "refresh_basis: q must be {} x {}, is {} x {}", a.rows(), a.cols(), q.rows(), q.cols());
  const T top = a.size() == 0 ? T(0) : a.cwiseAbs().template maxCoeff<Eigen::PropagateNaN>();
  if (!std::isfinite(top) || !(top > T(0))) return {};
  matrix<T> aq;
  multiply_into(aq, a, q, run);
  const Eigen::Array<T, 1, Eigen::Dynamic> estimate = (q.array() * aq.array()).colwise().sum();
  auto order = sorted_order(estimate, true);
  int exponent = 0;
  std::frexp(top, &exponent);  // a power of two: exact
  matrix<T> next = orthonormal_factor<T>(
      columns(aq, order).unaryExpr([exponent](T x) { return std::ldexp(x, -exponent); }));
  if (!next.allFinite()) return {};
  q.swap(next);
  return order;
}

}  // namespace quench::inline QUENCH_ISA
