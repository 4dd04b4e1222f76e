#include <quench/nn/transformer.hpp>

template class quench::nn::transformer<double>;
