#pragma once
/// \file  Stochastic weight averaging (Izmailov et al. 2018): the uniform mean of everything added, a += (w -
/// a) / n.
#include <quench/average/mean.hpp>

namespace quench::inline QUENCH_ISA {

/// Kept in double; adding w_1 ... w_n gives their mean whatever n.
template <class T = float>
class swa {
 public:
  /// \throws error when the list's names or shapes differ from those added before.
  void add(const basic_param_list<T>& p) { mean_.move_towards(p, 1.0 / double(++count_), "swa::add"); }
  /// The mean as a parameter list without gradients. \throws error when nothing was added.
  basic_param_list<T> value() const {
    expects(count_ > 0, "swa::value: nothing was added");
    return mean_.value();
  }
  std::int64_t count() const { return count_; }
  void visit_state(const state_visitor& f) { f("count", &count_), mean_.visit_state(f); }
  void prepare(const basic_param_list<T>& p) { mean_.prepare(p, "swa::prepare"); }

 private:
  std::int64_t count_ = 0;
  detail::running_mean<T> mean_;
};

}  // namespace quench::inline QUENCH_ISA
