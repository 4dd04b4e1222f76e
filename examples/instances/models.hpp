#pragma once
// The model is compiled once for all of our programs and tests, in models_*.cpp.
#include <quench/nn/transformer.hpp>

extern template class quench::nn::transformer<float>;
extern template class quench::nn::transformer<double>;
