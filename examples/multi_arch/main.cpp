// One program for every machine: the kernels are there for three instruction sets, the processor picks, the bits are the same.
#include "kernels.hpp"

#include <quench/core/cpu.hpp>
#include <quench/core/random.hpp>

#include <cstring>
#include <iostream>
#include <vector>

namespace quench_baseline { extern const kernels table; }
namespace quench_avx2 { extern const kernels table; }
namespace quench_avx512 { extern const kernels table; }

int main() {
  constexpr std::ptrdiff_t rows = 33, cols = 517;
  std::vector<float> x(rows * cols);
  const quench::random_stream random(1, 0);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(random.normal(i));

  const auto run = [&](const kernels& k, std::ptrdiff_t block) {
    std::vector<float> y(x.size());
    k.fake_quant_int4(x.data(), y.data(), rows, cols, block);
    return y;
  };
  const auto best = quench::best_instruction_set();
  const kernels& chosen = quench::best_of(quench_baseline::table, quench_avx2::table, quench_avx512::table);
  std::cout << "this machine runs " << (best == quench::instruction_set::avx512 ? "avx512" :
                                        best == quench::instruction_set::avx2 ? "avx2" : "baseline") << '\n';

  int different = 0;
  for (std::ptrdiff_t block : {16, 32, 100, 517}) {
    const auto expected = run(quench_baseline::table, block);
    std::vector<const kernels*> others{&chosen};
    if (best >= quench::instruction_set::avx2) others.push_back(&quench_avx2::table);
    for (const kernels* k : others) {
      const auto got = run(*k, block);
      different += std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)) != 0;
    }
  }
  std::cout << (different == 0 ? "every instruction set gives the same bits\n" : "instruction sets differ\n");
  return different;
}
