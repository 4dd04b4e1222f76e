// A number format needs a name, a width and decode(code).
// says: number_format
#include <quench/quant/fake_quant.hpp>

struct half_a_format {
  static constexpr std::string_view name = "half";
  static constexpr int bits = 2;
#ifndef REFUSED
  static constexpr float decode(unsigned code) { return float(code) - 1.f; }
#endif
};

int main() { quench::fake_quant<half_a_format>(Eigen::MatrixXf::Random(4, 8).eval()); }
