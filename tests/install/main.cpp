// What a stranger does first: quantize a matrix, look at it, train on it. Exit code 0 when the results are as they must be.
#ifdef SINGLE_HEADER
#include "quench.hpp"
#else
#include <quench/optim/adamw.hpp>
#include <quench/optim/optimizer.hpp>
#include <quench/quant/fake_quant.hpp>
#include <quench/quant/packed.hpp>
#endif

int second_opinion(const quench::matrix<float>& w);

int main() {
  const quench::matrix<float> w{{7.f, -2.f, 0.5f}, {0.f, 14.f, -3.f}};
  const quench::matrix<float> q = quench::fake_quant<quench::int4>(w);
  const quench::matrix<float> expected{{7.f, -2.f, 0.f}, {0.f, 14.f, -4.f}};  // scales 1 and 2, ties to even
  if (q != expected || quench::unpack(quench::pack<quench::int4>(w)) != q) return 1;

  quench::param_list net{{"w", w, quench::matrix<float>::Ones(2, 3), quench::role::hidden}};
  quench::optimizer rule(quench::adamw{.lr = 0.5f, .weight_decay = 0.f});
  rule.step(net, 1.f);
  if (!net[0].value.isApprox((w.array() - 0.5f).matrix(), 1e-5f)) return 2;
  return second_opinion(w);
}
