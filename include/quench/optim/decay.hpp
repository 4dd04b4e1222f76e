#pragma once
/// \file  The weight decays in use: AdamW's (Loshchilov & Hutter 2019), AdamLH's independent one (Schaipp
/// 2024), AdamC's corrected one (Defazio 2025, arXiv 2506.02285), and L2 coupled into the gradient.
#include <quench/core/config.hpp>

#include <array>
#include <string_view>
#include <type_traits>

namespace quench::inline QUENCH_ISA {

/// How much of a weight is taken away before the update at learning rate lr_t (peak `lr`).
enum class decay_kind {
  scheduled,    ///< lr_t * weight_decay: AdamW
  independent,  ///< lr_t / lr * weight_decay: AdamLH, fully decoupled from the peak
  corrected,    ///< lr_t^2 / lr * weight_decay: AdamC, for weights followed by a normalisation
  coupled       ///< nothing; weight_decay * w is added to the gradient: Adam with L2
};
constexpr auto names_of(std::type_identity<decay_kind>) {
  return std::array<std::string_view, 4>{"scheduled", "independent", "corrected", "coupled"};
}
/// Share of a weight removed at this step (0 for coupled decay).
constexpr double decay_share(decay_kind kind, double lr, double scale, double weight_decay) {
  switch (kind) {
    case decay_kind::scheduled:
      return lr * scale * weight_decay;
    case decay_kind::independent:
      return scale * weight_decay;
    case decay_kind::corrected:
      return lr * scale * scale * weight_decay;
    default:
      return 0;
  }
}

}  // namespace quench::inline QUENCH_ISA
