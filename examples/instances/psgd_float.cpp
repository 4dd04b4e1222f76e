#include "optimizers.hpp"

namespace quench::inline QUENCH_ISA::detail {
template groups_of<float> everywhere<float, psgd>();
template groups_of<float> everywhere<float, psgd_white>();
}  // namespace quench::detail
