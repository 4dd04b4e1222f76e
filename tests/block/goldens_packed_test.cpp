// Goldens of MX, NVFP4, bitsandbytes and packed words: every entry of mx.json, nvfp4.json, bnb.json,
// pack.json.
#include <quench/block/bnb.hpp>
#include <quench/block/mx.hpp>
#include <quench/block/nvfp4.hpp>
#include <quench/block/words.hpp>

#include "goldens.hpp"

using namespace goldens;

namespace {

template <class F>
void check_mx(const golden_file& g, const std::string& name, const std::string& part, q::pow2_rule rule,
              const std::string& input) {
  const auto& x = given().matrix(input);
  if (part == "scale" || part == "code") {
    const auto expected = g.array<std::uint8_t>(name);
    std::vector<std::uint8_t> scale, code(std::size_t(x.size()));
    for (q::index b = 0; b < x.size() / 32; ++b)
      scale.push_back(q::mx::encode_codes<F>(x.data() + 32 * b, rule, code.data() + 32 * b));
    check_equal(part == "scale" ? scale : code, expected);
    return;
  }
  REQUIRE(part == "deq");
  std::string stem = name.substr(0, name.size() - 3);
  const auto scale = g.array<std::uint8_t>(stem + "scale");
  const auto code = g.array<std::uint8_t>(stem + "code");
  std::vector<float> y(code.size());
  for (std::size_t b = 0; b < scale.size(); ++b)
    q::mx::decode_codes<F>(scale[b], code.data() + 32 * b, y.data() + 32 * b);
  check_equal(y, g.array<float>(name));
  if (rule == q::pow2_rule::floor)
    check_equal(values_of(q::mx::unpack<F>(q::mx::pack<F>(x, rule))), g.array<float>(name));
}

}  // namespace

TEST_CASE("goldens: MX blocks", "[goldens-formats]") {
  const golden_file g("mx");
  for (const std::string& name : g.names()) {
    CAPTURE(name);
    const auto part = split(name, '_');  // mx, format, rule, case .., part
    REQUIRE(part.size() >= 5);
    const q::pow2_rule rule = part[2] == "floor"  ? q::pow2_rule::floor
                              : part[2] == "ceil" ? q::pow2_rule::ceil
                              : part[2] == "even" ? q::pow2_rule::even
                                                  : q::pow2_rule::rceil;
    std::string input = name.substr(part[0].size() + part[1].size() + part[2].size() + 3);
    input = input.substr(0, input.rfind('_'));
    const auto run = [&]<class F>(F) { check_mx<F>(g, name, part.back(), rule, input); };
    if (part[1] == "e4m3")
      run(q::fp8_e4m3{});
    else if (part[1] == "e5m2")
      run(q::fp8_e5m2{});
    else if (part[1] == "e2m3")
      run(q::fp6_e2m3{});
    else if (part[1] == "e3m2")
      run(q::fp6_e3m2{});
    else if (part[1] == "e2m1")
      run(q::fp4_e2m1{});
    else if (part[1] == "int8")
      run(q::int8{});
    else
      FAIL_CHECK("no format " << part[1]);
  }
}

TEST_CASE("goldens: NVFP4 with tensor scale", "[goldens-formats]") {
  const golden_file g("nvfp4");
  for (const std::string& name : g.names()) {
    CAPTURE(name);
    const auto part = split(name, '_');  // nvfp4, reference, case .., part
    REQUIRE(part.size() >= 4);
    std::string input = name.substr(part[0].size() + part[1].size() + 2);
    input = input.substr(0, input.rfind('_'));
    const auto how = part[1] == "te"    ? q::nvfp4::reference::te
                     : part[1] == "ao2" ? q::nvfp4::reference::torchao
                                        : q::nvfp4::reference::torchao_one_level;
    const q::nvfp4::packed p = q::nvfp4::pack(given().matrix(input), how);
    if (part.back() == "scale")
      check_equal(p.scales, g.array<std::uint8_t>(name));
    else if (part.back() == "code") {
      std::vector<std::uint8_t> code;
      for (const std::uint8_t b : p.codes) {
        code.push_back(b & 15);
        code.push_back(b >> 4);
      }
      check_equal(code, g.array<std::uint8_t>(name));
    } else if (part.back() == "deq")
      check_equal(values_of(q::nvfp4::unpack(p)), g.array<float>(name));
    else if (part.back() == "genc" || part.back() == "pts")
      check_equal(std::vector<float>{p.encode_scale}, g.array<float>(name));
    else
      FAIL_CHECK("no part " << part.back());
  }
}

TEST_CASE("goldens: bitsandbytes", "[goldens-formats]") {
  const golden_file g("bnb");
  const auto to_vector = [](const auto& a) { return std::vector(a.begin(), a.end()); };
  for (const std::string& name : g.names()) {
    CAPTURE(name);
    if (name == "bnb_nf4_code")
      check_equal(to_vector(q::bnb::nf4_values), g.array<float>(name));
    else if (name == "bnb_fp4_code")
      check_equal(to_vector(q::bnb::fp4_values), g.array<float>(name));
    else if (name == "bnb_dynamic_map_signed")
      check_equal(to_vector(q::bnb::dynamic_map), g.array<float>(name));
    else if (name == "bnb_nf4_midpoints")
      check_equal(to_vector(q::bnb::nf4_map.midpoints), g.array<float>(name));
    else if (name == "bnb_fp4_midpoints")
      check_equal(to_vector(q::bnb::fp4_map.midpoints), g.array<float>(name));
    else if (name == "bnb_nf4_order")
      check_equal(to_vector(q::bnb::nf4_map.codes), g.array<std::uint8_t>(name));
    else if (name == "bnb_fp4_order")
      check_equal(to_vector(q::bnb::fp4_map.codes), g.array<std::uint8_t>(name));
    else {
      const auto part = split(name, '_');  // bnb, type, b<block>, case .., part
      REQUIRE(part.size() >= 5);
      const q::index block = std::stol(part[2].substr(1));
      std::string rest = name.substr(part[0].size() + part[1].size() + part[2].size() + 3);
      const auto dq = rest.find("_dq_");
      const std::string input = rest.substr(0, dq != rest.npos ? dq : rest.rfind('_')),
                        what = rest.substr(input.size() + 1);
      CAPTURE(input, what);
      const auto& x = given().matrix(input);
      if (part[1] == "dyn8") {
        const auto p = q::bnb::quantize_dynamic({x.data(), std::size_t(x.size())}, block);
        if (what == "code")
          check_equal(p.codes, g.array<std::uint8_t>(name));
        else
          check_equal(p.absmax, g.array<float>(name));
        continue;
      }
      const auto type = part[1] == "nf4" ? q::bnb::type::nf4 : q::bnb::type::fp4;
      const auto p = q::bnb::pack(x, {.type = type, .block = block, .double_quant = dq != rest.npos});
      double slack = 0;  // torch adds the maxima in another order: its mean may differ in the last place
      if (dq != rest.npos) {
        const std::string stem = name.substr(0, name.find("_dq_"));
        const float offset = g.array<float>(stem + "_dq_offset")[0];
        if (!std::isfinite(offset)) {  // the reference's float sum overflowed: only ours is finite
          CHECK(std::isfinite(p.offset));
          continue;
        }
        slack = 1e-6 * std::fabs(double(offset));
      }
      if (what == "packed")
        check_equal(p.codes, g.array<std::uint8_t>(name));
      else if (what == "absmax")
        check_equal(p.absmax, g.array<float>(name));
      else if (what == "deq")
        check_equal(values_of(q::bnb::unpack(p)), g.array<float>(name));
      else if (what == "dq_offset")
        check_within({p.offset}, g.array<float>(name), slack);
      else if (what == "dq_absmax_u8")
        check_equal(p.nested.codes, g.array<std::uint8_t>(name));
      else if (what == "dq_nested_absmax")
        check_within(p.nested.absmax, g.array<float>(name), slack);
      else if (what == "dq_absmax")
        check_within(q::bnb::block_maxima(p), g.array<float>(name), slack);
      else
        FAIL_CHECK("no part " << what);
    }
  }
}

TEST_CASE("goldens: packed words", "[goldens-formats]") {
  namespace w = q::words;
  const golden_file g("pack");
  const auto codes = [&](const std::string& name) {
    const auto v = g.array<std::uint8_t>(name);
    const auto shape = g.shape(name);
    return w::codes(Eigen::Map<const w::codes>(v.data(), shape[0], shape[1]));
  };
  for (const std::string& name : g.names()) {
    if (name.rfind("codes_", 0) == 0 || name.rfind("zeros_", 0) == 0) continue;
    CAPTURE(name);
    const std::string bits_text = name.substr(name.rfind('_') + 1);
    const int bits = std::stoi(bits_text);
    const w::codes q = codes("codes_u" + bits_text + "_out_in"),
                   z = codes("zeros_u" + bits_text + "_out_groups");
    const auto expected = g.array<std::int32_t>(name);
    const auto shape = g.shape(name);
    const auto check = [&](const w::words32& mine) {
      CHECK(mine.rows() == shape[0]);
      CHECK(mine.cols() == shape[1]);
      check_equal(std::vector<std::int32_t>(mine.data(), mine.data() + mine.size()), expected);
    };
    const w::words32 theirs =
        shape.size() == 2 ? w::words32(Eigen::Map<const w::words32>(expected.data(), shape[0], shape[1]))
                          : w::words32();
    if (name.rfind("ct_weight_packed", 0) == 0) {
      check(w::compressed_weight(q, bits));
      CHECK(w::compressed_weight_codes(theirs, q.cols(), bits) == q);
    } else if (name.rfind("ct_weight_zero_point", 0) == 0) {
      check(w::compressed_zeros(z, bits));
      CHECK(w::compressed_zero_codes(theirs, z.rows(), bits) == z);
    } else if (name.rfind("gptq_qweight", 0) == 0) {
      check(w::gptq_qweight(q, bits));
      CHECK(w::gptq_codes(theirs, q.cols(), bits) == q);
    } else if (name.rfind("gptq_v", 0) == 0) {
      const auto v = name[6] == '1' ? w::gptq_version::v1 : w::gptq_version::v2;
      check(w::gptq_qzeros(z, bits, v));
      CHECK(w::gptq_zeros(theirs, z.rows(), bits, v) == z);
    } else if (name.rfind("gptq_g_idx", 0) == 0) {
      const std::int32_t group = g.index.at("group");
      for (std::size_t i = 0; i < expected.size(); ++i) CHECK(expected[i] == std::int32_t(i) / group);
    } else if (name.rfind("awq_qweight", 0) == 0) {
      check(w::awq_qweight(q));
      CHECK(w::codes(w::awq_unpack(theirs).transpose()) == q);
    } else if (name.rfind("awq_qzeros", 0) == 0) {
      check(w::awq_qzeros(z));
      CHECK(w::codes(w::awq_unpack(theirs).transpose()) == z);
    } else
      FAIL_CHECK("no packing called " << name);
  }
}
