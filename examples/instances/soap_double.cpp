#include "optimizers.hpp"

template quench::detail::groups_of<double> quench::detail::everywhere<double, quench::soap>();
