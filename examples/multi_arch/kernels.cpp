// Compiled once for each instruction set; QUENCH_ARCH is the namespace of this build.
#include "kernels.hpp"

#include <quench/quant/fake_quant.hpp>

namespace {

void fake_quant_int4(const float* from, float* to, std::ptrdiff_t rows, std::ptrdiff_t cols, std::ptrdiff_t block) {
  const Eigen::Map<const quench::matrix<float>> source(from, rows, cols);
  Eigen::Map<quench::matrix<float>> target(to, rows, cols);
  quench::fake_quant_into<quench::int4>(target, source, {.group = quench::per_block(block)});
}

}  // namespace

namespace QUENCH_ARCH {
extern const kernels table;
const kernels table{&fake_quant_int4};
}  // namespace QUENCH_ARCH
