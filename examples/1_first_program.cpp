// A first program: what number formats do to a matrix, and how large its outliers are.
#include <quench/quant/fake_quant.hpp>
#include <quench/stats/outliers.hpp>

#include <iostream>

int main() {
  Eigen::MatrixXf w = Eigen::MatrixXf::Random(256, 1024);  // any dense Eigen object, of either storage order
  w.col(7) *= 20.f;                                         // an outlier channel, as language models grow them

  std::cout << "max over median, mean over rows: " << quench::max_to_median(w) << '\n';
  for (const char* format : {"int8", "int4", "fp4_e2m1", "int3"}) {
    const Eigen::MatrixXf by_row = quench::fake_quant(w, format);                                     // one scale a row
    const Eigen::MatrixXf by_32 = quench::fake_quant(w, format, {.group = quench::per_block(32)});    // one every 32
    std::cout << format << ": relative error " << (w - by_row).norm() / w.norm() << " by row, "
              << (w - by_32).norm() / w.norm() << " in blocks of 32\n";
  }
}
