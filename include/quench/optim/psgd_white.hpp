#pragma once
/// \file  PSGD's Kronecker whitening with the solver-free geometries (Li 2025, psgd_torch's KronWhiten):
/// factors Q of P = Q^T Q, or P itself, fitted so that E[(P g)(P g)^T] = I, by products only.
#include <quench/linalg/power_iteration.hpp>
#include <quench/linalg/product.hpp>
#include <quench/optim/noise.hpp>
#include <quench/optim/rule.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace quench::inline QUENCH_ISA {

/// How a factor moves for a gradient E: dQ.
enum class psgd_geometry {
  q0p5eq1p5,  ///< Q^0.5 E Q^1.5, Q kept near symmetric by one Procrustes rotation (default)
  qeq,        ///< Q E Q
  quad,       ///< quadratic form, Q symmetric
  qep,        ///< Q E P, balanced at every fit
  eq,         ///< E Q, triangular (the older Lie group, as psgd.hpp)
  pro4p,      ///< P^0.5 E P on P itself, up to ten Procrustes rotations
  quad4p      ///< quadratic form on P itself
};
constexpr auto names_of(std::type_identity<psgd_geometry>) {
  return std::array<std::string_view, 7>{"q0p5eq1p5", "qeq", "quad", "qep", "eq", "pro4p", "quad4p"};
}

/// Momentum is a running mean first, m <- b m + (1 - b) g with b = min(k / (k + 1), momentum). The step is P
/// m (or P g), its root mean square at most `max_rms`, entries at most `max_entry`. A side of d has a dense
/// factor when 1 < d and d^2 <= max_skew * size, else a diagonal one. `init_scale` <= 0 takes it from the
/// first gradients of all parameters, (max mean g^4 + damping^4)^(-1/8). Weight decay is decoupled. State:
/// momentum (when used), d^2 or d numbers a side, two bounds. NaN gives NaN.
struct psgd_white {
  static constexpr std::string_view name = "psgd_white";
  double lr = 1e-3, momentum = 0.9, weight_decay = 0, precond_lr = 0.1, init_scale = 0, max_skew = 1,
         bound_decay = 0.9;
  double damping = 1e-9, max_rms = 2, max_entry = 10, update_probability = 1, balance_probability = 0.01;
  psgd_geometry geometry = psgd_geometry::q0p5eq1p5;
  bool fit_first = true, whiten_momentum = false;
  probe_noise noise = {};

  template <class T>
  struct state {
    matrix<T> m, ql, qr;  ///< momentum; factors, d x d or d x 1 (qr 0 x 0 for vectors)
    double bound_l = 0, bound_r = 0;
    std::int64_t due = 0;  ///< whether this step fits
    void entries(auto&& f) {
      f("m", m), f("QL", ql), f("QR", qr), f("bound_l", bound_l), f("bound_r", bound_r), f("due", due);
    }
  };
  static void settings(auto& r, auto&& f) {
    f("lr", r.lr), f("momentum", r.momentum), f("weight_decay", r.weight_decay),
        f("precond_lr", r.precond_lr);
    f("init_scale", r.init_scale), f("max_skew", r.max_skew), f("bound_decay", r.bound_decay),
        f("damping", r.damping);
    f("max_rms", r.max_rms), f("max_entry", r.max_entry), f("update_probability", r.update_probability);
    f("balance_probability", r.balance_probability), f("geometry", r.geometry), f("fit_first", r.fit_first);
    f("whiten_momentum", r.whiten_momentum), f("seed", r.noise.seed);
  }

  template <class T>
  state<T> init(const basic_param<T>& p) const {
    const auto [m, n, left, right] = plan(p);
    const T scale = T(init_scale > 0 ? spread(init_scale, n) : 1);
    const auto factor = [&](bool dense, index d) -> matrix<T> {
      if (dense) return scale * matrix<T>::Identity(d, d);
      return matrix<T>::Constant(d, 1, scale);
    };
    return {momentum > 0 ? detail::zeros_like(p) : matrix<T>(), factor(left, m),
            n == 1 ? matrix<T>() : factor(right, n)};
  }

  /// Decides for all parameters whether this step fits, and sets the first scale.
  template <class T>
  void begin(const std::vector<const basic_param<T>*>& all, const std::vector<state<T>*>& states,
             step_info t) const {
    const bool due = noise.chance("update", t.step, 0) < update_probability;
    double fourth = 0;
    for (const auto* p : all)
      if (p->grad.size() > 0) fourth = std::max(fourth, double(p->grad.array().square().square().mean()));
    const double scale = std::pow(fourth + std::pow(damping, 4), -0.125);
    for (std::size_t i = 0; i < states.size(); ++i) {
      states[i]->due = due;
      if (t.step > 1 || init_scale > 0) continue;
      const T each = T(spread(scale, states[i]->qr.size() == 0 ? 1 : 2));
      states[i]->ql *= each, states[i]->qr *= each;
    }
  }

  template <class T>
  void update(basic_param<T>& p, state<T>& s, step_info t) const {
    if (p.value.size() == 0) return;
    const auto [m, n, left, right] = plan(p);
    if (momentum > 0) {
      const double k = double(t.step) - 1, b = std::min(k / (1 + k), momentum);
      s.m = T(b) * s.m + T(1 - b) * p.grad;
    }
    const Eigen::Map<const matrix<T>> g(p.grad.data(), m, n),
        steered((momentum > 0 ? s.m : p.grad).data(), m, n);
    const auto fit_now = [&, left = left, right = right] { fit(p, s, matrix<T>(whiten_momentum ? steered : g), left, right, t); };
    if (s.due && fit_first) fit_now();
    matrix<T> u = act<T>(s, steered, left, right, false, t.run());
    if (!fits_p()) u = act(s, u, left, right, true, t.run());
    if (s.due && !fit_first) fit_now();
    const T rms = u.norm() / T(std::sqrt(double(u.size())));
    if (rms > T(max_rms)) u *= T(max_rms) / rms;
    u = u.unaryExpr([top = T(max_entry)](T x) { return x > top ? top : x < -top ? -top : x; });
    const double rate = lr * t.scale;
    Eigen::Map<matrix<T>> w(p.value.data(), m, n);
    w = T(1 - rate * weight_decay) * w - T(rate) * u;
  }

 private:
  struct layout {
    index m, n;
    bool left, right;
  };
  template <class T>
  layout plan(const basic_param<T>& p) const {
    index m = p.value.rows(), n = p.value.cols();
    if (m == 1 || n == 1) m *= n, n = 1;
    const auto dense = [&](index d) {
      return d > 1 && double(d) * double(d) <= max_skew * double(m) * double(n);
    };
    return {m, n, dense(m), dense(n)};
  }
  bool fits_p() const { return geometry == psgd_geometry::pro4p || geometry == psgd_geometry::quad4p; }
  double spread(double scale, index sides) const {
    return std::pow(fits_p() ? scale * scale : scale, sides == 1 ? 1.0 : 0.5);
  }

  template <class T>
  static matrix<T> act(const state<T>& s, matrix<T> x, bool left, bool right, bool transpose,
                       const executor& run) {
    matrix<T> out;
    if (!left)
      x.array().colwise() *= s.ql.col(0).array();
    else
      multiply_into(out, transpose ? matrix<T>(s.ql.transpose()) : s.ql, x, run), x.swap(out);
    if (s.qr.size() == 0) return x;
    if (!right)
      x.array().rowwise() *= s.qr.col(0).array().transpose();
    else
      multiply_into(out, x, transpose ? s.qr : matrix<T>(s.qr.transpose()), run), x.swap(out);
    return x;
  }
  template <class T>
  static void balance(state<T>& s) {
    if (s.qr.size() == 0) return;
    const T a = s.ql.cwiseAbs().maxCoeff(), b = s.qr.cwiseAbs().maxCoeff(), mean = std::sqrt(a * b);
    if (!(a > T(0)) || !(b > T(0))) return;
    s.ql *= mean / a, s.qr *= mean / b;
  }

  template <class T>
  void fit(const basic_param<T>& p, state<T>& s, const matrix<T>& g, bool left, bool right,
           step_info t) const {
    std::uint64_t drawn = 1;
    const auto probe = [&](index rows, index cols) {
      return noise.draw<T>(rows, cols, p.name, t.step, drawn++);
    };
    if (geometry == psgd_geometry::qep) balance(s);
    const matrix<T> v = probe(g.rows(), g.cols());
    const matrix<T> x =
        g.array() + (T(damping) + std::numeric_limits<T>::epsilon() * g.array().abs()) * v.array();
    matrix<T> a = act(s, x, left, right, false, t.run()), b;
    if (geometry == psgd_geometry::eq) {
      b = v;
      if (left)
        b = s.ql.transpose().template triangularView<Eigen::Lower>().solve(b).eval();
      else
        b.array().colwise() /= s.ql.col(0).array();
      if (right)
        b = s.qr.template triangularView<Eigen::Upper>().template solve<Eigen::OnTheRight>(b).eval();
      else if (s.qr.size() > 0)
        b.array().rowwise() /= s.qr.col(0).array().transpose();
    } else if (!fits_p()) {
      a = act(s, a, left, right, true, t.run());
    }
    move(s.ql, s.bound_l, a, b, left, probe, t.run());
    if (s.qr.size() > 0) move<T>(s.qr, s.bound_r, a.transpose(), b.transpose(), right, probe, t.run());
    if (geometry != psgd_geometry::qep && noise.chance(p.name, t.step, 0) < balance_probability) balance(s);
  }

  /// One side: a = P g with this side as rows (b = Q^-T v for eq).
  template <class T>
  void move(matrix<T>& q, double& bound, matrix<T> a, const matrix<T>& b, bool dense, auto&& probe,
            const executor& run) const {
    using array = Eigen::Array<T, Eigen::Dynamic, 1>;
    const index d = a.rows();
    const T share = T(double(a.size()) / double(d));
    const bool eq = geometry == psgd_geometry::eq, qep = geometry == psgd_geometry::qep;
    const bool square = geometry == psgd_geometry::quad || geometry == psgd_geometry::quad4p;
    const double rate = precond_lr * (geometry == psgd_geometry::quad ? 0.5 : 1.0);
    const auto step = [&](T size) {
      bound = std::max(bound_decay * bound + (1 - bound_decay) * double(size), double(size));
      return T(bound > 0 ? rate / bound : 0);
    };
    if (!dense) {
      if (qep) a.array().colwise() *= q.col(0).array();
      const array t1 = a.rowwise().squaredNorm();
      array t2 = array::Constant(d, share);
      if (eq) t2 = b.rowwise().squaredNorm();
      if (qep) t2 = share * q.col(0).array().square();
      const array gain = T(1) - step((t1 + t2).maxCoeff()) * (t1 - t2);
      q.array().col(0) *= square ? array(gain * gain) : gain;
      return;
    }
    matrix<T> t1, t2, product, next;
    const auto size_of = [&](const matrix<T>& m) {
      return spectral_norm_bound<T>(m, probe(32, d), m.diagonal().maxCoeff());
    };
    if (eq || qep) {
      if (qep) multiply_into(product, q, a, run), a.swap(product);
      gram_into(t1, a, run);
      gram_into(t2, eq ? b : q, run);
      if (qep) t2 *= share;
      const T r = step(size_of(t1 + t2));
      t1 = r * (t1 - t2);
      if (eq) t1.template triangularView<Eigen::StrictlyLower>().setZero();
      multiply_into(product, t1, q, run);
      q -= product;
      return;
    }
    gram_into(t1, a, run);
    const T r = step(size_of(t1) + share);
    if (geometry == psgd_geometry::qeq) {
      multiply_into(product, q, t1, run);
      q -= r * (product - share * q);
      return;
    }
    multiply_into(product, t1, q, run);
    next = q - r * (product - share * q);
    q.swap(next);
    if (square) {
      multiply_into(product, q, t1, run);
      next = q - r * (product - share * q);
      q = (next + next.transpose()) / T(2);
      return;
    }
    for (int k = 0; k < (geometry == psgd_geometry::pro4p ? 10 : 1); ++k) {
      const matrix<T> skew = q.transpose() - q;
      rotate(q, skew, spectral_norm_bound<T>(skew, probe(32, d), skew.cwiseAbs().maxCoeff()), run);
      if ((q.transpose() - q).cwiseAbs().maxCoeff() < T(0.001) * q.cwiseAbs().maxCoeff()) break;
    }
  }

  /// Turns q towards symmetry, q <- exp(a R) q with R = q^T - q of norm 1: second order with a <= 1/8, third
  /// with a <= 1/3.
  template <class T>
  void rotate(matrix<T>& q, const matrix<T>& skew, T norm, const executor& run) const {
    const matrix<T> r = skew / (norm + std::numeric_limits<T>::min());
    matrix<T> rq, rrq, rrrq;
    multiply_into(rq, r, q, run), multiply_into(rrq, r, rq, run);
    const T one = rq.trace(), two = rrq.trace();
    if (geometry != psgd_geometry::pro4p) {
      const T a = two < T(0) ? std::min(-one / two, T(0.125)) : T(0.125);
      q += a * (rq + T(0.5) * a * rrq);
      return;
    }
    multiply_into(rrrq, r, rrq, run);
    const T three = rrrq.trace();
    if (!(one > T(0)) || !(three < T(0))) return;
    const T a =
        std::min((-two - std::sqrt(two * two - T(1.5) * one * three)) / (T(0.75) * three), T(1.0 / 3));
    q += a * (rq + T(0.5) * a * (rrq + T(0.25) * a * rrrq));
  }
};

}  // namespace quench::inline QUENCH_ISA
