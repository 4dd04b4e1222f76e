#include "optimizers.hpp"

template quench::detail::groups_of<float> quench::detail::everywhere<float, quench::soap>();
