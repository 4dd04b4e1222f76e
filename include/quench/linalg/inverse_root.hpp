#pragma once
/// \file  Inverse p-th roots of symmetric positive semidefinite matrices, A^(-e): by eigendecomposition, by
/// coupled Newton (Guo & Higham 2006), and by its higher-order form (Shampoo's; Anil et al. 2020, Shi et al.
/// 2023).
#include <quench/linalg/eigen.hpp>
#include <quench/linalg/product.hpp>

#include <array>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

namespace quench::inline QUENCH_ISA {

enum class root_method {
  eigen,           ///< Q lambda^-e Q^T; any exponent
  pseudo_inverse,  ///< the same, eigenvalues up to n eps_mach lambda_max count as zero and stay zero; epsilon
                   ///< must be 0
  coupled_newton,  ///< products only; e = 1 / p for an integer p
  higher_order     ///< products only, third order; e = q / p for small integers
};
constexpr auto names_of(std::type_identity<root_method>) {
  return std::array<std::string_view, 4>{"eigen", "pseudo_inverse", "coupled_newton", "higher_order"};
}

struct root_options {
  root_method method = root_method::eigen;
  double epsilon = 1e-12;       ///< added to the diagonal (absolute)
  double relative_epsilon = 0;  ///< at least this times the largest eigenvalue is added (or a bound of it)
  bool perturb_before =
      true;  ///< eigen: add epsilon before decomposing; else to the eigenvalues, clamped at 0, after
  double tolerance = 1e-6;  ///< newton, higher order: on max |M - I|
  int max_iterations = 100;
  bool stop_on_growth =
      false;  ///< newton: stop when the error grows by 1.2 and keep the better root (Google)
};

/// `ok` false: non-finite input, no convergence, or a residual above 0.1; `root` is empty then.
template <class T>
struct root_result {
  matrix<T> root;
  bool ok = false;
  int iterations = 0;
  double error = 0;
};

namespace detail {

template <class T>
double distance_to_identity(const matrix<T>& m) {
  return double(
      (m - matrix<T>::Identity(m.rows(), m.cols())).cwiseAbs().template maxCoeff<Eigen::PropagateNaN>());
}

/// out = m^p, p >= 1, for symmetric m; exactly symmetric.
template <class T>
matrix<T> symmetric_power(const matrix<T>& m, int p, const executor& run) {
  if (p == 1) return m;
  matrix<T> half = symmetric_power(m, p / 2, run), out;
  symmetric_square_into(out, half, run);
  if (p % 2 == 1) {
    commuting_product_into(half, out, m, run);
    return half;
  }
  return out;
}

/// q / p = e with q <= 8, p <= 64; {0, 0} when there is none.
inline std::pair<int, int> as_fraction(double e) {
  for (int q = 1; q <= 8; ++q) {
    const double p = double(q) / e;
    if (p <= 64.5 && std::abs(p - std::round(p)) < 1e-9 * p) return {q, int(std::round(p))};
  }
  return {0, 0};
}

template <class T>
root_result<T> root_by_eigen(matrix<T> a, double e, const root_options& o, const executor& run) {
  root_result<T> out;
  const bool pseudo = o.method == root_method::pseudo_inverse;
  if (o.perturb_before && !pseudo) a.diagonal().array() += T(o.epsilon);
  eigen_system<T> s = symmetric_eigen(a);
  if (!s.ok) return out;
  const index n = a.rows();
  const double top = n > 0 ? std::max(0.0, double(s.values(n - 1))) : 0.0,
               low = n > 0 ? double(s.values(0)) : 0.0;
  const double epsilon = std::max(o.epsilon, o.relative_epsilon * top);
  matrix<T> half(n, n);
  for (index k = 0; k < n; ++k) {
    double lambda = double(s.values(k));
    if (pseudo) {
      const double zero = double(n) * double(std::numeric_limits<T>::epsilon()) * top;
      lambda = lambda <= zero ? 0.0 : std::pow(lambda, -e / 2);
    } else {
      if (o.perturb_before ? low < epsilon : low < 0) lambda += -low;
      if (!o.perturb_before || low < epsilon) lambda += epsilon;
      lambda = std::pow(std::max(lambda, double(std::numeric_limits<T>::min())), -e / 2);
    }
    half.col(k) = s.vectors.col(k) * T(lambda);
  }
  gram_into(out.root, half, run);
  out.ok = out.root.allFinite();
  return out;
}

template <class T>
root_result<T> root_by_newton(const matrix<T>& a, int p, const root_options& o, const executor& run) {
  root_result<T> out;
  const index n = a.rows();
  const double norm = double(a.norm());
  if (!std::isfinite(norm) || norm == 0) return out;
  const double z = (double(p) + 1) / (2 * norm);
  matrix<T> x = matrix<T>::Identity(n, n) * T(std::pow(z, 1.0 / p)), m = T(z) * a, next;
  out.error = distance_to_identity(m);
  while (out.error > o.tolerance && out.iterations < o.max_iterations) {
    matrix<T> t = T(-1.0 / p) * m;
    t.diagonal().array() += T(1 + 1.0 / p);
    commuting_product_into(next, symmetric_power(t, p, run), m, run);
    m.swap(next);
    commuting_product_into(next, x, t, run);
    const double error = distance_to_identity(m);
    if (std::isnan(error) || (o.stop_on_growth && error > 1.2 * out.error)) break;
    x.swap(next);
    out.error = error;
    ++out.iterations;
  }
  out.root = std::move(x);
  out.ok = out.root.allFinite() && out.error < 0.1;
  return out;
}

template <class T>
root_result<T> root_by_higher_order(const matrix<T>& a, int q, int p, const root_options& o,
                                    const executor& run) {
  root_result<T> out;
  const index n = a.rows();
  const double trace = double(a.trace());
  if (!std::isfinite(trace) || !(trace > 0) || !a.allFinite()) return out;
  const double z = 1 / trace, b1 = 1.0 / p, b2 = (1.0 + p) / (2.0 * p * p);
  matrix<T> x = matrix<T>::Identity(n, n) * T(std::pow(z, 1.0 / p)), m = T(z) * a, next, square;
  out.error = distance_to_identity(m);
  while (out.error > o.tolerance && out.iterations < o.max_iterations) {
    matrix<T> t = matrix<T>::Identity(n, n) - m;
    if (out.iterations == 0)
      t *= T(b1);
    else {
      symmetric_square_into(square, t, run);
      t = T(b1) * t + T(b2) * square;
    }
    t.diagonal().array() += T(1);
    commuting_product_into(next, symmetric_power(t, p, run), m, run);
    m.swap(next);
    const double error = distance_to_identity(m);
    if (std::isnan(error) || (out.iterations > 0 && error > 1.2 * out.error)) break;
    commuting_product_into(next, x, t, run);
    x.swap(next);
    ++out.iterations;
    const bool stagnates = out.iterations > 1 && error >= out.error && error < 1e-3;
    out.error = error;
    if (stagnates) break;
  }
  const matrix<T> power = symmetric_power(x, p, run);
  commuting_product_into(next, a, power, run);
  out.error = distance_to_identity(next);
  out.root = symmetric_power(x, q, run);
  out.ok = out.root.allFinite() && out.error < 0.1;
  return out;
}

}  // namespace detail

/// A^(-e) for a symmetric positive semidefinite `a` (n x n) and e > 0. The matrix is scaled to entries of at
/// most 1 for the product methods, so 1e-30 and 1e30 sized input is fine; the zero matrix gives epsilon^-e I
/// (zero for pseudo_inverse). Never throws on numbers: see `ok`. The result is exactly symmetric. \throws
/// error when `a` is not square, e <= 0, or the method cannot do that exponent.
template <class T>
root_result<T> inverse_root(const matrix<T>& a, double e, const root_options& o = {},
                            const executor& run = {}) {
  expects(a.rows() == a.cols(), "inverse_root: a must be square, is {} x {}", a.rows(), a.cols());
  expects(e > 0, "inverse_root: exponent must be > 0, is {}", e);
  if (o.method == root_method::eigen || o.method == root_method::pseudo_inverse) {
    expects(o.method == root_method::eigen || o.epsilon == 0,
            "inverse_root: pseudo_inverse needs epsilon 0, is {}", o.epsilon);
    return detail::root_by_eigen(a, e, o, run);
  }
  const auto [q, p] = detail::as_fraction(e);
  expects(p > 0 && (q == 1 || o.method == root_method::higher_order),
          "inverse_root: {} cannot do the exponent {}",
          names_of(std::type_identity<root_method>{})[std::size_t(o.method)], e);
  if (a.size() == 0) return {a, true};
  const double rows =
      double(a.cwiseAbs().rowwise().sum().template maxCoeff<Eigen::PropagateNaN>());  // infinity norm
  if (!std::isfinite(rows)) return {};
  const double epsilon = std::max(o.epsilon, o.relative_epsilon * rows), top = rows + epsilon;
  if (!(top > 0)) return {};
  matrix<T> scaled = a.unaryExpr([top](T v) { return T(double(v) / top); });
  scaled.diagonal().array() += T(epsilon / top);
  root_result<T> out = o.method == root_method::coupled_newton
                           ? detail::root_by_newton(scaled, p, o, run)
                           : detail::root_by_higher_order(scaled, q, p, o, run);
  out.root *= T(std::pow(top, -e));
  out.ok = out.ok && out.root.allFinite();
  return out;
}

}  // namespace quench::inline QUENCH_ISA
