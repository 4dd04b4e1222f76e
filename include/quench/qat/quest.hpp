#pragma once
/// \file  QuEST (Panferov et al. 2025, arXiv 2502.05003): rotate by Hadamard blocks, round to the centred grid whose range
/// fits a Gaussian best, and trust the gradient only where rounding moved a weight by at most half a step.
#include <quench/linalg/hadamard.hpp>
#include <quench/qat/ste.hpp>

#include <cmath>

namespace quench::inline QUENCH_ISA {

/// Half-range of the grid in standard deviations, by bits (1..8): the table of the authors' code. Each is the least expected
/// square error for N(0, 1) to 1e-4 up to 6 bits; their 7 and 8 bit entries are 0.3 % and 1 % below it.
inline constexpr double quest_range[9] = {0, 0.7978845587140913, 1.4935346200015913, 2.051068354131873, 2.513930578568423,
                                          2.9160938834961225, 3.276597282593217, 3.6010497188221655, 3.884938678807525};

/// F gives the bits b, of at most 8. The grid has N = 2^b levels and no zero: -s, -s + step, ..., s with step = 2 s / (N - 1),
/// s = c_b sqrt(mean x^2) + 1e-8 over a row of the rotated w. The mask is 1 where |x| <= s + step / 2. No gradient flows
/// through s. NaN and Inf make their row NaN and not trusted. Rows are cut into `block` columns for the rotation.
/// \throws error when block is no power of two that divides the columns.
template <number_format F>
struct quest {
  static_assert(F::bits <= 8, "quench::quest: formats of 1 to 8 bits");
  index block = 128;

  struct tape { matrix<float> trusted; };   ///< 1 or 0, in the rotated space

  matrix<float> forward(const matrix<float>& w, tape& t) const {
    constexpr int steps = (1 << F::bits) - 1;
    matrix<float> x = w;
    hadamard_rows(x, block);
    t.trusted.resize(x.rows(), x.cols());
    for (index r = 0; r < x.rows(); ++r) {
      double squares = 0;
      for (index c = 0; c < x.cols(); ++c) squares += double(x(r, c)) * double(x(r, c));
      const float s = float(quest_range[F::bits] * std::sqrt(squares / double(x.cols()))) + 1e-8f, step = 2 * s / float(steps);
      for (index c = 0; c < x.cols(); ++c) {
        t.trusted(r, c) = std::abs(x(r, c)) <= s + step / 2 ? 1.f : 0.f;
        const float inside = x(r, c) < -s ? -s : x(r, c) > s ? s : x(r, c);
        x(r, c) = step * std::nearbyint(inside / step + 0.5f) - step / 2;
      }
    }
    hadamard_rows(x, block);
    return x;
  }

  /// The gradient with respect to w, given that with respect to forward's result.
  matrix<float> backward(const matrix<float>& g, const tape& t) const {
    matrix<float> x = g;
    hadamard_rows(x, block);
    x.array() *= t.trusted.array();
    hadamard_rows(x, block);
    return x;
  }
};

}  // namespace quench
