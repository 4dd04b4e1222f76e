#pragma once
/// \file  The factors of one Shampoo block and how they act: inverse roots (Gupta et al. 2018), or Adam's
/// moments in their eigenbasis (eigenvalue-corrected Shampoo, George et al. 2018; SOAP), with the KL
/// statistics of Lin et al. 2025.
#include <quench/linalg/basis.hpp>
#include <quench/linalg/inverse_root.hpp>

#include <string>
#include <vector>

namespace quench::inline QUENCH_ISA {

/// How a block's factors are used.
enum class shampoo_form {
  root,          ///< P = L^-e M R^-e
  eigenvalue,    ///< Adam's second moment in the eigenbasis, recomputed by eigendecomposition when due
  eigenvalue_qr  ///< the same, the basis refreshed by one QR of Q^T A Q
};
constexpr auto names_of(std::type_identity<shampoo_form>) {
  return std::array<std::string_view, 3>{"root", "eigenvalue", "eigenvalue_qr"};
}

/// A block of the (reshaped) parameter; `l`, `r` are 0 x 0 for a side without a factor.
template <class T>
struct shampoo_block {
  index row = 0, col = 0, rows = 0, cols = 0;
  matrix<T> l, r, left, right;  ///< factors; their inverse roots or eigenvectors (the identity at first)
  matrix<T> v;                  ///< eigenvalue forms: second moment in the basis

  void entries(const std::string& prefix, auto&& f) {
    f(prefix + "L", l), f(prefix + "R", r), f(prefix + "left", left), f(prefix + "right", right),
        f(prefix + "v", v);
  }
  template <class M>
  auto of(const M& m) const {
    return m.block(row, col, rows, cols);
  }
};

struct shampoo_factors {
  shampoo_form form = shampoo_form::root;
  root_options root{.epsilon = 1e-12, .relative_epsilon = 1e-7};
  double exponent_1d = -1, exponent_rows = -1, exponent_cols = -1;
  bool kl = false;             ///< statistics of the gradient preconditioned on the other side
  bool trace_scaling = false;  ///< factors are divided by the square root of their trace before the root
  bool unweighted = false;     ///< statistics are added with weight 1 instead of 1 - beta2
  double eps = 1e-8;           ///< of the eigenvalue forms' denominator

  static void settings(auto& r, auto&& f) {
    f("form", r.form), f("root", r.root.method), f("epsilon", r.root.epsilon),
        f("relative_epsilon", r.root.relative_epsilon);
    f("perturb_before", r.root.perturb_before), f("root_tolerance", r.root.tolerance),
        f("root_iterations", r.root.max_iterations);
    f("exponent_1d", r.exponent_1d), f("exponent_rows", r.exponent_rows), f("exponent_cols", r.exponent_cols),
        f("kl", r.kl);
    f("trace_scaling", r.trace_scaling), f("unweighted", r.unweighted), f("eps", r.eps);
  }

  /// `line`: the block belongs to a vector.
  template <class T>
  shampoo_block<T> make_block(index row, index col, index m, index n, bool line) const {
    shampoo_block<T> b{row, col, m, n, {}, {}, {}, {}, {}};
    if (exponent_left(line) != 0) b.l = matrix<T>::Zero(m, m), b.left = matrix<T>::Identity(m, m);
    if (!line && exponent_right() != 0) b.r = matrix<T>::Zero(n, n), b.right = matrix<T>::Identity(n, n);
    if (form != shampoo_form::root) b.v = matrix<T>::Zero(m, n);
    return b;
  }

  /// Adds the gradient to the factors and, when `due`, recomputes roots or bases from the factors over
  /// `unbias`. Returns false when any of those had to keep its previous value.
  template <class T>
  bool accumulate(shampoo_block<T>& b, const matrix<T>& g, double beta2, double unbias, bool due,
                  const executor& run) const {
    const double weight = beta2 == 1 || unweighted ? 1 : 1 - beta2;
    matrix<T> outer, other;
    const bool line = b.r.size() == 0 && b.cols == 1;
    if (b.l.size() > 0) {
      if (kl && b.right.size() > 0) multiply_into(other, g, b.right, run);
      gram_into(outer, kl && b.right.size() > 0 ? other : g, run);
      b.l = T(beta2) * b.l + T(weight) * outer;
    }
    if (b.r.size() > 0) {
      if (kl && b.left.size() > 0) multiply_into(other, b.left, g, run);
      gram_into(outer, (kl && b.left.size() > 0 ? other : g).transpose(), run);
      b.r = T(beta2) * b.r + T(weight) * outer;
    }
    bool ok = true;
    if (due) {
      ok = refresh(b.left, b.l, exponent_left(line), unbias, run) && ok;
      ok = refresh(b.right, b.r, exponent_right(), unbias, run) && ok;
    }
    if (form != shampoo_form::root) {
      const matrix<T> rotated = rotate(b, g, true, run);
      b.v = T(beta2) * b.v + T(weight) * rotated.cwiseAbs2();
    }
    return ok;
  }

  /// The preconditioned direction.
  template <class T>
  matrix<T> precondition(const shampoo_block<T>& b, const matrix<T>& d, double unbias,
                         const executor& run) const {
    if (form == shampoo_form::root) {
      matrix<T> u = d, next;
      if (b.left.size() > 0) multiply_into(next, b.left, u, run), u.swap(next);
      if (b.right.size() > 0) multiply_into(next, u, b.right, run), u.swap(next);
      return u;
    }
    const matrix<T> u = rotate(b, d, true, run);
    return rotate<T>(b, (u.array() / ((b.v.array() / T(unbias)).sqrt() + T(eps))).matrix(), false, run);
  }

 private:
  double exponent_left(bool line) const {
    const double e = line ? exponent_1d : exponent_rows;
    return e >= 0 ? e : line ? 0.5 : 0.25;
  }
  double exponent_right() const { return exponent_cols >= 0 ? exponent_cols : 0.25; }

  template <class T>
  static matrix<T> rotate(const shampoo_block<T>& b, matrix<T> g, bool into, const executor& run) {
    matrix<T> next;
    if (b.left.size() > 0) {
      if (into)
        multiply_into(next, b.left.transpose(), g, run);
      else
        multiply_into(next, b.left, g, run);
      g.swap(next);
    }
    if (b.right.size() > 0) {
      if (into)
        multiply_into(next, g, b.right, run);
      else
        multiply_into(next, g, b.right.transpose(), run);
      g.swap(next);
    }
    return g;
  }

  template <class T>
  bool refresh(matrix<T>& out, const matrix<T>& factor, double exponent, double unbias,
               const executor& run) const {
    if (factor.size() == 0) return true;
    matrix<T> a = factor / T(unbias);
    if (trace_scaling) a *= T(1 / std::sqrt(std::max(double(a.trace()), root.epsilon)));
    if (form == shampoo_form::root) {
      root_result<T> r = inverse_root(a, exponent, root, run);
      if (r.ok) out.swap(r.root);
      return r.ok;
    }
    a.diagonal().array() += T(root.epsilon);
    if (form == shampoo_form::eigenvalue) {
      eigen_system<T> e = symmetric_eigen(a);
      if (e.ok) out.swap(e.vectors);
      return e.ok;
    }
    if (!a.allFinite()) return false;
    matrix<T> b, product;
    multiply_into(product, a, out, run);
    multiply_into(b, out.transpose(), product, run);
    const matrix<T> q = orthonormal_factor(b);
    multiply_into(product, b, q, run);
    multiply_into(b, q.transpose(), product, run);  // r q
    multiply_into(product, out, q, run);
    if (!product.allFinite()) return false;
    out = columns(product, sorted_order(b.diagonal(), false));
    return true;
  }
};

}  // namespace quench::inline QUENCH_ISA
