// Scale rules, conventions and searches: hand-computed examples, and what each promises.
#include "catch.hpp"
#include "oracle.hpp"

#include <quench/quant/distortion.hpp>
#include <quench/quant/group_scales.hpp>

namespace q = quench;

namespace {
q::matrix<float> row(std::initializer_list<float> x) {
  q::matrix<float> m(1, q::index(x.size()));
  std::copy(x.begin(), x.end(), m.data());
  return m;
}
double cost(const q::matrix<float>& w, const q::matrix<float>& a, double norm) {
  double sum = 0;
  for (q::index i = 0; i < w.size(); ++i) sum += std::pow(std::abs(double(a.data()[i] - w.data()[i])), norm);
  return sum;
}
}  // namespace

TEST_CASE("the three symmetric conventions on {-8, 7.5, 1}", "[scale]") {
  const auto w = row({-8, 7.5f, 1});
  CHECK(q::find_scales<q::int4>(w).scale[0] == 8.f / 7);
  CHECK(q::find_scales<q::int4>(w, {.convention = q::convention::full}).scale[0] == 1.f);
  CHECK(q::find_scales<q::int4>(w, {.convention = q::convention::half}).scale[0] == 16.f / 15);
  CHECK(oracle::same(q::fake_quant<q::int4>(w, {.convention = q::convention::full}), row({-8, 7, 1})));   // 7.5 clips to 7
}

TEST_CASE("GPTQ's symmetric rule keeps an all-positive row (field report A50)", "[scale]") {
  const q::matrix<float> a = q::fake_quant<q::int4>(row({.8315f, .4567f}), {.convention = q::convention::half});
  CHECK(a(0, 0) == Approx(.77607f).epsilon(1e-4));
  CHECK(a(0, 1) == Approx(.44347f).epsilon(1e-4));
}

TEST_CASE("affine: including zero or not (field report A6), constants, and ranges beyond float", "[scale]") {
  const auto w = row({1, 2, 3, 4});
  const auto with = q::find_scales<q::uint4>(w, {.convention = q::convention::affine});
  CHECK(with.scale[0] == 4.f / 15);
  CHECK(with.low[0] == 0);   // zero point 0
  CHECK(q::find_scales<q::uint4>(w, {.convention = q::convention::affine_excludes_zero}).scale[0] == 3.f / 15);
  CHECK(q::fake_quant<q::uint4>(row({5, 5, 5}), {.convention = q::convention::affine})(0, 1) == Approx(5));
  CHECK(q::fake_quant<q::uint4>(row({5, 5, 5}), {.convention = q::convention::affine_excludes_zero})(0, 1) == Approx(5).epsilon(1e-5));
  const auto wide = q::fake_quant<q::int4>(row({-3e38f, 3e38f, 0}), {.convention = q::convention::affine});
  CHECK(std::abs(wide(0, 0) + 3e38f) <= 2.1e37f);
  CHECK(std::abs(wide(0, 1) - 3e38f) <= 2.1e37f);
}

TEST_CASE("mse search is never worse than absmax on its own sum", "[scale]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto w = oracle::sample(3, 64, seed);
    for (const q::value_grid& g : oracle::all_grids())
      for (const float norm : {1.f, 2.f, 2.4f})
        for (const q::tile t : {q::per_row(), q::per_block(16), q::per_tensor()}) {
          if (g.bits == 16) continue;
          const q::matrix<float> base = q::fake_quant(w, g.name, {.group = t});
          const q::matrix<float> best = q::fake_quant(w, g.name, {.group = t, .scale = q::mse_search{16, 0.4f, norm}});
          INFO(g.name << " norm " << norm);
          CHECK(cost(w, best, double(norm)) <= cost(w, base, double(norm)) * (1 + 1e-12));
        }
  }
}

TEST_CASE("percentile takes the nearest rank", "[scale]") {
  q::matrix<float> w(1, 10);
  for (int i = 0; i < 10; ++i) w(0, i) = float(i + 1) * (i % 2 ? -1.f : 1.f);
  CHECK(q::find_scales<q::int8>(w, {.scale = q::percentile{90}}).scale[0] == 9.f / 127);
  CHECK(q::find_scales<q::int8>(w, {.scale = q::percentile{100}}).scale[0] == 10.f / 127);
  CHECK(q::find_scales<q::int8>(w, {.scale = q::percentile{1}}).scale[0] == 1.f / 127);
}

TEST_CASE("gaussian: the optimal clip is the known constant, and beats its neighbours", "[scale]") {
  CHECK(q::grid_of<q::int4>().gaussian_clip() == Approx(2.4739).epsilon(1e-4));      // odd 15 levels
  CHECK(q::grid_of<q::ternary>().gaussian_clip() == Approx(1.224006).epsilon(1e-5));
  CHECK(q::grid_of<q::fp4_e2m1>().gaussian_clip() == Approx(6 * 0.48708).epsilon(1e-4));
  q::matrix<float> big(1, 400000);
  const q::random_stream random(5, 0);
  for (q::index i = 0; i < big.size(); ++i) big(0, i) = float(random.normal(std::uint64_t(i)));
  const auto error = [&](float clip) { return q::distortion_of(big, q::fake_quant<q::int4>(big, {.scale = q::gaussian{clip}})).mse(); };
  CHECK(error(0) < error(2.0f));
  CHECK(error(0) < error(3.0f));
  CHECK(error(0) == Approx(0.012889).epsilon(0.01));
}

TEST_CASE("power-of-two rules by bit field (field reports L9, A32, A34)", "[scale]") {
  const auto scale = [](float amax, q::pow2_rule r) { return q::find_scales<q::fp4_e2m1>(row({amax, 0}), {.scale = q::power_of_two{r}}).scale[0]; };
  using enum q::pow2_rule;
  CHECK(scale(4.f, floor) == 1.f);
  CHECK(scale(std::nextafter(8.f, 0.f), floor) == 1.f);   // log2 in float would say 2
  CHECK(scale(4.f, ceil) == 1.f);
  CHECK(scale(4.0000005f, ceil) == 2.f);
  CHECK(scale(6.f, rceil) == 1.f);
  CHECK(scale(6.0000005f, rceil) == 2.f);
  CHECK(scale(6.9999f, even) == 1.f);
  CHECK(scale(7.f, even) == 2.f);
  const q::random_stream random(3, 0);
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const float amax = float(std::exp(20 * random.uniform(i) - 10));
    REQUIRE(amax / scale(amax, rceil) <= 6.f);
  }
  CHECK(q::find_scales<q::int8>(row({1.5f, 0}), {.scale = q::power_of_two{}}).scale[0] == 1.f / 64);   // MXINT8
}

TEST_CASE("a group never straddles rows (field report A18)", "[scale]") {
  q::matrix<float> w = q::matrix<float>::Ones(2, 5);
  w(0, 4) = 1000;
  CHECK((q::fake_quant<q::int4>(w, {.group = q::per_block(4)}).row(1).array() == 1).all());
}

TEST_CASE("stochastic rounding: unbiased, exact on the grid, few bits bounded (field report A40)", "[rounding]") {
  for (const char* name : {"int4", "fp8_e4m3", "fp4_e2m1"}) {
    const q::value_grid g = q::find_grid(name);
    for (const float x : {2.3f, -2.3f, 0.2f, -0.2f, 2.5f}) {
      q::matrix<float> w = q::matrix<float>::Constant(8, 20000, x);
      const q::matrix<float> a = q::fake_quant(w, name, {.scale = q::unit_scale{}, .round = q::stochastic{9}});
      INFO(name << " " << x);
      CHECK(a.cast<double>().mean() == Approx(double(x)).margin(0.012));
    }
    for (const float v : g.book().values) {
      if (v < g.low) continue;
      const q::matrix<float> a = q::fake_quant(q::matrix<float>::Constant(1, 999, v).eval(), name, {.scale = q::unit_scale{}, .round = q::stochastic{4, 0, 3}});
      CHECK((a.array() == v).all());
    }
  }
  const q::matrix<float> w = q::matrix<float>::Constant(8, 20000, 0.3f);
  for (const int bits : {2, 3, 8})
    CHECK(std::abs(q::fake_quant<q::int4>(w, {.scale = q::unit_scale{}, .round = q::stochastic{1, 0, bits}}).cast<double>().mean() - 0.3) <=
          std::ldexp(1.0, -(bits + 1)) + 0.004);
}

TEST_CASE("distortion by hand, and merging equals adding", "[distortion]") {
  const auto d = q::distortion_of(row({3, -4, 0.1f, 0}), row({3, -3, 0, 0}));
  CHECK(d.mse() == Approx((1 + 0.01) / 4));
  CHECK(d.max_error == 1);
  CHECK(d.rounded_to_zero == 1);
  CHECK(d.sign_flips == 0);
  CHECK(d.sqnr_db() == Approx(10 * std::log10(25.01 / 1.01)));
  CHECK(d.cosine() == Approx(21 / (std::sqrt(25.01) * std::sqrt(18.0))));
  const auto w = oracle::sample(6, 40), a = q::matrix<float>(q::fake_quant<q::int3>(w));
  auto parts = q::distortion_of(w.topRows(2), a.topRows(2));
  parts.merge(q::distortion_of(w.bottomRows(4), a.bottomRows(4)));
  CHECK(parts.mse() == Approx(q::distortion_of(w, a).mse()).epsilon(1e-14));
  CHECK(q::distortion_of(w, w).cosine() == Approx(1));
}

TEST_CASE("find_scales and fake_quant_value give fake_quant's bits", "[scale]") {
  const auto w = oracle::sample(5, 70);
  for (const q::value_grid& g : oracle::all_grids())
    for (const q::rounding& r : oracle::all_roundings()) {
      const q::quant_options o{.group = q::per_block(32), .round = r};
      const auto s = q::find_scales(g, w, o);
      q::matrix<float> a = q::fake_quant(w, g.name, o), b(5, 70);
      for (q::index i = 0; i < 5; ++i)
        for (q::index j = 0; j < 70; ++j) b(i, j) = q::fake_quant_value(g, w(i, j), s.scale_of(i, j), r.bind(i), j);
      INFO(g.name << " rounding " << int(r.mode));
      CHECK(oracle::same(a, b));
    }
}
