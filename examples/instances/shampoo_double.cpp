#include "optimizers.hpp"

namespace quench::inline QUENCH_ISA::detail {
template groups_of<double> everywhere<double, shampoo>();
template groups_of<double> everywhere<double, shampoo_google>();
}  // namespace quench::detail
