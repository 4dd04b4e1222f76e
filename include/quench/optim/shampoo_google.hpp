#pragma once
/// \file  Shampoo as google-research's scalable_shampoo runs it (Anil et al. 2020, arXiv 2002.09018): roots
/// by coupled Newton with a ridge relative to the largest eigenvalue, the length grafted from SGD or AdaGrad,
/// heavy-ball momentum.
#include <quench/linalg/inverse_root.hpp>
#include <quench/linalg/power_iteration.hpp>
#include <quench/optim/noise.hpp>
#include <quench/optim/rule.hpp>
#include <quench/optim/shampoo.hpp>

namespace quench::inline QUENCH_ISA {

/// L <- beta2 L + (1 - beta2, or 1 when beta2 is 1) G G^T for the sides of each `block` x `block` tile, from
/// matrix_eps I; P = L^(-1/p) G R^(-1/p), p = 4 or `exponent`; s = P |graft| / |P| + decay w; M <- momentum M
/// + s; w -= lr (M, or momentum M + s with `nesterov`). Steps before `start` use the graft. Vectors, and with
/// `merge` matrices of at most `block` entries, take the graft alone. Decay is coupled to lr. `upstream`
/// repeats the PyTorch program where it differs from the paper: the ridge stays in the factors, Nesterov
/// overwrites the stored momentum, the graft's momentum adds the raw gradient, and before the start (and for
/// vectors) the decay counts twice. State: two matrices (three with adagrad) and 2 (m^2 + n^2). A root that
/// cannot be computed keeps the previous one.
struct shampoo_google {
  static constexpr std::string_view name = "shampoo_google";
  double lr = 0.01, momentum = 0.9, beta2 = 1, diagonal_eps = 1e-6, matrix_eps = 1e-6, weight_decay = 0;
  int exponent = 0;
  std::int64_t start = 1, statistics_steps = 1, root_steps = 10;
  index block = 128;
  bool nesterov = true, merge = false, upstream = false;
  graft_kind graft = graft_kind::sgd;  ///< sgd (also for none) or adagrad
  probe_noise noise = {};

  template <class T>
  struct state {
    matrix<T> m, graft_m, v;
    std::vector<shampoo_block<T>> blocks;
    void entries(auto&& f) {
      f("m", m), f("graft_m", graft_m), f("v", v);
      for (std::size_t k = 0; k < blocks.size(); ++k) blocks[k].entries("block" + std::to_string(k) + ".", f);
    }
  };
  static void settings(auto& r, auto&& f) {
    f("lr", r.lr), f("momentum", r.momentum), f("beta2", r.beta2), f("diagonal_eps", r.diagonal_eps),
        f("matrix_eps", r.matrix_eps);
    f("weight_decay", r.weight_decay), f("exponent", r.exponent), f("start", r.start),
        f("statistics_steps", r.statistics_steps);
    f("root_steps", r.root_steps), f("block", r.block), f("nesterov", r.nesterov), f("merge", r.merge),
        f("upstream", r.upstream);
    f("graft", r.graft), f("seed", r.noise.seed);
  }

  template <class T>
  state<T> init(const basic_param<T>& p) const {
    expects(statistics_steps >= 1 && root_steps >= 1 && block >= 1,
            "shampoo_google: steps and block must be at least 1, are {}, {} and {}", statistics_steps,
            root_steps, block);
    state<T> s{detail::zeros_like(p),
               detail::zeros_like(p),
               graft == graft_kind::adagrad ? detail::zeros_like(p) : matrix<T>(),
               {}};
    const index m = p.value.rows(), n = p.value.cols();
    if (m <= 1 || n <= 1 || (merge && m * n <= block)) return s;
    const auto identity = [](index d, double scale) -> matrix<T> {
      return T(scale) * matrix<T>::Identity(d, d);
    };
    for (index i = 0; i < m; i += block)
      for (index j = 0; j < n; j += block) {
        const index a = std::min(block, m - i), b = std::min(block, n - j);
        s.blocks.push_back({i,
                            j,
                            a,
                            b,
                            identity(a, matrix_eps),
                            identity(b, matrix_eps),
                            identity(a, 1),
                            identity(b, 1),
                            {}});
      }
    return s;
  }

  template <class T>
  void update(basic_param<T>& p, state<T>& s, step_info t) const {
    const bool started = t.step >= start;
    const T mu = T(momentum), rate = T(lr * t.scale), wd = T(weight_decay);
    if (graft == graft_kind::adagrad) s.v += p.grad.cwiseAbs2();
    matrix<T> graft_step = p.grad;
    if (graft == graft_kind::adagrad) graft_step = p.grad.array() / (s.v.array().sqrt() + T(diagonal_eps));

    std::uint64_t drawn = 0;
    for (auto& b : s.blocks) {
      const matrix<T> g = b.of(p.grad);
      if (t.step % statistics_steps == 0) accumulate(b, g, t.run());
      if (t.step % root_steps == 0)
        for (auto [factor, root] : {std::pair{&b.l, &b.left}, std::pair{&b.r, &b.right}})
          recompute(*factor, *root, p.name, t, drawn++);
    }
    matrix<T> step = p.grad, next;
    if (started)
      for (const auto& b : s.blocks) {
        multiply_into<T>(next, b.left, matrix<T>(b.of(p.grad)), t.run());
        matrix<T> u;
        multiply_into(u, next, b.right, t.run());
        step.block(b.row, b.col, b.rows, b.cols) = u;
      }
    step *= graft_step.norm() / (step.norm() + T(1e-16));
    // In the PyTorch program `step`, `graft_step` and the gradient are one tensor until something new is
    // computed.
    const bool alias = upstream && (!started || s.blocks.empty()),
               graft_alias = alias && graft != graft_kind::adagrad;
    step += (graft_alias ? 2 * wd : wd) * p.value;
    graft_step = graft_alias ? step : matrix<T>(graft_step + wd * p.value);
    s.m = mu * s.m + step;
    s.graft_m = mu * s.graft_m + (!upstream ? graft_step : alias ? step : p.grad);
    matrix<T>& moving = started ? s.m : s.graft_m;
    const matrix<T>& now = started ? step : graft_step;
    if (nesterov && upstream) moving = mu * moving + now;
    if (nesterov && !upstream)
      p.value -= rate * (mu * moving + now);
    else
      p.value -= rate * moving;
  }

 private:
  template <class T>
  void accumulate(shampoo_block<T>& b, const matrix<T>& g, const executor& run) const {
    matrix<T> outer;
    const T keep = T(beta2), take = T(beta2 == 1 ? 1 : 1 - beta2);
    gram_into(outer, g, run), b.l = keep * b.l + take * outer;
    gram_into(outer, g.transpose(), run), b.r = keep * b.r + take * outer;
  }
  template <class T>
  void recompute(matrix<T>& factor, matrix<T>& root, std::string_view who, step_info t,
                 std::uint64_t number) const {
    const index n = factor.rows();
    if (n == 1) return;  // the identity
    matrix<T> v = noise.uniform ? matrix<T>(n, 1) : noise.template draw<T>(n, 1, who, t.step, number);
    if (noise.uniform)
      for (index i = 0; i < n; ++i) v(i, 0) = T(2 * noise.uniform() - 1);
    matrix<T> a = factor;
    a.diagonal().array() += T(matrix_eps * power_iteration(a, v).value);
    if (upstream) factor = a;
    root_result<T> r =
        inverse_root(a, 1.0 / (exponent > 0 ? exponent : 4),
                     {.method = root_method::coupled_newton, .epsilon = 0, .stop_on_growth = true}, t.run());
    if (r.root.size() > 0 && r.root.allFinite()) root.swap(r.root);
  }
};

}  // namespace quench::inline QUENCH_ISA
