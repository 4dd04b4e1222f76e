// QuEST against the reference's numbers, and one row by hand.
#include "catch.hpp"

#include <quench/format/registry.hpp>
#include <quench/io/safetensors.hpp>
#include <quench/qat/quest.hpp>

#include <cstring>
#include <string>

namespace q = quench;

namespace {

template <class T>
std::vector<T> values(const q::io::safetensors_file& file, const std::string& name) {
  const auto bytes = file.bytes(name);
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}
q::matrix<float> rows(const q::io::safetensors_file& file, const std::string& name) {
  const auto v = values<float>(file, name);
  return Eigen::Map<const q::matrix<float>>(v.data(), 6, 128);
}

}  // namespace

TEMPLATE_TEST_CASE("quest: forward, mask and gradient are the reference's", "[qat]", q::int2, q::int3, q::int8) {
  const q::io::safetensors_file file(QUENCH_TEST_DATA "/ptq/quest.safetensors");
  const std::string bits = "b" + std::to_string(TestType::bits) + "/";
  const q::quest<TestType> method;
  typename q::quest<TestType>::tape tape;
  const q::matrix<float> y = method.forward(rows(file, "x"), tape), grad = method.backward(rows(file, "dy"), tape);
  const q::matrix<float> y0 = rows(file, bits + "y"), grad0 = rows(file, bits + "grad");
  const auto mask = values<std::uint8_t>(file, bits + "mask");
  for (q::index r = 0; r < y.rows(); ++r) {
    CHECK((y.row(r) - y0.row(r)).cwiseAbs().maxCoeff() <= 2e-6f * y0.row(r).cwiseAbs().maxCoeff());
    CHECK((grad.row(r) - grad0.row(r)).cwiseAbs().maxCoeff() <= 2e-6f * grad0.row(r).cwiseAbs().maxCoeff());
    for (q::index c = 0; c < y.cols(); ++c) CHECK(tape.trusted(r, c) == float(mask[std::size_t(r * 128 + c)]));
  }
}

TEST_CASE("quest: one row by hand", "[qat]") {
  // Not rotated. Mean square 4, s = 1.49353462 * 2 = 2.98707, step = 2 s / 3 = 1.99138: levels -2.98707, -0.99569, 0.99569, 2.98707.
  // Trusted up to s + step / 2 = 3.98276.
  q::matrix<float> w(1, 4), g(1, 4);
  w << 3.9f, -0.5f, 0.7f, -0.2f;                 // squares 15.21 + 0.25 + 0.49 + 0.04 = 15.99
  w(0, 3) = -std::sqrt(0.05f);                   // now 16
  g << 1, 2, 3, 4;
  const q::quest<q::int2> method{.block = 1};
  q::quest<q::int2>::tape tape;
  const q::matrix<float> y = method.forward(w, tape);
  CHECK(y(0, 0) == Approx(2.98707).epsilon(1e-5));
  CHECK(y(0, 1) == Approx(-0.99569).epsilon(1e-5));
  CHECK(y(0, 2) == Approx(0.99569).epsilon(1e-5));
  CHECK(y(0, 3) == Approx(-0.99569).epsilon(1e-5));
  CHECK(method.backward(g, tape) == g);
  w << 3.999f, 0.01f, 0.01f, 0.01f;              // one beyond s + step / 2 = 1.9914 * 2
  CHECK(method.forward(w, tape)(0, 0) == Approx(1.49353462 * std::sqrt((3.999 * 3.999 + 0.0003) / 4)).epsilon(1e-5));
  CHECK(tape.trusted(0, 0) == 0);
  CHECK(tape.trusted(0, 1) == 1);
}
