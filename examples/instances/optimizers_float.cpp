#include "optimizers.hpp"

template const std::vector<quench::optimizer_entry<float>>& quench::optimizer_list<float>();
