#pragma once
/// \file  Learning-rate schedules as pure functions of the step: warm-up, then constant, linear, cosine,
/// inverse square root, or warmup-stable-decay (WSD) with a choice of cooldown shapes (Haegele et al. 2024,
/// arXiv 2405.18392).
#include <quench/core/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace quench::inline QUENCH_ISA {

enum class schedule_kind { constant, linear, cosine, wsd, inverse_sqrt };
constexpr auto names_of(std::type_identity<schedule_kind>) {
  return std::array<std::string_view, 5>{"constant", "linear", "cosine", "wsd", "inverse_sqrt"};
}

/// s(x) for x from 0 (start of the cooldown) to 1 (its end); s(0) = 1, s(1) = 0.
enum class cooldown_shape {
  linear,      ///< 1 - x
  one_sqrt,    ///< 1 - sqrt(x)
  cosine,      ///< (1 + cos(pi x)) / 2
  one_square,  ///< 1 - x^2
  exponential  ///< (e^(-5x) - e^-5) / (1 - e^-5)
};
constexpr auto names_of(std::type_identity<cooldown_shape>) {
  return std::array<std::string_view, 5>{"linear", "1-sqrt", "cosine", "1-square", "exp"};
}

/// Which factor the 0-based step i gets. For 4 warm-up, 2 stable and 4 linear cooldown steps:
enum class step_convention {
  nonzero_end,  ///< .25 .5 .75 1 | 1 1 | .8 .6 .4 .2     every step moves; 0 would come at step N
  zero_end,     ///< .25 .5 .75 1 | 1 1 | .75 .5 .25 0    the last step has the end value
  zero_start    ///< 0 .25 .5 .75 | 1 1 | 1 .75 .5 .25    factor after i scheduler steps (plainLM, torch); the
                ///< end comes at N
};
constexpr auto names_of(std::type_identity<step_convention>) {
  return std::array<std::string_view, 3>{"nonzero_end", "zero_end", "zero_start"};
}

inline double cooldown_factor(cooldown_shape shape, double x);

/// Factor on the peak learning rate. All counts are optimizer steps; past the last one the end value holds.
///
///     const schedule s{.kind = schedule_kind::wsd, .steps = 2000, .warmup = 100, .cooldown = 400};
///     optimizer.step(params, s.at(i));          // i = 0, 1, ..., 1999
struct schedule {
  schedule_kind kind = schedule_kind::constant;
  std::int64_t steps = 1;     ///< N >= 1, of the whole run
  std::int64_t warmup = 0;    ///< W, 0 ... N; 0 starts at the peak
  std::int64_t cooldown = 0;  ///< D of wsd, 0 ... N - W; linear and cosine decay over all of N - W
  cooldown_shape shape = cooldown_shape::linear;
  double start = 0, end = 0;  ///< first and last factor; the peak is 1
  step_convention convention = step_convention::nonzero_end;
  bool jump_to_end =
      false;  ///< decay to 0 and hold `end` only from the end on (kozistr's non-cosine cooldowns)

  /// Factor of step i (0-based). The same whenever it is asked, so resuming needs only the step.
  double at(std::int64_t i) const {
    expects(steps >= 1 && warmup >= 0 && warmup <= steps && cooldown >= 0 && warmup + cooldown <= steps,
            "schedule: needs steps >= 1, 0 <= warmup, 0 <= cooldown and warmup + cooldown <= steps, is "
            "warmup {}, cooldown {}, steps {}",
            warmup, cooldown, steps);
    const double t = double(i) + (convention == step_convention::zero_start ? 0 : 1);
    if (t < double(warmup)) return start + (1 - start) * t / double(warmup);
    if (kind == schedule_kind::constant) return 1;
    if (kind == schedule_kind::inverse_sqrt)
      return std::sqrt(double(std::max<std::int64_t>(warmup, 1)) / std::max(t, 1.0));
    const double length = double(kind == schedule_kind::wsd ? cooldown : steps - warmup);
    const double past = t - (double(steps) - length);
    if (length == 0 || past <= 0) return 1;
    const double x = std::min(1.0, past / (length + (convention == step_convention::nonzero_end ? 1 : 0)));
    const double s = cooldown_factor(kind == schedule_kind::wsd      ? shape
                                     : kind == schedule_kind::cosine ? cooldown_shape::cosine
                                                                     : cooldown_shape::linear,
                                     x);
    return jump_to_end ? (x < 1 ? s : end) : end + (1 - end) * s;
  }

  /// The schedule of a branch: identical up to step `from`, then a cooldown of `length` steps.
  schedule cooldown_from(std::int64_t from, std::int64_t length) const {
    expects(from >= warmup && length >= 0,
            "schedule::cooldown_from: needs from >= warmup ({}) and length >= 0, is {}, {}", warmup, from,
            length);
    schedule branch = *this;
    branch.kind = schedule_kind::wsd;
    branch.steps = std::max<std::int64_t>(1, from + length);
    branch.cooldown = length;
    return branch;
  }
};

inline double cooldown_factor(cooldown_shape shape, double x) {
  switch (shape) {
    case cooldown_shape::one_sqrt:
      return 1 - std::sqrt(x);
    case cooldown_shape::cosine:
      return 0.5 * (1 + std::cos(3.14159265358979323846 * x));
    case cooldown_shape::one_square:
      return 1 - x * x;
    case cooldown_shape::exponential:
      return (std::exp(-5 * x) - std::exp(-5.0)) / (1 - std::exp(-5.0));
    default:
      return 1 - x;
  }
}

/// One-cycle (Smith & Topin 2018) as torch anneals it: cosine from peak / div up to the peak over the first
/// `rising` share of the steps, then cosine down to peak / (div final_div). Factor of step i, 0 <= i < steps.
inline double one_cycle(std::int64_t i, std::int64_t steps, double rising = 0.3, double div = 25,
                        double final_div = 1e4) {
  const auto anneal = [](double from, double to, double x) {
    return to + (from - to) / 2 * (1 + std::cos(3.14159265358979323846 * x));
  };
  const double top = rising * double(steps) - 1, last = double(steps) - 1, t = std::min(double(i), last);
  return t <= top ? anneal(1 / div, 1, t / top) : anneal(1, 1 / (div * final_div), (t - top) / (last - top));
}

}  // namespace quench::inline QUENCH_ISA
