#include "catch.hpp"

#include <quench/study/metrics.hpp>
#include <quench/study/quantizer.hpp>

using namespace quench;

TEST_CASE("labels name how weights and inputs are quantized") {
  const auto is = [](const char* text, const char* weights, const char* inputs) {
    const auto q = study::parse_quantizer(text);
    CHECK(q.label == text);
    CHECK(to_string(q.weights) == weights);
    CHECK(to_string(q.inputs) == inputs);
  };
  is("w4", "int4", "none");
  is("w3", "int3", "none");
  is("w4a4", "int4", "int4");
  is("w4a8", "int4", "int8");
  is("a8", "none", "int8");
  is("none", "none", "none");
  is("int4/g32", "int4/g32", "none");
  is("mxfp4", "mxfp4", "none");
  is("int4+int8", "int4", "int8");
  is("none+int8", "none", "int8");
}

TEST_CASE("labels that mean nothing are refused with the choices") {
  for (const char* text : {"", "w", "w99", "w4b4", "w4a", "int9", "int4+", "+int4", "w4a4a4", "w4+a4"}) {
    INFO(text);
    CHECK_THROWS_AS(study::parse_quantizer(text), error);
  }
  CHECK_THROWS_WITH(study::parse_quantizer("w99"), Catch::Contains("99") && Catch::Contains("int4"));
}

TEST_CASE("the two errors") {
  CHECK(study::relative_error(3.0, 2.0) == 0.5);
  CHECK(study::absolute_error(3.0, 2.0) == 1.0);
}
