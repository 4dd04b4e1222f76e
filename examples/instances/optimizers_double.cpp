#include "optimizers.hpp"

template const std::vector<quench::optimizer_entry<double>>& quench::optimizer_list<double>();
