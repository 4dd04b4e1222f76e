// Quantizing integers is a mistake: only floating-point coefficients have something to round.
// says: kernels take float or double coefficients
#include <quench/quant/fake_quant.hpp>

int main() {
  const Eigen::MatrixXi a = Eigen::MatrixXi::Ones(4, 8);
#ifdef REFUSED
  quench::fake_quant<quench::int4>(a);
#else
  quench::fake_quant<quench::int4>(a.cast<float>().eval());
#endif
}
