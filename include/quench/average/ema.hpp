#pragma once
/// \file  Exponential moving average of weights (Polyak & Juditsky 1992 in spirit; Tarvainen & Valpola 2017):
/// a <- decay a + (1 - decay) w, kept in double.
#include <quench/average/mean.hpp>

#include <cmath>

namespace quench::inline QUENCH_ISA {

struct ema_options {
  bool debias = false;  ///< start from zero and divide by 1 - decay^k; otherwise the first update copies
};

/// `decay` in [0, 1). After k updates with weights w_1 ... w_k the value is sum_i decay^(k-i) (1 - decay)
/// w_i, with the first term's share raised to decay^(k-1) (copying), or all divided by 1 - decay^k
/// (`debias`). One update gives w_1 exactly either way. For a horizon of h steps take 1 - 1/h; when added
/// every n steps, decay^n.
template <class T = float>
class ema {
 public:
  explicit ema(double decay, ema_options options = {}) : decay_(decay), options_(options) {
    expects(decay >= 0 && decay < 1, "ema: decay must be in [0, 1), is {}", decay);
  }
  /// \throws error when the list's names or shapes differ from those added before.
  void add(const basic_param_list<T>& p) {
    const double share = count_ == 0 && !options_.debias ? 1 : 1 - decay_;
    mean_.move_towards(p, share, "ema::add");
    ++count_;
  }
  /// The average as a parameter list without gradients. \throws error when nothing was added.
  basic_param_list<T> value() const {
    expects(count_ > 0, "ema::value: nothing was added");
    return mean_.value(options_.debias ? 1 / (1 - std::pow(decay_, double(count_))) : 1);
  }
  std::int64_t count() const { return count_; }
  void visit_state(const state_visitor& f) { f("count", &count_), mean_.visit_state(f); }
  /// Shapes the state like `p`, so that saved state can be visited into a fresh object.
  void prepare(const basic_param_list<T>& p) { mean_.prepare(p, "ema::prepare"); }

 private:
  double decay_;
  ema_options options_;
  std::int64_t count_ = 0;
  detail::running_mean<T> mean_;
};
ema(double)->ema<float>;
ema(float)->ema<float>;

}  // namespace quench::inline QUENCH_ISA
