#include "optimizers.hpp"

namespace quench::inline QUENCH_ISA::detail {
template groups_of<double> everywhere<double, psgd>();
template groups_of<double> everywhere<double, psgd_white>();
}  // namespace quench::detail
