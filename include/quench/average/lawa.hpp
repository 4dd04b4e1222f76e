#pragma once
/// \file  Latest weight averaging (LAWA; Kaddour 2022, arXiv 2209.14981): the mean of the last `window`
/// checkpoints taken `spacing` steps apart.
#include <quench/average/soup.hpp>

#include <deque>

namespace quench::inline QUENCH_ISA {

/// The mean is over as many checkpoints as there are, up to `window`, so it is right before the window is
/// full; it is summed anew in double each time, so nothing drifts. Holds `window` copies of the parameters.
template <class T = float>
class lawa {
 public:
  explicit lawa(std::int64_t window, std::int64_t spacing = 1) : window_(window), spacing_(spacing) {
    expects(window >= 1 && spacing >= 1, "lawa: window and spacing must be at least 1, are {} and {}", window,
            spacing);
  }
  /// Counts one step; keeps every spacing-th (the first kept is the spacing-th). Returns whether it was kept.
  bool add(const basic_param_list<T>& p) {
    if (++count_ % spacing_ != 0) return false;
    basic_param_list<T> copy;
    for (const auto& x : p) copy.push_back({x.name, x.value, {}, x.kind});
    kept_.push_back(std::move(copy));
    if (std::int64_t(kept_.size()) > window_) kept_.pop_front();
    return true;
  }
  /// The mean as a parameter list without gradients. \throws error when no checkpoint was kept yet.
  basic_param_list<T> value() const {
    expects(!kept_.empty(), "lawa::value: no checkpoint was kept yet (spacing {}, {} steps added)", spacing_,
            count_);
    return soup<T>(std::vector<basic_param_list<T>>(kept_.begin(), kept_.end()));
  }
  std::size_t size() const { return kept_.size(); }
  std::int64_t count() const { return count_; }

  /// State by name: the count, the number kept, and each kept checkpoint, oldest first. When a saved state is
  /// read into a fresh object, `prepare` comes first and then the two numbers: the checkpoints that belong to
  /// them follow.
  void visit_state(const state_visitor& f) {
    std::int64_t kept = std::int64_t(kept_.size());
    f("count", &count_);
    f("kept", &kept);
    if (kept != std::int64_t(kept_.size())) {
      expects(kept >= 0 && kept <= window_ && !like_.empty(), "lawa::visit_state: cannot hold {} checkpoints",
              kept);
      kept_.assign(std::size_t(kept), like_);
    }
    for (std::size_t k = 0; k < kept_.size(); ++k)
      for (auto& x : kept_[k]) f(std::to_string(k) + '/' + x.name, &x.value);
  }
  void prepare(const basic_param_list<T>& p) {
    like_ = p;
    for (auto& x : like_) x.grad.resize(0, 0);
  }

 private:
  std::int64_t window_, spacing_, count_ = 0;
  std::deque<basic_param_list<T>> kept_;
  basic_param_list<T> like_;
};
template <class Integer>
lawa(Integer) -> lawa<float>;
template <class Integer, class Integer2>
lawa(Integer, Integer2) -> lawa<float>;

}  // namespace quench::inline QUENCH_ISA
