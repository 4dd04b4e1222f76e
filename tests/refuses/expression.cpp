// An expression has no coefficients in memory yet.
// says: this argument is an expression, it has no memory to look at; call \.eval\(\) on it first
#include <quench/quant/fake_quant.hpp>

int main() {
  const Eigen::MatrixXf a = Eigen::MatrixXf::Random(4, 8), b = Eigen::MatrixXf::Random(4, 8);
#ifdef REFUSED
  quench::fake_quant<quench::int4>(a + b);
#else
  quench::fake_quant<quench::int4>((a + b).eval());
#endif
}
