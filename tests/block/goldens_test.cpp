// Bytes of other programs, reproduced: runs every entry of every index in the formats folder of the goldens.
// QUENCH_GOLDENS_DIR names the goldens (that folder, or the one above it); tests/data/formats otherwise.
#include <quench/block/list.hpp>
#include <quench/block/rows.hpp>

#include "goldens.hpp"

using namespace goldens;

namespace {

/// Rows whose bytes the reference leaves to undefined behaviour (README of the goldens).
bool undefined(const std::string& name, std::size_t row) {
  return (name == "tiny" && row < 2) || (name == "large" && row > 0);
}

template <class A, class B>
std::size_t first_difference(const A& a, const B& b) {
  std::size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  return i;
}

}  // namespace

TEST_CASE("goldens: ggml blocks", "[goldens-formats]") {
  const golden_file g("ggml");
  const std::size_t rows = g.index.at("rows"), cols = g.index.at("cols");
  std::size_t ran = 0;
  for (const json& e : g.index.at("entries")) {
    const std::string type = e.at("type"), name = e.at("case");
    const bool weighted = e.at("imatrix");
    CAPTURE(type, name, weighted);
    const auto known = q::block_codec_facts();
    if (std::none_of(known.begin(), known.end(), [&](const auto& f) { return f.name == type; })) {
      FAIL_CHECK("no codec is called " << type);
      continue;
    }
    q::with_block_codec(type, [&](auto codec) {
      using C = decltype(codec);
      CHECK(q::ggml_type_of<C>() == e.at("ggml_type").get<int>());
      CHECK(C::elements == e.at("block_elems").get<q::index>());
      CHECK(C::bytes == e.at("block_bytes").get<q::index>());
      const auto expected = values<unsigned char>(g.blob, e.at("q_offset"), e.at("q_bytes"));
      const q::matrix<float>& x = given().matrix(name);
      const std::size_t row = expected.size() / rows;
      REQUIRE(std::size_t(q::encoded_bytes<C>(q::index(rows), q::index(cols))) == expected.size());
      std::vector<unsigned char> bytes(expected.size());
      q::encode_rows<C>(
          x, std::as_writable_bytes(std::span(bytes)),
          {.importance = weighted ? std::span<const float>(given().importance) : std::span<const float>()});
      for (std::size_t r = 0; r < rows; ++r) {
        if (undefined(name, r)) continue;
        CAPTURE(r);
        const std::span<const unsigned char> mine(bytes.data() + r * row, row),
            theirs(expected.data() + r * row, row);
        const std::size_t at = first_difference(mine, theirs);
        CHECK(at == row);
        if (at < row)
          FAIL_CHECK("byte " << at % std::size_t(C::bytes) << " of block " << at / std::size_t(C::bytes)
                             << ": " << int(mine[at]) << ", reference " << int(theirs[at]));
        ++ran;
      }
      if (!e.contains("f_offset")) return;
      const auto floats = values<float>(g.blob, e.at("f_offset"), e.at("f_count"));
      q::matrix<float> y(x.rows(), x.cols());
      q::decode_rows<C>(std::as_bytes(std::span(expected)), y);
      check_equal(values_of(y), floats);
    });
  }
  CHECK(ran > 0);
}
