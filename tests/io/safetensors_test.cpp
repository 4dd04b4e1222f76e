#include <quench/io/safetensors.hpp>
#include <quench/io/safetensors_writer.hpp>

#include <sys/resource.h>
#include <csignal>

#include "io/files.hpp"

using namespace quench;
using namespace quench::io;

namespace {

/// A file of a header and `data` zero bytes.
path make(const files::folder& dir, std::string_view header, std::size_t data,
          std::int64_t length_off_by = 0) {
  const path file = dir / "x.safetensors";
  atomic_file out(file);
  out.append_number(static_cast<std::uint64_t>(static_cast<std::int64_t>(header.size()) + length_off_by));
  out.append(header);
  out.append(std::string(data, '\0'));
  out.commit();
  return file;
}
std::uint64_t refused(const files::folder& dir, std::string_view words, std::string_view header,
                      std::size_t data, std::int64_t length_off_by = 0) {
  const path file = make(dir, header, data, length_off_by);
  return files::io_error_offset(file, words, [&] { safetensors_file s(file); });
}

}  // namespace

TEST_CASE("the format's own example reads: one float32 tensor, header padded with blanks") {
  const files::folder dir;
  // {"attn0": F32 [1,1,2,3]}: 65 bytes of JSON and 7 blanks.
  const std::string header = R"({"attn0":{"dtype":"F32","shape":[1,1,2,3],"data_offsets":[0,24]}})";
  REQUIRE(header.size() == 65);
  const safetensors_file s(make(dir, header + std::string(7, ' '), 24));
  REQUIRE(s.tensors().size() == 1);
  CHECK(s.at("attn0").shape == std::vector<quench::index>{1, 1, 2, 3});
  CHECK(s.at("attn0").begin == 80);
  CHECK(s.read<float>("attn0").rows() == 1);
  CHECK(s.read<float>("attn0").cols() == 6);
  CHECK(s.metadata().empty());
}

TEST_CASE("what was written is what is read, byte for byte, for every dtype") {
  const files::folder dir;
  std::vector<tensor_spec> specs;
  std::map<std::string, std::vector<std::byte>> data;
  for (std::size_t i = 0; i < dtype_table.size(); ++i) {
    const auto t = static_cast<dtype>(i);
    specs.push_back({"t/" + std::string(name_of(t)), t, {3, 1, 8}});
    auto& bytes = data[specs.back().name];
    bytes.resize(*byte_count(t, 24));
    for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<std::byte>(37 * k + i);
  }
  specs.push_back({"empty", dtype::f32, {4, 0}});
  specs.push_back({"scalar \"quoted\" \xc3\xa9", dtype::f64, {}});
  data["empty"] = {};
  data[specs.back().name] = std::vector<std::byte>(8, std::byte{1});
  const std::map<std::string, std::string> notes{{"made by", "a test"}, {"step", "12"}};
  const path file = dir / "all.safetensors";
  safetensors_writer out(file, specs, notes);
  for (const auto& [name, bytes] : data) {  // in pieces, in the map's order
    const std::span all(bytes);
    out.write(name, all.first(all.size() / 2));
    out.write(name, all.subspan(all.size() / 2));
  }
  CHECK_FALSE(std::filesystem::exists(file));
  out.commit();
  CHECK(dir.entries() == 1);

  const safetensors_file s(file);
  CHECK(s.metadata() == notes);
  REQUIRE(s.tensors().size() == specs.size());
  CHECK(s.tensors().front().begin % 8 == 0);
  for (std::size_t i = 0; i + 1 < s.tensors().size(); ++i) {  // the reference's order
    const auto &a = s.tensors()[i], &b = s.tensors()[i + 1];
    if (a.bytes > 0 && b.bytes > 0) CHECK((a.type > b.type || (a.type == b.type && a.name < b.name)));
  }
  for (const tensor_spec& want : specs) {
    const tensor_info& t = s.at(want.name);
    CHECK(t.type == want.type);
    CHECK(t.shape == want.shape);
    const auto got = s.bytes(t);
    CHECK(std::equal(got.begin(), got.end(), data[want.name].begin(), data[want.name].end()));
  }
  // Read again and written again it is the same file.
  std::vector<tensor_data> again;
  for (const auto& t : s.tensors()) again.push_back({{t.name, t.type, t.shape}, s.bytes(t)});
  write_safetensors(dir / "again.safetensors", again, s.metadata());
  CHECK(read_file(dir / "again.safetensors") == read_file(file));
}

TEST_CASE("matrices of the library survive, and convert on the way in") {
  const files::folder dir;
  matrix<float> a = matrix<float>::Random(3, 5);
  matrix<double> b = matrix<double>::Random(1, 4);
  matrix<std::int32_t> c(1, 3);
  c << -1, 2, 70000;
  const tensor_data all[] = {tensor_of("a", a), tensor_of("b", b, true), tensor_of("c", c)};
  write_safetensors(dir / "m.safetensors", all);
  const safetensors_file s(dir / "m.safetensors");
  CHECK(s.read<float>("a") == a);
  CHECK(s.read<double>("a") == a.cast<double>());
  CHECK(s.at("b").shape == std::vector<quench::index>{4});
  CHECK(s.values<double>("b") == std::vector<double>(b.data(), b.data() + 4));
  CHECK(s.values<std::int64_t>("c") == std::vector<std::int64_t>{-1, 2, 70000});
  files::io_error_offset(s.file(), "does not convert", [&] { s.values<std::int16_t>("c"); });
  files::io_error_offset(s.file(), "does not convert", [&] { s.values<std::int64_t>("a"); });
  files::io_error_offset(s.file(), "no tensor \"d\\x0a\"", [&] { s.at("d\n"); });
}

TEST_CASE("hostile headers are refused with file, byte and reason") {
  const files::folder dir;
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  CHECK_NOTHROW(safetensors_file(make(dir, good, 8)));
  CHECK_NOTHROW(safetensors_file(make(dir, "  \n" + good + "  ", 8)));
  CHECK_NOTHROW(safetensors_file(make(dir, "{}", 0)));

  // The length itself.
  write_file(dir / "short", "1234567");
  files::io_error_offset(dir / "short", "too short", [&] { safetensors_file s(dir / "short"); });
  write_file(dir / "empty", "");
  files::io_error_offset(dir / "empty", "too short", [&] { safetensors_file s(dir / "empty"); });
  CHECK(refused(dir, "beyond the file", good, 0, 1) == 0);
  CHECK(refused(dir, "is over 100000000", good, 8, std::int64_t{1} << 40) == 0);
  CHECK(refused(dir, "is over 100000000", good, 8, -1 - static_cast<std::int64_t>(good.size())) == 0);
  CHECK(refused(dir, "not valid JSON", good, 9, -1) == 8 + good.size() - 1);
  refused(dir, "start with '{'", "", 0);
  refused(dir, "start with '{'", "    ", 0);
  refused(dir, "start with '{'", "[]", 0);
  // The JSON.
  CHECK(refused(dir, "not valid JSON", R"({"a":nope})", 0) == 8 + 6);
  refused(dir, "not valid JSON", "{\"a\xff\":{}}", 0);
  refused(dir, "not valid JSON", good + "}", 8);
  refused(dir, "unexpected array", "{\"a\":" + std::string(100000, '['), 0);
  refused(dir, "unexpected object", R"({"a":{"dtype":{}}})", 0);
  refused(dir, "unexpected negative number", R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}})", 8);
  refused(dir, "unexpected fraction", R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", 8);
  refused(dir, "unexpected fraction",
          R"({"a":{"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,8]}})", 8);
  refused(dir, "unexpected null", R"({"a":null})", 0);
  refused(dir, "unexpected string", R"({"a":"b"})", 0);
  refused(dir, "unexpected string", R"({"a":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}})", 8);
  refused(dir, "unexpected number", R"({"a":{"dtype":7,"shape":[2],"data_offsets":[0,8]}})", 8);
  refused(dir, "unexpected number", R"({"__metadata__":{"step":7}})", 0);
  refused(dir, "unexpected array", R"({"__metadata__":[]})", 0);
  // Names and fields.
  refused(
      dir, "has \"a\" twice",
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
      1);
  refused(dir, "twice", R"({"__metadata__":{"k":"1","k":"2"}})", 0);
  refused(dir, "twice", R"({"__metadata__":{},"__metadata__":{}})", 0);
  refused(dir, "field \"dtype\" twice",
          R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", 1);
  refused(dir, "lacks", R"({"a":{"dtype":"U8","shape":[1]}})", 1);
  refused(dir, "lacks", R"({"a":{}})", 0);
  refused(dir, "unknown dtype \"F33\"", R"({"a":{"dtype":"F33","shape":[1],"data_offsets":[0,1]}})", 1);
  refused(dir, "unknown field", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1}})", 1);
  // Offsets and sizes.
  refused(dir, "must have two data_offsets", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1);
  refused(dir, "more than two", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", 1);
  refused(dir, "in a buffer of 8", R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", 8);
  refused(dir, "in a buffer of", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8);
  refused(dir, "in a buffer of",
          R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[18446744073709551615,18446744073709551615]}})",
          8);
  refused(dir, "ask for 12", R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8);
  refused(dir, "impossible",
          R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,8]}})", 8);
  refused(dir, "impossible", R"({"a":{"dtype":"F32","shape":[4611686018427387903,2],"data_offsets":[0,8]}})",
          8);
  refused(dir, "impossible shape",
          R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})", 8);
  refused(dir, "impossible number", R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1);
  refused(
      dir, "impossible shape",
      R"({"a":{"dtype":"U8","shape":[)" +
          [] {
            std::string s = "1";
            for (int i = 0; i < 99; ++i) s += ",1";
            return s;
          }() +
          R"(],"data_offsets":[0,1]}})",
      1);
  refused(
      dir, "overlaps",
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
      3);
  refused(
      dir, "overlaps",
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
      2);
  refused(
      dir, "leaves a gap",
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
      3);
  refused(dir, "leaves a gap", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2);
  refused(dir, "after the last tensor", good, 9);
}

TEST_CASE("every truncation and every flipped byte of a small file is read or refused, never worse") {
  const files::folder dir;
  const matrix<float> a = matrix<float>::Constant(2, 2, 1.5f);
  const tensor_data all[] = {tensor_of("w", a), tensor_of("b", a)};
  write_safetensors(dir / "x", all, {{"k", "v"}});
  const std::string whole = read_file(dir / "x");
  const auto attempt = [&](const std::string& bytes) {
    try {
      const auto h = parse_safetensors(std::as_bytes(std::span(bytes)), "memory", bytes.size());
      return h.tensors.size();
    } catch (const io_error&) {
      return std::size_t{0};
    }
  };
  CHECK(attempt(whole) == 2);
  for (std::size_t n = 0; n < whole.size(); ++n) CHECK(attempt(whole.substr(0, n)) == 0);
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string bad = whole;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      attempt(bad);
    }
}

TEST_CASE("a writer that is not finished, or cannot finish, leaves the old file and no litter") {
  const files::folder dir;
  const path file = dir / "x.safetensors";
  write_file(file, "old");
  {
    safetensors_writer out(file, {{"a", dtype::f32, {2}}});
    out.write("a", std::as_bytes(std::span("1234", 4)));
    CHECK_THROWS_WITH(out.write("a", std::as_bytes(std::span("12345", 5))),
                      Catch::Contains("must have 8 bytes, got 9"));
    CHECK_THROWS_WITH(out.write("b", {}), Catch::Contains("must be one of those in the header, is b"));
    files::io_error_offset(file, "\"a\" must have 8 bytes, 4 were written", [&] { out.commit(); });
  }
  CHECK(dir.entries() == 1);
  CHECK(read_file(file) == "old");
  CHECK_THROWS_AS(safetensors_writer(file, {{"a", dtype::f4, {3}}}), error);
  CHECK_THROWS_AS(safetensors_writer(file, {{"a", dtype::u8, {3}}, {"a", dtype::u8, {3}}}), error);
  CHECK_THROWS_AS(safetensors_writer(file, {{"__metadata__", dtype::u8, {3}}}), error);

  // A file-size limit stands in for a full disk: the write stops short in the middle of a tensor.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old = {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
  const rlimit small{100000, old.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const matrix<float> big = matrix<float>::Zero(300, 300);
  const tensor_data all[] = {tensor_of("big", big)};
  const auto at = files::io_error_offset(file, "File too large", [&] { write_safetensors(file, all); });
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &old) == 0);
  CHECK(at == 100000);
  CHECK(dir.entries() == 1);
  CHECK(read_file(file) == "old");
}

TEST_CASE("reference tensors of other programs parse") {
  const path nn = files::shared_folder() / "goldens/nn";
  if (!std::filesystem::exists(nn)) {
    WARN("skipped: no shared folder");
    return;
  }
  const safetensors_file s(nn / "olmo2_h3.safetensors");
  CHECK(s.at("logits").shape == std::vector<quench::index>{2, 16, 64});
  CHECK(s.values<double>("loss").size() == 1);
  CHECK(s.read<std::int32_t>("tokens").cols() == 17);
}
