#pragma once
/// \file  What weight averages share: a parameter list held in double, moved towards another by a share.
#include <quench/core/error.hpp>
#include <quench/optim/param.hpp>
#include <quench/optim/state.hpp>

namespace quench::inline QUENCH_ISA::detail {

template <class T>
class running_mean {
 public:
  void prepare(const basic_param_list<T>& p, const char* who) {
    if (mean_.empty())
      for (const auto& x : p)
        mean_.push_back({x.name, matrix<double>::Zero(x.value.rows(), x.value.cols()), {}, x.kind});
    expects(mean_.size() == p.size(), "{}: the list must keep its {} parameters, has {}", who, mean_.size(),
            p.size());
    for (std::size_t i = 0; i < p.size(); ++i)
      expects(mean_[i].name == p[i].name && mean_[i].value.rows() == p[i].value.rows() &&
                  mean_[i].value.cols() == p[i].value.cols(),
              "{}: parameter {} must stay '{}' of {} x {}, is '{}' of {} x {}", who, i, mean_[i].name,
              mean_[i].value.rows(), mean_[i].value.cols(), p[i].name, p[i].value.rows(), p[i].value.cols());
  }
  /// mean += share (p - mean); share 1 copies exactly.
  void move_towards(const basic_param_list<T>& p, double share, const char* who) {
    prepare(p, who);
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (share == 1)
        mean_[i].value = p[i].value.template cast<double>();
      else
        mean_[i].value += share * (p[i].value.template cast<double>() - mean_[i].value);
    }
  }
  basic_param_list<T> value(double factor = 1) const {
    basic_param_list<T> out;
    for (const auto& m : mean_) out.push_back({m.name, (factor * m.value).template cast<T>(), {}, m.kind});
    return out;
  }
  void visit_state(const state_visitor& f) {
    for (auto& m : mean_) f(m.name, &m.value);
  }

 private:
  basic_param_list<double> mean_;
};

}  // namespace quench::inline QUENCH_ISA::detail
