#pragma once
// The model is compiled once, in instances_test.cpp, and used by every other unit.
#include <quench/nn/transformer.hpp>

extern template class quench::nn::transformer<float>;
extern template class quench::nn::transformer<double>;
