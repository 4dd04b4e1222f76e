#pragma once
/// \file  The orthogonal polar factor by Newton-Schulz iteration (Bjorck & Bowie 1971; quintic coefficients
/// of Jordan 2024; Polar Express, Amsel et al. 2025, arXiv 2505.16932): X <- a X + (b A + c A^2) X with A = X
/// X^T.
#include <quench/core/error.hpp>
#include <quench/linalg/product.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

namespace quench::inline QUENCH_ISA {

/// One step maps every singular value s to a s + b s^3 + c s^5.
struct quintic {
  double a, b, c;
};

/// Coefficient sets, by the names their users know. Output range is for singular values in [0.01, 1] of the
/// largest.
enum class polar_method {
  jordan,         ///< (3.4445, -4.7750, 2.0315), 5 steps: [0.68, 1.13], does not converge to 1
  converging,     ///< (2, -1.5, 0.5), 12 steps: 1.0000 (modded-nanogpt, track 3)
  polar_express,  ///< 5 tuned steps: [0.86, 1.14], the steepest at 0; input is divided by 1.02 of its norm
  heavyball,      ///< 5 tuned steps: [0.98, 1.03]
  heavyball_ten,  ///< 10 tuned steps (arXiv 2505.16932 with a margin of 1.01): 1.0000
  custom          ///< polar_options::custom at every step, 5 steps
};
constexpr auto names_of(std::type_identity<polar_method>) {
  return std::array<std::string_view, 6>{"jordan",    "converging",    "polar_express",
                                         "heavyball", "heavyball_ten", "custom"};
}

/// How the input is brought to norm 1.
enum class polar_scaling {
  invariant,     ///< divided by its Frobenius norm, computed without overflow or underflow; zero stays zero
                 ///< (default)
  additive_eps,  ///< divided by norm + eps: Jordan's Muon, Moonlight, Scion
  maximum_eps    ///< divided by max(norm, eps): torch.optim.Muon, Meta
};
constexpr auto names_of(std::type_identity<polar_scaling>) {
  return std::array<std::string_view, 3>{"invariant", "additive_eps", "maximum_eps"};
}

struct polar_options {
  polar_method method = polar_method::jordan;
  int steps = 0;  ///< 0: the method's own number; the last coefficients repeat
  polar_scaling scaling = polar_scaling::invariant;
  double eps = 1e-7;  ///< of the two reference scalings
  quintic custom{1.5, -0.5, 0};
};

/// Coefficients, one entry a step; `o` must outlive the result.
inline std::span<const quintic> polar_coefficients(const polar_options& o) {
  static constexpr std::array<quintic, 1> jordan{{{3.4445, -4.7750, 2.0315}}};
  static constexpr std::array<quintic, 1> converging{{{2, -1.5, 0.5}}};
  static constexpr std::array<quintic, 5> polar_express{
      {{8.156554524902461, -22.48329292557795, 15.878769915207462},
       {4.042929935166739, -2.808917465908714, 0.5000178451051316},
       {3.8916678022926607, -2.772484153217685, 0.5060648178503393},
       {3.285753657755655, -2.3681294933425376, 0.46449024233003106},
       {2.3465413258596377, -1.7097828382687081, 0.42323551169305323}}};
  static constexpr std::array<quintic, 5> heavyball{{{4.0848, -6.8946, 2.9270},
                                                     {3.9505, -6.3029, 2.6377},
                                                     {3.7418, -5.5913, 2.3037},
                                                     {2.8769, -3.1427, 1.2046},
                                                     {2.8366, -3.0525, 1.2012}}};
  static constexpr std::array<quintic, 8> heavyball_ten{
      {{8.205160414005574, -22.90193498705605, 16.460724910180314},
       {4.066395159942775, -2.8611540867551426, 0.5183995226694741},
       {3.9095949044379155, -2.823351735039516, 0.5250369769390025},
       {3.2855640171986153, -2.415301959635945, 0.48529406552790866},
       {2.277873287083977, -1.619821765265441, 0.39848078704168355},
       {1.8725756512746514, -1.2307042574884297, 0.35851616209511666},
       {1.856437109755889, -1.2132392819185351, 0.35679978941375945},
       {1.875, -1.25, 0.375}}};
  switch (o.method) {
    case polar_method::heavyball_ten:
      return heavyball_ten;
    case polar_method::custom:
      return {&o.custom, 1};
    case polar_method::converging:
      return converging;
    case polar_method::polar_express:
      return polar_express;
    case polar_method::heavyball:
      return heavyball;
    default:
      return jordan;
  }
}
constexpr int default_steps(polar_method method) {
  return method == polar_method::converging ? 12 : method == polar_method::heavyball_ten ? 10 : 5;
}

/// Frobenius norm that neither overflows nor underflows (the largest entry is divided out first), summed in
/// double. NaN and Inf give NaN or Inf.
template <class M>
double safe_norm(const M& m) {
  if (m.size() == 0) return 0;
  const double top = double(m.cwiseAbs().template maxCoeff<Eigen::PropagateNaN>());
  if (!(top > 0) || !std::isfinite(top)) return top;
  double sum = 0;
  for (index i = 0; i < m.rows(); ++i) {
    double row = 0;
    for (index j = 0; j < m.cols(); ++j) {
      const double x = double(m(i, j)) / top;
      row += x * x;
    }
    sum += row;
  }
  return top * std::sqrt(sum);
}

/// Runs the iteration on `x`, rows <= cols, already scaled to norm <= 1.
template <class T>
void newton_schulz_steps(matrix<T>& x, std::span<const quintic> coefficients, int steps,
                         const executor& run = {}) {
  matrix<T> a, square, next;
  for (int k = 0; k < steps; ++k) {
    const quintic q = coefficients[std::min(std::size_t(k), coefficients.size() - 1)];
    gram_into(a, x, run);
    symmetric_square_into(square, a, run);
    a = T(q.b) * a + T(q.c) * square;
    a.diagonal().array() += T(q.a);  // X <- (a I + b A + c A^2) X
    multiply_into(next, a, x, run);
    x.swap(next);
  }
}

/// The (approximate) polar factor U V^T of g = U S V^T with any coefficients, one entry a step, the last
/// repeats: g is divided by its Frobenius norm (times `safety`, then changed by `eps` as `scaling` says),
/// then iterated `steps` times.
template <class T>
matrix<T> polar_factor(const matrix<T>& g, std::span<const quintic> coefficients, int steps,
                       polar_scaling scaling = polar_scaling::invariant, double eps = 1e-7, double safety = 1,
                       const executor& run = {}) {
  expects(!coefficients.empty() && steps >= 1,
          "polar_factor: needs coefficients and at least one step, has {} and {}", coefficients.size(),
          steps);
  double norm = safe_norm(g);
  if (!std::isfinite(norm))
    return matrix<T>::Constant(g.rows(), g.cols(), std::numeric_limits<T>::quiet_NaN());
  if (norm == 0) return matrix<T>::Zero(g.rows(), g.cols());
  norm *= safety;
  if (scaling == polar_scaling::additive_eps) norm += eps;
  if (scaling == polar_scaling::maximum_eps) norm = std::max(norm, eps);
  const auto scale = [norm](T v) { return T(double(v) / norm); };
  const bool tall = g.rows() > g.cols();
  matrix<T> x = tall ? matrix<T>(g.transpose().unaryExpr(scale)) : matrix<T>(g.unaryExpr(scale));
  newton_schulz_steps(x, coefficients, steps, run);
  return tall ? matrix<T>(x.transpose()) : x;
}

/// The (approximate) polar factor by a named method. Zero maps to zero; a positive factor on g changes
/// nothing (with the default scaling); a transposed input gives the transposed result; NaN or Inf anywhere
/// makes the result NaN. Allocates four matrices of g's size or less. steps (2 r^2 q + r^3) multiply-adds for
/// r = min, q = max of the sides.
template <class T>
matrix<T> polar_factor(const matrix<T>& g, const polar_options& o = {}, const executor& run = {}) {
  expects(o.steps >= 0, "polar_factor: steps must be 0 (the method's own) or more, is {}", o.steps);
  return polar_factor(g, polar_coefficients(o), o.steps > 0 ? o.steps : default_steps(o.method), o.scaling,
                      o.eps,
                      o.method == polar_method::polar_express   ? 1.02
                      : o.method == polar_method::heavyball_ten ? 1.01
                                                                : 1.0,
                      run);
}

}  // namespace quench::inline QUENCH_ISA
