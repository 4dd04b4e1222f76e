// Walsh-Hadamard blocks in place, beside memcpy and the loop everybody writes.
#include <quench/linalg/hadamard.hpp>

#include "harness.hpp"

namespace {

template <class T>
bool add(quench::index block) {
  const std::string name =
      std::string("linalg/hadamard_") + (sizeof(T) == 4 ? "f32_" : "f64_") + std::to_string(block);
  return bench::add<T>(name, bench::cache_sizes, [block](bench::run<T>& r) {
    if (r.n < block) return r.verify(true), r.measure([] {});
    const auto view = [&](bench::buffer<T>& b) {
      return Eigen::Map<quench::matrix<T>>(b.data(), r.n / block, block);
    };
    const T norm = T(1 / std::sqrt(double(block)));
    bench::buffer<T> truth(static_cast<std::size_t>(r.n));
    std::copy(r.in.data(), r.in.data() + r.n, truth.data());
    std::copy(r.in.data(), r.in.data() + r.n, r.out.data());
    quench::hadamard_rows(view(r.out), block);
    for (quench::index b = 0; b < r.n; b += block)
      quench::detail::hadamard_scalar(truth.data() + b, block, static_cast<const T*>(nullptr), norm);
    r.verify(std::equal(truth.data(), truth.data() + r.n, r.out.data()));
    r.measure([&] { quench::hadamard_rows(view(r.out), block); }, bench::peer("loop", [&] {
                for (quench::index b = 0; b < r.n; b += block)
                  quench::detail::hadamard_scalar(truth.data() + b, block, static_cast<const T*>(nullptr),
                                                  norm);
              }));
  });
}

const bool rows = [] {
  for (quench::index block : {16, 64, 128, 256, 512, 1024, 2048, 4096}) add<float>(block);
  return add<double>(128) && add<double>(1024);
}();

}  // namespace
