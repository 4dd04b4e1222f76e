// The same headers in a second translation unit: everything in them must be inline or a template.
#ifdef SINGLE_HEADER
#include "quench.hpp"
#else
#include <quench/optim/adamw.hpp>
#include <quench/optim/optimizer.hpp>
#include <quench/quant/fake_quant.hpp>
#include <quench/quant/packed.hpp>
#endif

int second_opinion(const quench::matrix<float>& w) {
  return quench::unpack(quench::pack<quench::int4>(w)) == quench::matrix<float>(quench::fake_quant<quench::int4>(w)) ? 0 : 3;
}
