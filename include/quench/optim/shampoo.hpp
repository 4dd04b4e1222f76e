#pragma once
/// \file  Shampoo (Gupta et al. 2018; Anil et al. 2020) as Meta's Distributed Shampoo runs it (Shi et al.
/// 2023, arXiv 2309.06497): P = L^(-1/4) M R^(-1/4) block by block, its length grafted from Adam; also
/// eigenvalue-corrected and KL forms.
#include <quench/optim/decay.hpp>
#include <quench/optim/rule.hpp>
#include <quench/optim/shampoo_blocks.hpp>

#include <cmath>

namespace quench::inline QUENCH_ISA {

/// Where the length of a block's step comes from.
enum class graft_kind { none, sgd, adagrad, rmsprop, adam };
constexpr auto names_of(std::type_identity<graft_kind>) {
  return std::array<std::string_view, 5>{"none", "sgd", "adagrad", "rmsprop", "adam"};
}

/// Each step: factors L, R of every block; every `frequency` steps from `start` (-1: frequency) their inverse
/// roots; then the bias-corrected momentum is preconditioned, scaled to the length of the grafted step,
/// decayed and subtracted. Before `start` the step is the grafted one alone. Tensors with a side of 1 are
/// vectors with one full factor and exponent 1/2; longer sides than `max_dim` are cut into blocks; `merge`
/// makes matrices of at most max_dim entries vectors. An exponent of -1 is 1 / (2 order), 0 leaves that side
/// alone. `classic_momentum` > 0 adds heavy-ball (or Nesterov) momentum on the whole step, decay included.
/// `train_coefficient` > 0 averages primal iterates (GPA): gradients are then taken at the parameter y,
/// `evaluation` gives x. State: like the parameter: momentum, graft (adagrad, rmsprop, adam), and options'
/// own; 2 (m^2 + n^2) a block. A root that cannot be computed (NaN, no convergence) keeps the previous one
/// and is counted in `failures`.
struct shampoo {
  static constexpr std::string_view name = "shampoo";
  double lr = 3e-3, beta1 = 0.95, beta2 = 0.95, beta3 = -1;  // beta3 -1: beta1
  double weight_decay = 0;
  decay_kind decay = decay_kind::scheduled;
  std::int64_t frequency = 10, start = -1;
  index max_dim = 1024;
  bool merge = false, bias_correction = true;
  graft_kind graft = graft_kind::adam;
  double graft_beta2 = -1, graft_eps = 1e-8;  // -1: beta2
  shampoo_factors factors = {};
  double classic_momentum = 0, dampening = 0;
  bool nesterov = false;
  double train_coefficient = 0, eval_coefficient = 0.9;

  template <class T>
  struct state {
    matrix<T> m, v,
        extra;  ///< momentum, graft statistics, classic momentum or the iterate z; each 0 x 0 when not used
    std::vector<shampoo_block<T>> blocks;
    std::int64_t failures = 0;  ///< roots or bases that kept their previous value
    void entries(auto&& f) {
      f("m", m), f("v", v), f("extra", extra), f("failures", failures);
      for (std::size_t k = 0; k < blocks.size(); ++k) blocks[k].entries("block" + std::to_string(k) + ".", f);
    }
  };
  static void settings(auto& r, auto&& f) {
    f("lr", r.lr), f("beta1", r.beta1), f("beta2", r.beta2), f("beta3", r.beta3),
        f("weight_decay", r.weight_decay);
    f("decay", r.decay), f("frequency", r.frequency), f("start", r.start), f("max_dim", r.max_dim),
        f("merge", r.merge);
    f("bias_correction", r.bias_correction), f("graft", r.graft), f("graft_beta2", r.graft_beta2),
        f("graft_eps", r.graft_eps);
    shampoo_factors::settings(r.factors, f);
    f("classic_momentum", r.classic_momentum), f("dampening", r.dampening), f("nesterov", r.nesterov);
    f("train_coefficient", r.train_coefficient), f("eval_coefficient", r.eval_coefficient);
  }

  template <class T>
  state<T> init(const basic_param<T>& p) const {
    expects(frequency >= 1 && max_dim >= 1,
            "shampoo: frequency and max_dim must be at least 1, are {} and {}", frequency, max_dim);
    const bool adaptive = graft != graft_kind::none && graft != graft_kind::sgd;
    state<T> s{beta1 > 0 ? detail::zeros_like(p) : matrix<T>(),
               adaptive ? detail::zeros_like(p) : matrix<T>(),
               {},
               {}};
    if (train_coefficient > 0)
      s.extra = p.value;
    else if (classic_momentum > 0)
      s.extra = detail::zeros_like(p);
    const auto [m, n] = working_shape(p);
    for (index i = 0; i < m; i += max_dim)
      for (index j = 0; j < n; j += max_dim)
        s.blocks.push_back(
            factors.make_block<T>(i, j, std::min(max_dim, m - i), std::min(max_dim, n - j), n == 1));
    return s;
  }

  template <class T>
  void update(basic_param<T>& p, state<T>& s, step_info t) const {
    const double k = double(t.step), rate = lr * t.scale;
    const bool coupled = decay == decay_kind::coupled;
    matrix<T> g = coupled ? matrix<T>(p.grad + T(weight_decay) * p.value) : p.grad;
    const auto [m, n] = working_shape(p);
    const std::int64_t first = start < 0 ? frequency : start;
    const bool due = t.step == first || (t.step > first && t.step % frequency == 0);
    const double unbias2 = bias_correction && beta2 < 1 ? 1 - std::pow(beta2, k) : 1;
    Eigen::Map<const matrix<T>> gs(g.data(), m, n);
    for (auto& b : s.blocks)
      s.failures += !factors.accumulate(b, matrix<T>(b.of(gs)), beta2, unbias2, due, t.run());

    const double gb = graft_beta2 < 0 ? beta2 : graft_beta2;
    if (graft == graft_kind::adagrad)
      s.v += g.cwiseAbs2();
    else if (s.v.size() > 0)
      s.v = T(gb) * s.v + T(1 - gb) * g.cwiseAbs2();

    const double b3 = beta3 < 0 ? beta1 : beta3;
    matrix<T> d = g;
    if (beta1 > 0) {
      if (b3 != beta1) d = T(b3) * s.m + T(1 - b3) * g;
      s.m = T(beta1) * s.m + T(1 - beta1) * g;
      if (b3 == beta1) d = s.m;
      if (bias_correction) d *= T(1 / (1 - b3 * std::pow(beta1, k - 1)));
    }
    const double graft_unbias = graft == graft_kind::adam ? 1 - std::pow(gb, k) : 1;
    matrix<T> grafted =
        s.v.size() > 0 ? matrix<T>(d.array() / ((s.v.array() / T(graft_unbias)).sqrt() + T(graft_eps))) : d;
    matrix<T> step = grafted;
    if (t.step >= first || graft == graft_kind::none) {
      const Eigen::Map<const matrix<T>> ds(d.data(), m, n), lengths(grafted.data(), m, n);
      Eigen::Map<matrix<T>> out(step.data(), m, n);
      for (auto& b : s.blocks) {
        matrix<T> u = factors.precondition(b, matrix<T>(b.of(ds)), unbias2, t.run());
        if (graft != graft_kind::none) u *= b.of(lengths).norm() / (u.norm() + T(1e-16));
        out.block(b.row, b.col, b.rows, b.cols) = u;
      }
    }
    move(p, s, step, rate, decay_share(decay, lr, t.scale, weight_decay), t);
  }

  /// The averaged iterate x of GPA, else the parameter.
  template <class T>
  matrix<T> evaluation(const basic_param<T>& p, const state<T>& s) const {
    if (!(train_coefficient > 0)) return p.value;
    return p.value + T(1 - 1 / train_coefficient) * (s.extra - p.value);
  }

 private:
  /// Rows and columns as they are preconditioned: vectors are one column.
  template <class T>
  std::pair<index, index> working_shape(const basic_param<T>& p) const {
    const index m = p.value.rows(), n = p.value.cols();
    return m == 1 || n == 1 || (merge && m * n <= max_dim) ? std::pair{m * n, index(1)} : std::pair{m, n};
  }
  template <class T>
  void move(basic_param<T>& p, state<T>& s, matrix<T>& step, double rate, double share, step_info t) const {
    if (train_coefficient > 0) {
      s.extra *= T(1 - share);
      const matrix<T> apart = s.extra - p.value;
      s.extra -= T(rate) * step;
      p.value +=
          T(-(1 - eval_coefficient * train_coefficient) * rate) * step + T(1 - eval_coefficient) * apart;
      return;
    }
    if (classic_momentum > 0) {
      if (rate > 0) step += T(share / rate) * p.value;
      s.extra = T(classic_momentum) * s.extra + T(1 - dampening) * step;
      if (nesterov)
        step = T(1 - dampening) * step + T(classic_momentum) * s.extra;
      else
        step = s.extra;
      share = 0;
    }
    static_cast<void>(t);
    p.value = T(1 - share) * p.value - T(rate) * step;
  }
};

}  // namespace quench::inline QUENCH_ISA
