#pragma once
// One table of functions, built for three instruction sets. Plain pointers: no type of a library crosses the border.
#include <cstddef>
#include <cstdint>

struct kernels {
  /// Fake-quantizes rows x cols floats to int4, one scale every `block` values.
  void (*fake_quant_int4)(const float* from, float* to, std::ptrdiff_t rows, std::ptrdiff_t cols, std::ptrdiff_t block);
};
