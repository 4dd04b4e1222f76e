#include "catch.hpp"
#include <quench/quench.hpp>
#include <random>
namespace q = quench;

// Hides F's fast snap, so that the derived (table search) path is exercised: the oracle.
template <class F> struct by_table {
  static constexpr std::string_view name = F::name;
  static constexpr int bits = F::bits;
  static constexpr float decode(unsigned c) { return F::decode(c); }
};
template <class List> struct as_tuple;
template <class... F> struct as_tuple<q::format_list<F...>> { using type = std::tuple<F...>; };
using formats = as_tuple<q::builtin_formats>::type;

static q::matrix<float> gaussian_matrix(int r, int c, unsigned seed = 1) {
  std::mt19937 g(seed); std::normal_distribution<float> n;
  q::matrix<float> m(r, c); for (auto& x : m.reshaped()) x = n(g);
  return m;
}

TEMPLATE_LIST_TEST_CASE("snap: fast path equals the value table", "[format]", formats) {
  using F = TestType;
  if (F::bits == 16 || q::grid_of<F>().low != q::grid_of<F>().full_low) return;   // bf16 overflows; the table has -2^(b-1)
  const float top = q::max_of<F>;
  for (int k = -40000; k <= 40000; ++k) {
    const float x = 1.2f * top * float(k) / 40000.f;
    const float fast = q::snap<F>(x, q::nearest_even{}, 0), table = q::snap<by_table<F>>(x, q::nearest_even{}, 0);
    if (fast != table) { CAPTURE(x, fast, table); REQUIRE(fast == table); }
  }
}
TEMPLATE_LIST_TEST_CASE("fake_quant: laws", "[quant]", formats) {
  using F = TestType;
  const auto w = gaussian_matrix(7, 77);
  const Eigen::MatrixXf col = w;
  q::matrix<float> padded = q::matrix<float>::Zero(9, 100); padded.block(1, 3, 7, 77) = w;
  for (auto g : {q::per_tensor(), q::per_row(), q::per_column(), q::per_block(16), q::per_tile(4, 32)})
    for (q::rounding r : {q::rounding{q::nearest_even{}}, q::rounding{q::stochastic{7}}}) {
      const q::quant_options o{.group = g, .round = r};
      const auto a = q::fake_quant<F>(w, o);
      CHECK(a == q::fake_quant<F>(col, o));                                   // layout does not matter
      CHECK(a == q::fake_quant<F>(padded.block(1, 3, 7, 77), o));             // strides do not matter
      CHECK(a == q::fake_quant(w, F::name, o));                               // run-time == compile-time
      CHECK(a == q::unpack(q::pack<F>(w, o)));                                // packing forgets nothing
      auto in_place = w; q::fake_quant_into<F>(in_place, in_place, o);
      CHECK(a == in_place);
      auto threaded = o; threaded.run = q::threads(3);
      CHECK(a == q::fake_quant<F>(w, threaded));                               // threads do not matter
      if (r == q::rounding{} && q::grid_of<F>().low < 0) { const auto twice = q::fake_quant<F>(a, o); CHECK(((twice - a).array().abs() <= 1e-6f * a.array().abs()).all()); }
    }
}
TEST_CASE("stochastic rounding is unbiased", "[rounding]") {
  q::matrix<float> w = q::matrix<float>::Constant(64, 4096, 0.3f); w.col(0).setConstant(7.f);
  const auto a = q::fake_quant<q::int4>(w, {.round = q::stochastic{3}});
  CHECK(a.rightCols(4095).mean() == Approx(0.3f).margin(0.005));
}
#include <quench/core/tensor.hpp>
TEST_CASE("a tensor is a matrix", "[tensor]") {
  Eigen::Tensor<float, 3, Eigen::RowMajor> t(2, 3, 32); t.setRandom();
  const q::matrix<float> expected = q::fake_quant<q::int4>(q::flatten(t));
  q::fake_quant_into<q::int4>(q::flatten(t), q::flatten(t));
  CHECK(q::matrix<float>(q::flatten(t)) == expected);
}
