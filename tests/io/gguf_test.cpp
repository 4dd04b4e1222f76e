#include <quench/io/gguf.hpp>
#include <quench/io/gguf_writer.hpp>

#include "io/files.hpp"

using namespace quench;
using namespace quench::io;

namespace {

/// Bytes put together by hand, as the format's description says, not by the writer under test.
struct bytes_by_hand {
  std::string s;
  template <class T>
  bytes_by_hand& n(T x) {
    s.append(reinterpret_cast<const char*>(&x), sizeof x);
    return *this;
  }
  bytes_by_hand& u32(std::uint32_t x) { return n(x); }
  bytes_by_hand& u64(std::uint64_t x) { return n(x); }
  bytes_by_hand& text(std::string_view t) { return u64(t.size()).raw(t); }
  bytes_by_hand& raw(std::string_view t) {
    s += t;
    return *this;
  }
  bytes_by_hand& start(std::uint64_t tensors, std::uint64_t pairs, std::uint32_t version = 3) {
    return raw("GGUF").u32(version).u64(tensors).u64(pairs);
  }
  bytes_by_hand& tensor(std::string_view name, std::vector<std::uint64_t> ne, std::uint32_t type,
                        std::uint64_t offset) {
    text(name).u32(static_cast<std::uint32_t>(ne.size()));
    for (const auto d : ne) u64(d);
    return u32(type).u64(offset);
  }
  bytes_by_hand& data(std::size_t count, std::size_t alignment = 32) {
    s.resize((s.size() + alignment - 1) / alignment * alignment);
    s.append(count, '\x01');
    return *this;
  }
};

std::uint64_t refused(std::string_view words, const bytes_by_hand& b) {
  return files::io_error_offset("memory", words,
                                [&] { parse_gguf(std::as_bytes(std::span(b.s)), "memory"); });
}
gguf_header parsed(const bytes_by_hand& b) { return parse_gguf(std::as_bytes(std::span(b.s)), "memory"); }

}  // namespace

TEST_CASE("GGUF: a file put together by hand parses, versions 2 and 3") {
  for (const std::uint32_t version : {2u, 3u}) {
    bytes_by_hand b;
    b.start(2, 4, version);
    b.text("general.architecture").u32(8).text("llama");
    b.text("llama.block_count").u32(4).u32(2);
    b.text("tokens").u32(9).u32(8).u64(2).text("a").text("");
    b.text("scores").u32(9).u32(6).u64(2).n(0.5f).n(-1.0f);
    b.tensor("w", {64, 3}, 2, 0);  // Q4_0: 6 blocks of 18 bytes
    b.tensor("norm", {5}, 0, 128);
    b.data(128 + 20);
    const gguf_header h = parsed(b);
    CHECK(h.version == version);
    CHECK(h.find("general.architecture")->string() == "llama");
    CHECK(h.find("llama.block_count")->number<int>() == 2);
    CHECK(h.find("tokens")->strings() == std::vector<std::string>{"a", ""});
    CHECK(h.find("scores")->numbers<float>() == std::vector<float>{0.5f, -1.0f});
    CHECK(h.find("none") == nullptr);
    REQUIRE(h.tensors.size() == 2);
    CHECK(h.tensors[0].shape == std::vector<quench::index>{3, 64});
    CHECK(h.tensors[0].bytes == 6 * 18);
    CHECK(h.tensors[0].count() == 192);
    CHECK(h.tensors[1].begin == h.data_offset + 128);
    CHECK(h.data_offset % 32 == 0);
  }
}

TEST_CASE("GGUF: what was written is what is read, for every tensor and metadata type") {
  const files::folder dir;
  const path file = dir / "all.gguf";
  const std::uint32_t alignment = GENERATE(32u, 64u, 4096u);
  std::vector<std::pair<std::string, gguf_value>> metadata = {
      {"general.architecture", "llama"},
      {"general.alignment", alignment},
      {"u8", std::uint8_t{255}},
      {"i8", std::int8_t{-128}},
      {"u16", std::uint16_t{65535}},
      {"i16", std::int16_t{-32768}},
      {"i32", std::int32_t{-7}},
      {"u64", ~std::uint64_t{0}},
      {"i64", std::numeric_limits<std::int64_t>::min()},
      {"f32", 1.5f},
      {"f64", 1e300},
      {"yes", true},
      {"no", false},
      {"empty", ""},
      {"\xc3\xa9", std::string(1000, 'x')}};
  const std::string strings[] = {"", "<s>", std::string("\0\xff", 2)};
  const std::int32_t ints[] = {1, -2, 3};
  const double doubles[] = {0.5};
  metadata.emplace_back("strings", gguf_value::array(std::span<const std::string>(strings)));
  metadata.emplace_back("ints", gguf_value::array(std::span<const std::int32_t>(ints)));
  metadata.emplace_back("doubles", gguf_value::array(std::span<const double>(doubles)));
  metadata.emplace_back("nothing", gguf_value::array(std::span<const std::uint8_t>()));
  std::vector<gguf_spec> specs;
  std::map<std::string, std::string> data;
  for (const auto& t : ggml_types) {
    specs.push_back(
        {"blk.0." + std::string(t.name), std::string(t.name), {3, static_cast<quench::index>(t.elements)}});
    std::string& bytes = data[specs.back().name];
    for (std::size_t i = 0; i < 3 * t.bytes; ++i)
      bytes += static_cast<char>(i * 7 + static_cast<std::size_t>(t.id));
  }
  specs.push_back({"rank4", "F16", {2, 1, 3, 5}});
  data["rank4"] = std::string(60, 'r');
  specs.push_back({"none", "F32", {0, 4}});
  data["none"] = "";
  {
    gguf_writer out(file, metadata, specs);
    for (const auto& [name, bytes] : data) {
      const auto all = std::as_bytes(std::span(bytes));
      out.write(name, all.first(all.size() / 3));
      out.write(name, all.subspan(all.size() / 3));
    }
    out.commit();
  }
  const gguf_file g(file);
  CHECK(g.header().metadata == metadata);
  CHECK(g.header().alignment == alignment);
  CHECK(std::filesystem::file_size(file) % alignment == 0);
  REQUIRE(g.tensors().size() == specs.size());
  std::uint64_t expected = g.header().data_offset;  // the running sum that ggml's reader insists on
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const gguf_tensor& t = g.tensors()[i];
    CHECK(t.name == specs[i].name);
    CHECK(t.type->name == specs[i].type);
    CHECK(t.shape == specs[i].shape);
    CHECK(t.begin == expected);
    expected += (t.bytes + alignment - 1) / alignment * alignment;
    const auto got = g.bytes(t);
    CHECK(std::string_view(reinterpret_cast<const char*>(got.data()), got.size()) == data[t.name]);
  }
  CHECK(g.metadata("u64").number<double>() == Approx(1.8446744073709552e19));
  CHECK_THROWS_AS(g.metadata("u64").number<std::int64_t>(), error);
  CHECK_THROWS_AS(g.metadata("i8").number<unsigned>(), error);
  CHECK_THROWS_AS(g.metadata("f32").number<int>(), error);
  CHECK(g.metadata("yes").number<bool>());
  CHECK_THROWS_AS(g.metadata("u8").number<bool>(), error);
  CHECK_THROWS_AS(g.metadata("strings").string(), error);
  CHECK(g.metadata("strings").strings()[2] == strings[2]);
  CHECK(g.metadata("ints").numbers<std::int64_t>() == std::vector<std::int64_t>{1, -2, 3});
  files::io_error_offset(file, "no metadata \"none\"", [&] { g.metadata("none"); });
  files::io_error_offset(file, "no tensor \"x\"", [&] { g.at("x"); });
}

TEST_CASE("GGUF: tensors decode, by the block codecs and as plain numbers") {
  const files::folder dir;
  const path file = dir / "d.gguf";
  const matrix<float> w = matrix<float>::Random(4, 64);
  std::vector<std::byte> q8(4 * 2 * 34);
  encode_blocks<ggml::q8_0>(w.data(), 8, q8.data());
  const gguf_spec specs[] = {{"q", "Q8_0", {4, 64}}, {"f", "F32", {2, 2, 64}}, {"old", "IQ1_S", {1, 256}}};
  gguf_writer out(file, {}, specs);
  out.write("q", q8);
  out.write("f", std::as_bytes(std::span(w.data(), 256)));
  out.write("old", std::vector<std::byte>(50));
  out.commit();
  const gguf_file g(file);
  CHECK(g.read("f") == w);
  CHECK((g.read("q") - w).cwiseAbs().maxCoeff() <= 0.5f / 127 + 1e-3f);
  CHECK((g.read("q") - w).cwiseAbs().maxCoeff() > 0);
  files::io_error_offset(file, "type IQ1_S, which Quench does not decode", [&] { g.read("old"); });
}

TEST_CASE("GGUF: the table of types agrees with the block codecs") {
  block_codecs::for_each([]<class C>(C) {
    if (ggml_type_of<C>() < 0) return;
    const auto* t = ggml_type_of_id(static_cast<std::uint32_t>(ggml_type_of<C>()));
    REQUIRE(t != nullptr);
    INFO(C::name);
    const auto block = static_cast<quench::index>(t->elements);
    CHECK(C::elements % block == 0);
    CHECK(C::bytes * block == static_cast<quench::index>(t->bytes) * C::elements);
  });
}

TEST_CASE("GGUF: hostile headers are refused with byte and reason") {
  using B = bytes_by_hand;
  const auto pair = [] { return B().start(0, 1).text("k"); };
  refused("not a GGUF file", B().raw("GGML").u32(3).u64(0).u64(0));
  refused("ends inside the magic", B().raw("GG"));
  refused("other byte order", B().raw("FUGG").u32(3).u64(0).u64(0));
  refused("other byte order (version 3)", B().raw("GGUF").u32(0x03000000).u64(0).u64(0));
  refused("GGUF version 1,", B().start(0, 0, 1));
  refused("GGUF version 4,", B().start(0, 0, 4));
  CHECK(refused("ends inside the metadata count", B().raw("GGUF").u32(3).u64(0)) == 16);
  refused("cannot hold 18446744073709551615 tensors", B().start(~std::uint64_t{0}, 0));
  refused("cannot hold 9223372036854775807 metadata", B().start(0, ~std::uint64_t{0} >> 1));
  // Metadata.
  refused("bytes wanted", B().start(0, 1).u64(~std::uint64_t{0}).raw(std::string(100, 'x')));
  refused("must be UTF-8 and not empty", B().start(0, 1).text("").u32(4).u32(0));
  refused("must be UTF-8 and not empty", B().start(0, 1).text("\xc0\x80").u32(4).u32(0));
  refused("\"k\" twice", B().start(0, 2).text("k").u32(4).u32(0).text("k").u32(4).u32(0));
  refused("unknown type 13", pair().u32(13).u32(0));
  refused("a bool must be 0 or 1", pair().u32(7).raw("\x02"));
  refused("ends inside the value of \"k\"", pair().u32(4).raw("\x02"));
  refused("array of arrays", pair().u32(9).u32(9).u64(1).u32(0).u64(0));
  refused("4611686018427387905 values wanted", pair().u32(9).u32(4).u64((std::uint64_t{1} << 62) + 1));
  refused("cannot hold 2305843009213693953 strings", pair().u32(9).u32(8).u64((std::uint64_t{1} << 61) + 1));
  refused("bytes wanted", pair().u32(9).u32(8).u64(1).u64(5).raw("1234"));
  for (const std::uint32_t bad : {0u, 3u, 48u})
    refused("power of two", B().start(0, 1).text("general.alignment").u32(4).u32(bad));
  refused("power of two", B().start(0, 1).text("general.alignment").u32(10).u64(32));
  // Tensors.
  const auto one = [](std::vector<std::uint64_t> ne, std::uint32_t type, std::uint64_t offset = 0) {
    return B().start(1, 0).tensor("t", std::move(ne), type, offset).data(64);
  };
  CHECK(parsed(one({16}, 0)).tensors[0].bytes == 64);
  CHECK(parsed(one({}, 0)).tensors[0].bytes == 4);
  refused("unknown type 4", one({16}, 4));
  refused("unknown type 4294967295", one({16}, ~0u));
  refused("5 dimensions", one({1, 1, 1, 1, 1}, 0));
  refused("4294967295 dimensions", B().start(1, 0).text("t").u32(~0u).data(64));
  refused("rows of 16 elements (blocks of 32)", one({16}, 2));
  refused("too many elements", one({std::uint64_t{1} << 40, std::uint64_t{1} << 40}, 0));
  refused("too many elements", one({std::uint64_t{1} << 61, 2}, 28));
  refused("impossible dimension", one({~std::uint64_t{0}}, 0));
  refused("68 bytes at offset 0 of 64", one({17}, 0));
  refused("at offset 18446744073709551584", one({8}, 0, ~std::uint64_t{31}));
  refused("must be UTF-8 and not empty", B().start(1, 0).tensor("", {1}, 0, 0).data(64));
  refused("\"t\" twice", B().start(2, 0).tensor("t", {1}, 0, 0).tensor("t", {1}, 0, 32).data(64));
  refused("overlap", B().start(2, 0).tensor("t", {9}, 0, 0).tensor("u", {1}, 0, 32).data(64));
  refused("overlap", B().start(2, 0).tensor("t", {1}, 0, 0).tensor("u", {1}, 0, 0).data(64));
  // Odd, but whole: not aligned, out of order, with a hole, no padding behind the last.
  const auto odd = parsed(B().start(2, 0).tensor("t", {1}, 0, 57).tensor("u", {1}, 0, 3).data(61));
  CHECK(odd.tensors[1].begin == odd.data_offset + 3);
}

TEST_CASE("GGUF: every truncation and every flipped byte is read or refused, never worse") {
  bytes_by_hand b;
  b.start(2, 3)
      .text("a")
      .u32(9)
      .u32(8)
      .u64(2)
      .text("x")
      .text("yz")
      .text("b")
      .u32(9)
      .u32(0)
      .u64(3)
      .raw("123")
      .text("c")
      .u32(12)
      .n(1.0);
  b.tensor("t", {32, 2}, 8, 0).tensor("u", {3}, 1, 96).data(102);
  const auto attempt = [](const std::string& bytes) {
    try {
      return parse_gguf(std::as_bytes(std::span(bytes)), "memory").tensors.size();
    } catch (const io_error&) {
      return std::size_t{0};
    }
  };
  CHECK(attempt(b.s) == 2);
  for (std::size_t n = 0; n < b.s.size(); ++n) CHECK(attempt(b.s.substr(0, n)) == 0);
  for (std::size_t i = 0; i < b.s.size(); ++i)
    for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string bad = b.s;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      attempt(bad);
    }
}

TEST_CASE("GGUF: the writer refuses what readers refuse, and leaves no litter") {
  const files::folder dir;
  const path file = dir / "x.gguf";
  using pairs = std::vector<std::pair<std::string, gguf_value>>;
  const auto write = [&](const pairs& metadata, const std::vector<gguf_spec>& specs) {
    gguf_writer out(file, metadata, specs);
  };
  CHECK_THROWS_WITH(write({{"", 1}}, {}), Catch::Contains("not empty"));
  CHECK_THROWS_WITH(write({{"k", 1}, {"k", 1}}, {}), Catch::Contains("unique, is k"));
  CHECK_THROWS_WITH(write({{"general.alignment", 16u}}, {}), Catch::Contains("at least 32, is 16"));
  CHECK_THROWS_WITH(write({}, {{"t", "Q9_9", {32}}}), Catch::Contains("has Q9_9"));
  CHECK_THROWS_WITH(write({}, {{"t", "Q4_0", {2, 33}}}), Catch::Contains("whole blocks of 32, has 33"));
  CHECK_THROWS_WITH(write({}, {{"t", "F32", {1, 1, 1, 1, 1}}}), Catch::Contains("1 to 4 dimensions, has 5"));
  CHECK_THROWS_WITH(write({}, {{"t", "F32", {1}}, {"t", "F32", {1}}}), Catch::Contains("unique, is t"));
  CHECK_THROWS_WITH(write({}, {{std::string(64, 't'), "F32", {1}}}), Catch::Contains("1 to 63 bytes"));
  {
    gguf_writer out(file, {}, std::vector<gguf_spec>{{"t", "F32", {2}}});
    files::io_error_offset(file, "\"t\" must have 8 bytes, 0 were written", [&] { out.commit(); });
  }
  CHECK(dir.entries() == 0);
}

TEST_CASE("UTF-8: the table of RFC 3629") {
  for (const char* good :
       {"", "a", "\xc3\xa9", "\xe2\x96\x81", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"})
    CHECK(is_utf8(good));
  for (const char* bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xe2\x96", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xc3(", "\xf0\x9f\x98"})
    CHECK_FALSE(is_utf8(bad));
}
