#pragma once
/// \file  Formats that are a list of values: NF4, the 16 quantiles of a Gaussian with an exact zero (Dettmers et al.
/// 2023, QLoRA, appendix E; table as in bitsandbytes).
#include <quench/format/format.hpp>

namespace quench::inline QUENCH_ISA {

/// 4-bit NormalFloat: values in [-1, 1], code = position in the list. Ties go to the smaller value, as in the reference.
struct nf4 {
  static constexpr std::string_view name = "nf4";
  static constexpr int bits = 4;
  static constexpr bool ties_to_lower = true;
  static constexpr std::array<float, 16> values = {
      -1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f, -0.28444138169288635f,
      -0.18477343022823334f, -0.09105003625154495f, 0.0f, 0.07958029955625534f, 0.16093020141124725f,
      0.24611230194568634f, 0.33791524171829224f, 0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f};
  static constexpr float decode(unsigned code) { return values[code & 15u]; }
};

}  // namespace quench
