// Goldens of single elements: every entry of fp.json (ml_dtypes casts) and int.json (integers with group
// scales).
#include <quench/format/half.hpp>
#include <quench/format/narrow.hpp>
#include <quench/quant/packed.hpp>

#include "goldens.hpp"

using namespace goldens;

namespace {

/// Inputs of an entry: all 65536 patterns of a 16-bit type, or the listed boundary values.
std::vector<float> cast_inputs(const golden_file& g, const std::string& stem, const std::string& from) {
  if (from == "edge") return g.array<float>(stem + "_edge_in");
  std::vector<float> x(65536);
  for (std::uint32_t c = 0; c < 65536; ++c)
    x[c] = from == "bf16" ? q::from_bf16(std::uint16_t(c)) : q::from_fp16(std::uint16_t(c));
  return x;
}

/// `expected` holds ml_dtypes' codes. It differs from the saturating casts of OCP and CUDA in one place: an
/// infinity is not saturated; and fp6/fp4 turn NaN into -0 where Quench's code is 0 (packed) or the element
/// stays NaN (fake_quant).
template <class F>
void check_cast(const std::vector<float>& x, const std::vector<std::uint8_t>& expected, bool saturate) {
  REQUIRE(x.size() == expected.size());
  constexpr bool has_nan = F::shape.overflow != q::overflow_code::none;
  const Eigen::Map<const q::matrix<float>> row(x.data(), 1, q::index(x.size()));
  const q::matrix<float> y = q::fake_quant<F>(
      row, {.scale = q::unit_scale{},
            .non_finite = q::non_finite::ignore,
            .overflow = saturate || !has_nan ? q::overflow::saturate : q::overflow::non_saturating});
  std::size_t wrong_code = 0, wrong_value = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const unsigned code = unsigned(q::to_narrow<F>(x[i]));
    const float value = F::decode(expected[i]);
    if (x[i] != x[i]) {
      wrong_code += has_nan ? !std::isnan(F::decode(code)) : code != 0;
      wrong_value += !std::isnan(y(0, q::index(i)));
      if (has_nan) CHECK(std::isnan(value));
      continue;
    }
    const bool beyond = std::isinf(x[i]) || (!saturate && !std::isfinite(value));
    if (has_nan && beyond) {
      wrong_code +=
          std::fabs(F::decode(code)) != F::shape.high || std::signbit(F::decode(code)) != std::signbit(x[i]);
      if (saturate)
        wrong_value += std::fabs(y(0, q::index(i))) != F::shape.high;
      else
        wrong_value += std::isnan(value) ? !std::isnan(y(0, q::index(i))) : y(0, q::index(i)) != value;
      continue;
    }
    wrong_code += code != expected[i];
    wrong_value += !same(y(0, q::index(i)), value);
  }
  CHECK(wrong_code == 0);
  CHECK(wrong_value == 0);
}

template <class F>
void check_decode(const std::vector<float>& values) {
  REQUIRE(values.size() == std::size_t(1) << F::bits);
  std::vector<float> mine;
  for (unsigned c = 0; c < values.size(); ++c) mine.push_back(F::decode(c));
  check_equal(mine, values);
}

template <int Bits>
void check_int(const golden_file& g, const std::string& name, const std::string& how, const std::string& what,
               const q::matrix<float>& x) {
  const q::index group = g.index.at("group").get<q::index>();
  const q::quant_options o{.group = q::per_block(group),
                           .convention = how == "full"   ? q::convention::full
                                         : how == "half" ? q::convention::half
                                         : how == "asym" ? q::convention::affine
                                                         : q::convention::restricted};
  const q::packed_matrix p = how == "asym" ? q::packed_matrix(q::pack<q::unsigned_integer<Bits>>(x, o))
                                           : q::packed_matrix(q::pack<q::integer<Bits>>(x, o));
  if (what == "scale") return check_equal(p.scales, g.array<float>(name));
  if (what == "zero") {
    std::vector<std::uint8_t> zero;
    for (const float z : p.zero_points) zero.push_back(std::uint8_t(z));
    return check_equal(zero, g.array<std::uint8_t>(name));
  }
  std::vector<int> mine, theirs;
  for (q::index r = 0; r < x.rows(); ++r)
    for (q::index c = 0; c < x.cols(); ++c) {
      const int code = int(p.code(r, c));
      mine.push_back(how != "asym" && code >= (1 << (Bits - 1)) ? code - (1 << Bits) : code);
    }
  if (how == "asym")
    for (const auto v : g.array<std::uint8_t>(name)) theirs.push_back(v);
  else
    for (const auto v : g.array<std::int8_t>(name)) theirs.push_back(v);
  check_equal(mine, theirs);
}

}  // namespace

TEST_CASE("goldens: casts to small floating-point formats", "[goldens-formats]") {
  const golden_file g("fp");
  for (const std::string& name : g.names()) {
    CAPTURE(name);
    const auto part = split(name, '_');  // fp, format, decode | edge_in | edge_POLICY | from_TYPE_POLICY
    REQUIRE(part.size() >= 3);
    const std::string stem = part[0] + "_" + part[1];
    const auto run = [&]<class F>(F) {
      if (part[2] == "decode") return check_decode<F>(g.array<float>(name));
      if (part.back() == "in") return;
      check_cast<F>(cast_inputs(g, stem, part[2] == "edge" ? "edge" : part[3]), g.array<std::uint8_t>(name),
                    part.back() == "sat");
    };
    if (part[1] == "e4m3fn")
      run(q::fp8_e4m3{});
    else if (part[1] == "e5m2")
      run(q::fp8_e5m2{});
    else if (part[1] == "e2m3fn")
      run(q::fp6_e2m3{});
    else if (part[1] == "e3m2fn")
      run(q::fp6_e3m2{});
    else if (part[1] == "e2m1fn")
      run(q::fp4_e2m1{});
    else if (part[1] == "e8m0fnu") {
      if (part[2] == "decode") {
        const auto values = g.array<float>(name);
        std::vector<float> mine;
        for (unsigned c = 0; c < 256; ++c) mine.push_back(q::from_e8m0(std::uint8_t(c)));
        check_equal(mine, values);
      } else if (part.back() != "in") {
        std::vector<std::uint8_t> mine;
        for (const float x : cast_inputs(g, stem, part[2] == "edge" ? "edge" : part[3]))
          mine.push_back(q::to_e8m0(x, part.back() == "sat"));
        check_equal(mine, g.array<std::uint8_t>(name));
      }
    } else
      FAIL_CHECK("no format " << part[1]);
  }
}

TEST_CASE("goldens: integers with group scales", "[goldens-formats]") {
  const golden_file g("int");
  for (const std::string& name : g.names()) {
    CAPTURE(name);
    const auto part = split(name, '_');  // intN, convention, case .., part
    REQUIRE(part.size() >= 4);
    std::string input = name.substr(part[0].size() + part[1].size() + 2);
    input = input.substr(0, input.rfind('_'));
    const auto& x = given().matrix(input);
    switch (part[0].back()) {
      case '2':
        check_int<2>(g, name, part[1], part.back(), x);
        break;
      case '3':
        check_int<3>(g, name, part[1], part.back(), x);
        break;
      case '4':
        check_int<4>(g, name, part[1], part.back(), x);
        break;
      case '5':
        check_int<5>(g, name, part[1], part.back(), x);
        break;
      case '6':
        check_int<6>(g, name, part[1], part.back(), x);
        break;
      case '7':
        check_int<7>(g, name, part[1], part.back(), x);
        break;
      case '8':
        check_int<8>(g, name, part[1], part.back(), x);
        break;
      default:
        FAIL_CHECK("no integer format " << part[0]);
    }
  }
}
