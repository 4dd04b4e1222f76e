#pragma once
/// \file  Scion (Pethick et al. 2025, arXiv 2502.07529): momentum, then the steepest step in a norm chosen
/// per layer; constrained form w <- (1 - lr) w - lr lmo(d), or the unconstrained w <- w - lr lmo(d).
#include <quench/linalg/newton_schulz.hpp>
#include <quench/optim/rule.hpp>

#include <algorithm>

namespace quench::inline QUENCH_ISA {

/// The norm ball of the linear minimisation. m = rows = d_out, n = columns = d_in.
enum class scion_norm {
  automatic,  ///< bias_rms for tensors with a side of 1, spectral for the others
  spectral,   ///< polar factor * sqrt(m / n); `max_gain`: * max(1, sqrt(m / n)); not `normalized`: * sqrt(m)
  sign,       ///< sign(d) / n; not `normalized`: sign(d)
  column,     ///< columns divided by their root mean square; `normalized`: also by n
  row,        ///< rows divided by their length; `normalized`: and by sqrt(n)
  bias_rms    ///< divided by the root mean square over the rows (over everything when a side is 1)
};
constexpr auto names_of(std::type_identity<scion_norm>) {
  return std::array<std::string_view, 6>{"automatic", "spectral", "sign", "column", "row", "bias_rms"};
}

/// d <- momentum d + (1 - momentum) g; with `sum` (ScionLight) d <- momentum d + g, the same direction.
/// `transpose` takes the norm of d^T, for [vocabulary, d] tables. `kernel_area` k or k^2 makes `spectral` the
/// convolution form for weights flattened to [out, in * area]. Constrained: decay is lr itself.
/// `weight_decay` is extra and decoupled. State: one matrix (none for momentum 0). A zero gradient leaves
/// only the decay; NaN gives NaN.
struct scion {
  static constexpr std::string_view name = "scion";
  double lr = 1e-3, momentum = 0.9, scale = 1, weight_decay = 0;
  scion_norm norm = scion_norm::automatic;
  bool unconstrained = false, sum = false, transpose = false, max_gain = false;
  int normalized = -1;  ///< 1 yes, 0 no, -1 the norm's own: yes except for column
  double kernel_area = 1, norm_eps = 1e-8;
  polar_options polar = {};

  template <class T>
  struct state {
    matrix<T> d;  ///< shaped like the parameter
    void entries(auto&& f) { f("d", d); }
  };
  static void settings(auto& r, auto&& f) {
    f("lr", r.lr), f("momentum", r.momentum), f("scale", r.scale), f("weight_decay", r.weight_decay),
        f("norm", r.norm);
    f("unconstrained", r.unconstrained), f("sum", r.sum), f("transpose", r.transpose),
        f("max_gain", r.max_gain);
    f("normalized", r.normalized), f("kernel_area", r.kernel_area), f("norm_eps", r.norm_eps);
    f("method", r.polar.method), f("ns_steps", r.polar.steps), f("scaling", r.polar.scaling),
        f("eps", r.polar.eps);
  }

  template <class T>
  state<T> init(const basic_param<T>& p) const {
    return {momentum != 0 ? detail::zeros_like(p) : matrix<T>()};
  }
  template <class T>
  void update(basic_param<T>& p, state<T>& s, step_info t) const {
    if (p.value.size() == 0) return;
    matrix<T> u;
    if (momentum == 0)
      u = lmo(p.grad, t.run());
    else {
      if (sum)
        s.d += p.grad;
      else
        s.d = T(momentum) * s.d + T(1 - momentum) * p.grad;
      u = lmo(s.d, t.run());
      if (sum) s.d *= T(momentum);
    }
    const double rate = lr * t.scale;
    p.value *= T((unconstrained ? 1 : 1 - rate) * (1 - rate * weight_decay));
    p.value -= T(rate * scale) * u;
  }

  /// The steepest direction of length 1 in the norm, to be subtracted.
  template <class T>
  matrix<T> lmo(const matrix<T>& d, const executor& run = {}) const {
    if (!transpose) return lmo_of(d, run);
    return lmo_of<T>(matrix<T>(d.transpose()), run).transpose();
  }

 private:
  template <class T>
  matrix<T> lmo_of(const matrix<T>& d, const executor& run) const {
    const double m = double(d.rows()), n = double(d.cols());
    const bool line = d.rows() == 1 || d.cols() == 1;
    const scion_norm kind = norm != scion_norm::automatic ? norm
                            : line                        ? scion_norm::bias_rms
                                                          : scion_norm::spectral;
    const bool full = normalized < 0 ? kind != scion_norm::column : normalized != 0;
    const T e = T(norm_eps);
    matrix<T> u = d;
    if (kind == scion_norm::spectral) {
      const double gain = full ? std::sqrt(m * kernel_area / n) / kernel_area : std::sqrt(m);
      return T(max_gain ? std::max(1.0, gain) : gain) * polar_factor(d, polar, run);
    }
    if (kind == scion_norm::sign) {
      const T size = full ? T(1 / n) : T(1);
      return d.unaryExpr([size](T x) { return x > T(0) ? size : x < T(0) ? -size : x; });
    }
    if (kind == scion_norm::column)
      u.array().rowwise() /= d.colwise().norm().array() / T(std::sqrt(m)) * (full ? T(n) : T(1)) + e;
    else if (kind == scion_norm::row)
      u.array().colwise() /= d.rowwise().norm().array() * (full ? T(std::sqrt(n)) : T(1)) + e;
    else if (line)
      u /= d.norm() / T(std::sqrt(m * n)) + e;
    else
      u.array().rowwise() /= (d.colwise().squaredNorm().array() / T(m)).sqrt() + e;
    return u;
  }
};

}  // namespace quench::inline QUENCH_ISA
