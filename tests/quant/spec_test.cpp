// Spec strings: what they mean, that they round-trip, and what a wrong one says.
#include "catch.hpp"
#include "oracle.hpp"

#include <quench/quant/spec.hpp>

namespace q = quench;

TEST_CASE("canonical specs come back as they were written", "[spec]") {
  for (const char* text : {"none", "int4", "int4/g128/mse", "fp8_e4m3/row", "mxfp4", "mxfp8_e4m3:rceil", "nf4/b64", "uint4", "bf16", "mxint8",
                           "int4/t2x16/p99.5/full/sr:7:8", "int3/g64/gauss:2.5/affine", "int4/mse:2.4:50:0.3", "int4/dither:3", "int8/tensor",
                           "int8/col/half", "fp8_e5m2/tensor/cast/nonsat", "int4/ignore", "mxfp6_e2m3:even/sr", "fp4_e2m1/g16/pow2:ceil"})
    CHECK(q::to_string(q::parse_spec(text)) == text);
}

TEST_CASE("every format, group, rule, convention and rounding round-trips", "[spec]") {
  for (const q::value_grid& g : oracle::all_grids())
    for (const q::tile t : oracle::all_groups())
      for (const q::scale_rule& s : {q::scale_rule(q::absmax{}), q::scale_rule(q::percentile{99.9}), q::scale_rule(q::gaussian{1.5f}),
                                     q::scale_rule(q::mse_search{10, 0.25f, 3.f}), q::scale_rule(q::unit_scale{}), q::scale_rule(q::power_of_two{})})
        for (const q::rounding& r : oracle::all_roundings()) {
          if (r.offset != 0) continue;   // a spec has no offset: it belongs to the step, not to the quantizer
          q::quant_spec a{g, {.group = t, .scale = s, .round = r}, false};
          const q::quant_spec b = q::parse_spec(q::to_string(a));
          INFO(q::to_string(a));
          REQUIRE(a == b);
          REQUIRE((b.options.group == t && b.options.round == r && b.grid.name == g.name && b.options.scale.index() == s.index()));
        }
}

TEST_CASE("plain names mean what the manual says", "[spec]") {
  const auto w = oracle::sample(4, 96);
  CHECK(oracle::same(q::fake_quant(w, q::parse_spec("int4")), q::fake_quant<q::int4>(w)));
  CHECK(oracle::same(q::fake_quant(w, q::parse_spec("none")), w));
  CHECK(oracle::same(q::fake_quant(w, q::parse_spec("mxfp4")), q::fake_quant<q::fp4_e2m1>(w, {.group = q::per_block(32), .scale = q::power_of_two{}})));
  CHECK(oracle::same(q::fake_quant(w, q::parse_spec("nf4")), q::fake_quant<q::nf4>(w, {.group = q::per_block(64)})));
}

TEST_CASE("a wrong spec names the part and the choices", "[spec]") {
  const auto says = [](const char* text, std::initializer_list<const char*> words) {
    try {
      static_cast<void>(q::parse_spec(text));
    } catch (const q::error& e) {
      for (const char* w : words) {
        INFO(text << ": " << e.what());
        CHECK(std::string(e.what()).find(w) != std::string::npos);
      }
      return;
    }
    FAIL_CHECK(text << " was accepted");
  };
  says("int9", {"'int9'", "int4", "mxfp4", "nf4"});
  says("", {"''", "int4"});
  says("int4/foo", {"'foo'", "gN", "mse", "affine"});
  says("int4/g0", {"group size", "0"});
  says("int4/g-3", {"group size", "-3"});
  says("int4/g12x", {"group size", "12x"});
  says("int4/", {"''"});
  says("int4:x", {"'int4'"});
  says("mxfp4:up", {"'up'", "rceil"});
  says("int4/mse:x", {"'x'", "norm"});
  says("int4/mse:2:0", {"steps", "0"});
  says("int4/sr:1:40", {"1..23", "40"});
  says("int4/p0", {"percentile"});
  says("int4/p101", {"percentile"});
  says("fp8_e4m3/full", {"integer formats", "fp8_e4m3"});
  says("none/row", {"none"});
  says("int4/t4", {"tROWSxCOLUMNS"});
  CHECK_THROWS_AS(q::with_format("int9", [](auto) {}), q::error);
}

TEST_CASE("misuse is named", "[quant]") {
  q::matrix<float> w = oracle::sample(2, 8), out(3, 8);
  CHECK_THROWS_WITH(q::fake_quant_into<q::int4>(out, w), Catch::Contains("2 x 8") && Catch::Contains("3 x 8"));
  CHECK_THROWS_AS(q::fake_quant<q::int4>(w, {.group = {-1, 0}}), q::error);
  CHECK_THROWS_AS(q::fake_quant<q::int4>(w, {.scale = q::custom_scale{}}), q::error);
  CHECK_THROWS_AS(q::fake_quant<q::int4>(w, {.scale = q::custom_scale([](auto) { return -1.0; })}), q::error);
  CHECK_THROWS_AS(q::fake_quant<q::nf4>(w, {.convention = q::convention::affine}), q::error);
  const q::matrix<float> empty(0, 5);
  CHECK(q::fake_quant<q::int4>(empty).rows() == 0);
}
