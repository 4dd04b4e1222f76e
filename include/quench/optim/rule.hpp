#pragma once
/// \file  What an optimizer rule is: an aggregate of hyper-parameters, the state of one tensor, and the
/// update.
#include <quench/core/parallel.hpp>
#include <quench/optim/param.hpp>

#include <concepts>
#include <cstdint>

namespace quench::inline QUENCH_ISA {

/// When the step happens and how the schedule has scaled it.
struct step_info {
  std::int64_t step = 1;            ///< 1 at the first update
  float lr_scale = 1.f;             ///< learning rate of this step over the rule's own `lr` (the peak)
  double scale = double(lr_scale);  ///< the same before rounding to float; the library's rules use this one
  const executor* threads =
      nullptr;  ///< may run the inside of large updates; null is serial; never changes a bit

  const executor& run() const {
    static const executor serial;
    return threads ? *threads : serial;
  }
};

/// What a rule keeps for one parameter of scalar T.
template <class Rule, class T = float>
using state_of = decltype(std::declval<const Rule&>().init(std::declval<const basic_param<T>&>()));

/// A rule for parameters of scalar T:
///
///     struct mine {
///       double lr = 0.1;
///       struct state { matrix<float> m; };
///       state init(const param& p) const;                     // from the shape (and value) of p
///       void update(param& p, state& s, step_info t) const;   // reads p.grad, writes p.value and s
///     };
///
/// Rules of this library are templates on the scalar, keep hyper-parameters and step scalars in double, and
/// may be used without `optimizer`. `update` never writes p.grad. A rule that needs all parameters of a step
/// at once (a global scale) also has `begin`; see optimizer.hpp.
template <class Rule, class T = float>
concept update_rule = requires(const Rule& rule, basic_param<T>& p, const basic_param<T>& q, step_info t) {
  rule.init(q);
  rule.update(p, std::declval<state_of<Rule, T>&>(), t);
};

namespace detail {

/// Elements of one piece of an elementwise update; pieces are fixed, so that executors cannot change a
/// result.
inline constexpr index update_piece = index(1) << 16;

/// body(begin, end) over [0, n) in fixed pieces.
template <class Body>
void for_pieces(const step_info& t, index n, Body body) {
  for_all(t.run(), (n + update_piece - 1) / update_piece,
          [&](index k) { body(k * update_piece, std::min(n, (k + 1) * update_piece)); });
}

template <class T>
matrix<T> zeros_like(const basic_param<T>& p) {
  return matrix<T>::Zero(p.value.rows(), p.value.cols());
}

}  // namespace detail
}  // namespace quench::inline QUENCH_ISA
