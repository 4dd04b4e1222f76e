#include "optimizers.hpp"

namespace quench::inline QUENCH_ISA::detail {
template groups_of<float> everywhere<float, shampoo>();
template groups_of<float> everywhere<float, shampoo_google>();
}  // namespace quench::detail
