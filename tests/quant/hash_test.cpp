// The same bits on every instruction set: one hash over formats, groups, roundings, rules, float and double, held
// against a constant. tests/CMakeLists.txt builds this file once more for each set of -m flags it can run.
#include "catch.hpp"
#include "oracle.hpp"

#include <quench/quant/spec.hpp>

namespace q = quench;

namespace {

struct hash {
  std::uint64_t value = 14695981039346656037ull;   // FNV-1a, word by word
  void add(std::uint64_t word) { value = (value ^ word) * 1099511628211ull; }
  template <class T>
  void add(const q::matrix<T>& m) {
    for (q::index i = 0; i < m.size(); ++i) {
      const T x = m.data()[i];
      if (x != x) add(std::uint64_t(0x7FC00000));
      else if constexpr (sizeof(T) == 4) add(std::uint64_t(std::bit_cast<std::uint32_t>(x)));
      else add(std::bit_cast<std::uint64_t>(x));
    }
  }
};

/// Without libm: sums of uniform numbers, some tiny, some huge, some exact ties, a NaN.
template <class T>
q::matrix<T> input(q::index rows, q::index cols) {
  q::matrix<T> w(rows, cols);
  const q::random_stream random(11, 0);
  for (q::index i = 0; i < w.size(); ++i) {
    const auto at = std::uint64_t(i) * 8;
    double x = random.uniform(at) + random.uniform(at + 1) + random.uniform(at + 2) - 1.5;
    if (random.below(at + 3, 5) == 0) x = double(int(x * 8)) / 16;
    if (random.below(at + 4, 40) == 0) x *= 16;
    w.data()[i] = T(float(x));
  }
  w.row(1) *= T(1e-39f);
  w.row(2) *= T(1e36f);
  w.row(3).setZero();
  w(4, 5) = std::numeric_limits<T>::quiet_NaN();
  return w;
}

template <class T>
void run(hash& h, const q::value_grid& g, const q::matrix<T>& w, const q::quant_options& o) {
  q::matrix<T> out(w.rows(), w.cols());
  q::fake_quant_into(g, out, w, o);
  h.add(out);
}

}  // namespace

TEST_CASE("quantizers give the same bits on every instruction set", "[isa]") {
  const auto w = input<float>(7, 163);
  const auto d = input<double>(7, 50);
  hash h;
  for (const q::value_grid& g : oracle::all_grids()) {
    for (const q::tile t : oracle::all_groups()) {
      for (const q::rounding& r : oracle::all_roundings()) run(h, g, w, {.group = t, .round = r});
      run(h, g, d, {.group = t});
      for (const q::scale_rule& s : {q::scale_rule(q::percentile{97}), q::scale_rule(q::gaussian{2.f}), q::scale_rule(q::mse_search{6}),
                                     q::scale_rule(q::power_of_two{q::pow2_rule::even}), q::scale_rule(q::unit_scale{})})
        run(h, g, w, {.group = t, .scale = s});
      if (g.kind != q::grid_kind::integer) continue;
      for (const auto c : {q::convention::full, q::convention::half, q::convention::affine, q::convention::affine_excludes_zero})
        run(h, g, w, {.group = t, .convention = c});
    }
    const auto p = q::pack(g, w, {.group = q::per_block(32)});
    for (const auto byte : p.codes) h.add(byte);
  }
  CHECK(h.value == 0xd042f937c63e1b14ull);
}
