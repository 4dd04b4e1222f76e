// NaN, Inf, zero, constant, subnormal and huge inputs: every format, group, position and length 1..67.
#include "catch.hpp"
#include "oracle.hpp"

#include <quench/quant/group_scales.hpp>
#include <quench/quant/spec.hpp>

namespace q = quench;
using oracle::same;

namespace {
constexpr float nan_ = std::numeric_limits<float>::quiet_NaN(), inf_ = std::numeric_limits<float>::infinity();
bool finite(const q::matrix<float>& m) { return q::simd::all_finite(m.data(), m.size()); }
}  // namespace

TEST_CASE("propagate: one NaN or Inf makes its whole group NaN and no other, wherever it sits", "[special]") {
  for (const q::value_grid& g : oracle::all_grids())
    for (const q::tile t : {q::per_row(), q::per_block(16), q::per_column(), q::per_tile(2, 8), q::per_tensor()})
      for (q::index n = 1; n <= 67; n += n < 34 ? 1 : 11)
        for (q::index at = 0; at < n; at += n < 20 || at > n - 4 ? 1 : 5)
          for (const float bad : {nan_, inf_, -inf_}) {
            auto w = oracle::sample(3, n);
            const q::matrix<float> clean = q::fake_quant(w, g.name, {.group = t});
            w(1, at) = bad;
            q::matrix<float> a(3, n);
            const q::index count = q::fake_quant_into(g, a, w, {.group = t});
            const q::tiling tiles(t, 3, n);
            bool right = count == 1;
            for (q::index r = 0; r < 3; ++r)
              for (q::index c = 0; c < n; ++c) {
                const bool together = r / tiles.height == 1 / tiles.height && c / tiles.width == at / tiles.width;
                right = right && (together ? a(r, c) != a(r, c) : oracle::same_bits(a(r, c), clean(r, c)));
              }
            const Eigen::MatrixXf col = w;
            Eigen::MatrixXf b(3, n);
            right = right && q::fake_quant_into(g, b, col, {.group = t}) == 1 && same(b, a);
            INFO(g.name << " width " << n << " at " << at << " tile " << t.rows << "x" << t.cols << " value " << bad);
            REQUIRE(right);
          }
}

TEST_CASE("ignore: range from the finite values, NaN stays, Inf saturates", "[special]") {
  for (const q::value_grid& g : oracle::all_grids())
    for (const q::index n : {1, 15, 16, 33, 67, 600})
      for (q::index at = 0; at < n; at += 7) {
        const q::quant_options o{.non_finite = q::non_finite::ignore};
        auto w = oracle::sample(2, n);
        auto zeroed = w;
        zeroed(1, at) = 0;
        const q::matrix<float> clean = q::fake_quant(zeroed, g.name, o);
        const float s = q::find_scales(g, zeroed, o).scale[1];
        for (const float bad : {nan_, inf_, -inf_}) {
          w(1, at) = bad;
          q::matrix<float> a(2, n);
          INFO(g.name << " width " << n << " at " << at << " value " << bad);
          CHECK(q::fake_quant_into(g, a, w, o) == 1);
          CHECK(oracle::same_bits(a(1, at), bad != bad ? bad : (bad > 0 ? g.high : g.low) * s));
          a(1, at) = clean(1, at);
          CHECK(same(a, clean));
          w(1, at) = 0;
        }
      }
  CHECK_THROWS_AS(q::fake_quant<q::int4>(q::matrix<float>::Constant(2, 2, nan_).eval(), {.non_finite = q::non_finite::error}), q::error);
}

TEST_CASE("range from the field: {1, 2, Inf, -3} with ignore scales from 3", "[special]") {
  q::matrix<float> w(1, 4);
  w << 1, 2, inf_, -3;
  const q::matrix<float> a = q::fake_quant<q::int4>(w, {.non_finite = q::non_finite::ignore});
  CHECK(a(0, 2) == 7 * (3.f / 7));
  CHECK(a(0, 3) == -7 * (3.f / 7));
}

TEST_CASE("zero groups give exact zeros and leave the others alone", "[special]") {
  for (const q::value_grid& g : oracle::all_grids())
    for (const q::scale_rule& s : {q::scale_rule(q::absmax{}), q::scale_rule(q::percentile{}), q::scale_rule(q::gaussian{}),
                                   q::scale_rule(q::mse_search{4}), q::scale_rule(q::power_of_two{})})
      for (const q::tile t : oracle::all_groups()) {
        q::matrix<float> w = oracle::sample(3, 50);
        const q::matrix<float> zero = q::matrix<float>::Zero(3, 50);
        INFO(g.name << " rule " << s.index() << " tile " << t.rows << "x" << t.cols);
        CHECK((q::fake_quant(zero, g.name, {.group = t, .scale = s}).array() == 0).all());
        CHECK((q::fake_quant(q::matrix<float>(-zero), g.name, {.group = t, .scale = s}).array() == 0).all());
        if (t != q::per_row()) continue;
        const q::matrix<float> before = q::fake_quant(w, g.name, {.scale = s});
        w.row(1).setZero();
        const q::matrix<float> after = q::fake_quant(w, g.name, {.scale = s});
        CHECK((same(after.row(0), before.row(0)) && same(after.row(2), before.row(2)) && (after.row(1).array() == 0).all()));
      }
}

TEST_CASE("subnormal, tiny, huge and constant inputs stay finite and near", "[special]") {
  for (const q::value_grid& g : oracle::all_grids())
    for (const auto c : {q::convention::restricted, q::convention::full, q::convention::half, q::convention::affine, q::convention::affine_excludes_zero}) {
      if (c != q::convention::restricted && g.kind != q::grid_kind::integer) continue;
      for (const float unit : {1e-45f, 3e-42f, 1e-39f, 1.2e-38f, 1e-30f, 1.f, 1e30f, 3e38f, std::numeric_limits<float>::max()})
        for (const q::tile t : {q::per_row(), q::per_block(16), q::per_tensor()}) {
          q::matrix<float> w(2, 48);
          for (q::index i = 0; i < w.size(); ++i) w.data()[i] = unit * ((float(i % 7) - 3) / 3);
          const q::quant_options o{.group = t, .convention = c};
          const q::matrix<float> a = q::fake_quant(w, g.name, o);
          INFO(g.name << " unit " << unit << " convention " << int(c));
          CHECK(finite(a));
          const double step = double(q::find_scales(g, w, o).scale[0]);
          CHECK(a.cast<double>().cwiseAbs().maxCoeff() <= double(unit) * (1 + 1e-5) + 0.5 * step + 1.4e-45 * double(g.top()));
          // All the same: restricted puts it on the top itself, up to the coarseness of subnormal scales; the other
          // conventions may be off by as much as one step.
          const q::matrix<float> flat = q::matrix<float>::Constant(2, 48, unit / 2), b = q::fake_quant(flat, g.name, o);
          CHECK(finite(b));
          const double slack = c == q::convention::restricted ? 1e-5 * double(unit) : double(q::find_scales(g, flat, o).scale[0]);
          CHECK((b - flat).cast<double>().cwiseAbs().maxCoeff() <= slack * (1 + 1e-5) + 1.4e-45 * double(g.top()));
        }
    }
}

TEST_CASE("an int8 cast saturates, keeps NaN and rounds to even", "[special]") {
  q::matrix<float> w(1, 7), expected(1, 7);
  w << 300, -300, nan_, inf_, 127.5f, 127.4999f, 2.5f;
  expected << 127, -127, nan_, 127, 127, 127, 2;
  CHECK(same(q::fake_quant<q::int8>(w, {.scale = q::unit_scale{}, .non_finite = q::non_finite::ignore}), expected));
}

TEST_CASE("fp8 casts: saturating and not, by rounding mode", "[special]") {
  q::matrix<float> w(1, 8), e4m3(1, 8), e4m3_open(1, 8), e5m2_open(1, 8), e5m2_zero(1, 8);
  w << 448, 464, 465, 1000, -1000, 61439, 61440, 1e9f;
  const auto cast = [&](const char* spec) { return q::fake_quant(w, q::parse_spec(spec)); };
  e4m3 << 448, 448, 448, 448, -448, 448, 448, 448;
  e4m3_open << 448, 448, nan_, nan_, nan_, nan_, nan_, nan_;
  e5m2_open << 448, 448, 448, 1024, -1024, 57344, inf_, inf_;
  e5m2_zero << 448, 448, 448, 896, -896, 57344, 57344, 57344;
  CHECK(same(cast("fp8_e4m3/cast"), e4m3));
  CHECK(same(cast("fp8_e4m3/cast/nonsat"), e4m3_open));
  CHECK(same(cast("fp8_e5m2/cast/nonsat"), e5m2_open));
  CHECK(same(cast("fp8_e5m2/cast/nonsat/rtz"), e5m2_zero));
}

TEST_CASE("bf16 and fp16 casts of every bf16 pattern and its neighbours equal the bit trick", "[special]") {
  // bf16: add 0x7FFF + parity and drop the lower half (round to nearest even on the bits).
  for (std::uint32_t high = 0; high < 0x10000; high += 3) {
    q::matrix<float> w(1, 6), expected(1, 6);
    for (q::index i = 0; i < 6; ++i) {
      static constexpr std::uint32_t low[] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
      const std::uint32_t bits = high << 16 | low[i];
      w(0, i) = std::bit_cast<float>(bits);
      const float rounded = std::bit_cast<float>((bits + 0x7FFF + (high & 1)) & 0xFFFF0000u);
      const bool past = (bits & 0x7FFFFFFF) <= 0x7F800000 && std::abs(rounded) > q::max_of<q::bf16>;
      expected(0, i) = w(0, i) != w(0, i) ? nan_ : past ? std::copysign(q::max_of<q::bf16>, w(0, i)) : rounded;
    }
    const q::matrix<float> a = q::fake_quant<q::bf16>(w, {.scale = q::unit_scale{}, .non_finite = q::non_finite::ignore});
    if (!same(a, expected)) {
      CAPTURE(high, w, a, expected);
      REQUIRE(same(a, expected));
    }
  }
}
