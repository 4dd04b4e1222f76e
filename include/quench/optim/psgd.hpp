#pragma once
/// \file  PSGD Kron (Li 2018, 2024, arXiv 1512.04202, 2402.04553; form of kron_torch): P = QL^T QL M QR^T QR
/// with triangular Q fitted on a Lie group so that P whitens the momentum; fitted by a probe v ~ N(0, I).
#include <quench/linalg/power_iteration.hpp>
#include <quench/linalg/product.hpp>
#include <quench/optim/noise.hpp>
#include <quench/optim/rule.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace quench::inline QUENCH_ISA {

/// Which sides keep a diagonal factor to save memory.
enum class psgd_memory { none, one_diagonal, smart_one_diagonal, all_diagonal };
constexpr auto names_of(std::type_identity<psgd_memory>) {
  return std::array<std::string_view, 4>{"none", "one_diagonal", "smart_one_diagonal", "all_diagonal"};
}

/// m <- beta1 m + (1 - beta1) g, bias-corrected; on fitting steps, X = m plus a little noise, A = QL X QR^T
/// and B = QL^-T V QR^-1 give Q <- Q - rate triu(A A^T - B B^T) / bound(A A^T + B B^T) Q on each side; the
/// step is P m, its root mean square at most 1.1. Weight decay is added to the step of matrices only. A side
/// has a triangular factor unless it is 1, longer than `max_dim`, or of a vector (`min_ndim` 2), or `memory`
/// says so. Fits happen at every step for the first 500, then less often down to one in 33;
/// `update_probability` > 0 fixes the rate. `noisy_step` lets the fitting noise into the step, as
/// kron_torch's in-place addition does. State: one matrix and m^2 + n^2 (or a vector for a diagonal side).
/// NaN gives NaN.
struct psgd {
  static constexpr std::string_view name = "psgd";
  double lr = 3e-4, beta1 = 0.9, weight_decay = 0, precond_lr = 0.1, init_scale = 1, update_probability = 0;
  double balance_probability = 0.01, max_rms = 1.1,
         noise_scale = 3.4526698300124393e-4;  // sqrt of float's epsilon
  index max_dim = 8192;
  int min_ndim = 2;
  psgd_memory memory = psgd_memory::none;
  bool fit_momentum = true, noisy_step = false;
  probe_noise noise = {};

  template <class T>
  struct state {
    matrix<T> m, ql,
        qr;  ///< momentum; factors, d x d upper triangular or d x 1 diagonal (qr 0 x 0 for vectors)
    std::int64_t counter = 0;  ///< steps since the last fit
    void entries(auto&& f) { f("m", m), f("QL", ql), f("QR", qr), f("counter", counter); }
  };
  static void settings(auto& r, auto&& f) {
    f("lr", r.lr), f("beta1", r.beta1), f("weight_decay", r.weight_decay), f("precond_lr", r.precond_lr);
    f("init_scale", r.init_scale), f("update_probability", r.update_probability),
        f("balance_probability", r.balance_probability);
    f("max_rms", r.max_rms), f("noise_scale", r.noise_scale), f("max_dim", r.max_dim),
        f("min_ndim", r.min_ndim);
    f("memory", r.memory), f("fit_momentum", r.fit_momentum), f("noisy_step", r.noisy_step),
        f("seed", r.noise.seed);
  }

  template <class T>
  state<T> init(const basic_param<T>& p) const {
    const auto [m, n, left, right] = plan(p);
    const bool line = n == 1;
    const T scale = T(line ? init_scale : std::sqrt(init_scale));
    const auto factor = [&](bool dense, index d) -> matrix<T> {
      if (dense) return scale * matrix<T>::Identity(d, d);
      return matrix<T>::Constant(d, 1, scale);
    };
    return {detail::zeros_like(p), factor(left, m), line ? matrix<T>() : factor(right, n)};
  }

  template <class T>
  void update(basic_param<T>& p, state<T>& s, step_info t) const {
    if (p.value.size() == 0) return;
    const auto [m, n, left, right] = plan(p);
    const double k = double(t.step);
    s.m = T(beta1) * s.m + T(1 - beta1) * p.grad;
    matrix<T> momentum = s.m / T(1 - std::pow(beta1, k));
    const double probability =
        update_probability > 0 ? update_probability : std::clamp(std::exp(-0.001 * (k - 1 - 500)), 0.03, 1.0);
    if (double(++s.counter) >= 1 / probability) {
      s.counter = 0;
      if (s.qr.size() > 0 && balance_probability > 0 &&
          noise.chance("balance", t.step, 0) < balance_probability)
        balance(s);
      matrix<T> x = Eigen::Map<const matrix<T>>((fit_momentum ? momentum : p.grad).data(), m, n);
      const matrix<T> v = noise.draw<T>(m, n, p.name, t.step, 1);
      x += T(noise_scale) * x.cwiseAbs().mean() * v;
      if (noisy_step && fit_momentum)
        momentum = Eigen::Map<const matrix<T>>(x.data(), momentum.rows(), momentum.cols());
      fit(s, x, v, left, right, t.run());
    }
    matrix<T> u = Eigen::Map<const matrix<T>>(momentum.data(), m, n);
    for (bool transpose : {false, true}) u = act(s, u, left, right, transpose, t.run());
    const T rms = u.norm() / T(std::sqrt(double(u.size())));
    u *= std::min(T(1), T(max_rms) / (rms + T(1e-12)));
    const double rate = lr * t.scale;
    Eigen::Map<matrix<T>> w(p.value.data(), m, n);
    if (s.qr.size() > 0) w *= T(1 - rate * weight_decay);
    w -= T(rate) * u;
  }

 private:
  struct layout {
    index m, n;
    bool left, right;
  };
  /// Working shape (vectors are one column) and which sides are triangular.
  template <class T>
  layout plan(const basic_param<T>& p) const {
    index m = p.value.rows(), n = p.value.cols();
    const bool line = m == 1 || n == 1;
    if (line) m *= n, n = 1;
    const auto dense = [&](index d) { return d > 1 && d <= max_dim && (line ? 1 : 2) >= min_ndim; };
    const bool saves =
        memory == psgd_memory::one_diagonal || (memory == psgd_memory::smart_one_diagonal && m != n);
    const bool none = memory == psgd_memory::all_diagonal, left_longer = m > n;
    return {m, n, dense(m) && !none && !(saves && (left_longer || line)),
            dense(n) && !none && !(saves && !left_longer)};
  }
  /// QL x QR^T, or QL^T x QR.
  template <class T>
  static matrix<T> act(const state<T>& s, matrix<T> x, bool left, bool right, bool transpose,
                       const executor& run) {
    matrix<T> out;
    if (!left)
      x.array().colwise() *= s.ql.col(0).array();
    else {
      if (transpose)
        multiply_into(out, s.ql.transpose(), x, run);
      else
        multiply_into(out, s.ql, x, run);
      x.swap(out);
    }
    if (s.qr.size() == 0) return x;
    if (!right)
      x.array().rowwise() *= s.qr.col(0).array().transpose();
    else {
      if (transpose)
        multiply_into(out, x, s.qr, run);
      else
        multiply_into(out, x, s.qr.transpose(), run);
      x.swap(out);
    }
    return x;
  }
  template <class T>
  static void balance(state<T>& s) {
    const T a = s.ql.cwiseAbs().maxCoeff(), b = s.qr.cwiseAbs().maxCoeff(), mean = std::sqrt(a * b);
    if (!(a > T(0)) || !(b > T(0))) return;
    s.ql *= mean / a, s.qr *= mean / b;
  }
  template <class T>
  void fit(state<T>& s, const matrix<T>& x, matrix<T> b, bool left, bool right, const executor& run) const {
    const matrix<T> a = act(s, x, left, right, false, run);
    if (left)
      b = s.ql.transpose().template triangularView<Eigen::Lower>().solve(b).eval();
    else
      b.array().colwise() /= s.ql.col(0).array();
    if (right)
      b = s.qr.template triangularView<Eigen::Upper>().template solve<Eigen::OnTheRight>(b).eval();
    else if (s.qr.size() > 0)
      b.array().rowwise() /= s.qr.col(0).array().transpose();
    follow(s.ql, a, b, left, run);
    if (s.qr.size() > 0) follow<T>(s.qr, a.transpose(), b.transpose(), right, run);
  }
  template <class T>
  void follow(matrix<T>& q, const matrix<T>& a, const matrix<T>& b, bool dense, const executor& run) const {
    const T tiny = std::numeric_limits<T>::min(), rate = T(precond_lr);
    if (!dense) {
      const Eigen::Array<T, Eigen::Dynamic, 1> t1 = a.rowwise().squaredNorm(), t2 = b.rowwise().squaredNorm();
      q.array().col(0) -= rate / std::max((t1 + t2).maxCoeff(), tiny) * (t1 - t2) * q.array().col(0);
      return;
    }
    matrix<T> t1, t2, product;
    gram_into(t1, a, run), gram_into(t2, b, run);
    const T bound = std::max(spectral_norm_bound<T>(t1 + t2), tiny);
    t1 = (t1 - t2) * (rate / bound);
    t1.template triangularView<Eigen::StrictlyLower>().setZero();
    multiply_into(product, t1, q, run);
    q -= product;
  }
};

}  // namespace quench::inline QUENCH_ISA
