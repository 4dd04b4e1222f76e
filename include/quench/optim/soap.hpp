#pragma once
/// \file  SOAP (Vyas et al. 2024, arXiv 2409.11321): Adam in the slowly refreshed eigenbasis of Shampoo's
/// factors.
#include <quench/linalg/basis.hpp>
#include <quench/optim/rule.hpp>

#include <cmath>

namespace quench::inline QUENCH_ISA {

/// L <- lerp(L, G G^T), R likewise; G' = QL^T G QR; m, v are Adam's moments of G' (v lives in that basis and
/// is permuted, never rotated, when it is refreshed); w -= lr QL (m / (sqrt(v) + eps)) QR^T, bias-corrected;
/// then w -= lr decay w. The first call only takes the factors and their eigenvectors and leaves the
/// parameters alone: a basis made of the same gradient would let Adam divide rounding noise by itself.
/// `count_skipped` counts it in the bias correction (pytorch_optimizer). A side longer than `max_dim` keeps
/// no factor; tensors with a side of 1 take plain Adam unless `precondition_1d`; `merge` treats a matrix of
/// at most max_dim entries as one vector. State: two matrices like the parameter and two n x n for each side
/// with a factor. NaN gives NaN in the parameter and leaves the basis as it was.
struct soap {
  static constexpr std::string_view name = "soap";
  double lr = 3e-3, beta1 = 0.95, beta2 = 0.95, shampoo_beta = -1, eps = 1e-8,
         weight_decay = 0.01;  // -1: beta2
  index frequency = 10, max_dim = 10000;
  bool precondition_1d = false, merge = false, normalize = false, bias_correction = true,
       count_skipped = false;

  template <class T>
  struct state {
    matrix<T> m, v, l, r, ql,
        qr;  ///< m and v in the current basis; factors and bases, 0 x 0 where a side has none
    void entries(auto&& f) { f("m", m), f("v", v), f("L", l), f("R", r), f("QL", ql), f("QR", qr); }
  };
  static void settings(auto& s, auto&& f) {
    f("lr", s.lr), f("beta1", s.beta1), f("beta2", s.beta2), f("shampoo_beta", s.shampoo_beta),
        f("eps", s.eps);
    f("weight_decay", s.weight_decay), f("frequency", s.frequency), f("max_dim", s.max_dim);
    f("precondition_1d", s.precondition_1d), f("merge", s.merge), f("normalize", s.normalize);
    f("bias_correction", s.bias_correction), f("count_skipped", s.count_skipped);
  }

  template <class T>
  state<T> init(const basic_param<T>& p) const {
    expects(frequency >= 1, "soap: frequency must be at least 1, is {}", frequency);
    index m = p.value.rows(), n = p.value.cols();
    const bool line = m == 1 || n == 1;
    if (line || (merge && m * n <= max_dim)) m = m * n, n = 1;
    const bool left = m > 1 && m <= max_dim && (!line || precondition_1d), right = n > 1 && n <= max_dim;
    const matrix<T> zero = matrix<T>::Zero(m, n);
    const auto square = [](bool used, index d) {
      return used ? matrix<T>(matrix<T>::Zero(d, d)) : matrix<T>();
    };
    return {zero, zero, square(left, m), square(right, n), square(left, m), square(right, n)};
  }

  template <class T>
  void update(basic_param<T>& p, state<T>& s, step_info t) const {
    const Eigen::Map<const matrix<T>> view(p.grad.data(), s.m.rows(), s.m.cols());
    const matrix<T> g = view;
    const double sb = shampoo_beta < 0 ? beta2 : shampoo_beta;
    if (t.step == 1) {
      accumulate(s, g, sb, t.run());
      start_basis(s.ql, s.l);
      start_basis(s.qr, s.r);
      return;
    }
    const matrix<T> rotated = into_basis(s, g, t.run());
    const double k = double(count_skipped ? t.step : t.step - 1);
    s.m = T(beta1) * s.m + T(1 - beta1) * rotated;
    s.v = T(beta2) * s.v + T(1 - beta2) * rotated.cwiseAbs2();
    matrix<T> u = from_basis<T>(s, (s.m.array() / (s.v.array().sqrt() + T(eps))).matrix(), t.run());
    if (normalize) u /= T(1e-30) + u.norm() / T(std::sqrt(double(u.size())));
    const double rate = lr * t.scale,
                 step = bias_correction ? rate * std::sqrt(1 - std::pow(beta2, k)) / (1 - std::pow(beta1, k))
                                        : rate;
    Eigen::Map<matrix<T>> w(p.value.data(), s.m.rows(), s.m.cols());
    w -= T(step) * u;
    w *= T(1 - rate * weight_decay);
    accumulate(s, g, sb, t.run());
    if ((t.step - 1) % frequency == 0) refresh(s, t.run());
  }

 private:
  template <class T>
  static void accumulate(state<T>& s, const matrix<T>& g, double beta, const executor& run) {
    matrix<T> outer;
    if (s.l.size() > 0) gram_into(outer, g, run), s.l += T(1 - beta) * (outer - s.l);
    if (s.r.size() > 0) gram_into(outer, g.transpose(), run), s.r += T(1 - beta) * (outer - s.r);
  }
  /// Eigenvectors, largest eigenvalue first; the identity when there are none to be had.
  template <class T>
  static void start_basis(matrix<T>& q, const matrix<T>& factor) {
    if (factor.size() == 0) return;
    const eigen_system<T> e = symmetric_eigen(factor);
    if (e.ok)
      q = e.vectors.rowwise().reverse();
    else
      q.setIdentity();
  }
  template <class T>
  static matrix<T> into_basis(const state<T>& s, matrix<T> g, const executor& run) {
    matrix<T> out;
    if (s.ql.size() > 0) multiply_into(out, s.ql.transpose(), g, run), g.swap(out);
    if (s.qr.size() > 0) multiply_into(out, g, s.qr, run), g.swap(out);
    return g;
  }
  template <class T>
  static matrix<T> from_basis(const state<T>& s, matrix<T> g, const executor& run) {
    matrix<T> out;
    if (s.ql.size() > 0) multiply_into(out, s.ql, g, run), g.swap(out);
    if (s.qr.size() > 0) multiply_into(out, g, s.qr.transpose(), run), g.swap(out);
    return g;
  }
  template <class T>
  static void refresh(state<T>& s, const executor& run) {
    const matrix<T> plain = from_basis(s, s.m, run);
    if (s.l.size() > 0)
      if (const auto order = refresh_basis(s.ql, s.l, run); !order.empty()) s.v = rows(s.v, order);
    if (s.r.size() > 0)
      if (const auto order = refresh_basis(s.qr, s.r, run); !order.empty()) s.v = columns(s.v, order);
    s.m = into_basis(s, plain, run);
  }
};

}  // namespace quench::inline QUENCH_ISA
