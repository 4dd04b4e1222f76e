#include <quench/io/npy.hpp>
#include <quench/io/tokens.hpp>

#include "io/files.hpp"

using namespace quench;
using namespace quench::io;

namespace {

path make(const files::folder& dir, std::string_view dictionary, std::string_view data, int major = 1) {
  const path file = dir / "x.npy";
  atomic_file out(file);
  out.append(std::string_view("\x93NUMPY", 6));
  out.append_number(static_cast<std::uint8_t>(major));
  out.append_number(std::uint8_t{0});
  if (major == 1)
    out.append_number(static_cast<std::uint16_t>(dictionary.size()));
  else
    out.append_number(static_cast<std::uint32_t>(dictionary.size()));
  out.append(dictionary);
  out.append(data);
  out.commit();
  return file;
}
void refused(const files::folder& dir, std::string_view words, std::string_view dictionary,
             std::size_t bytes = 4) {
  const path file = make(dir, dictionary, std::string(bytes, '\0'));
  INFO(dictionary);
  files::io_error_offset(file, words, [&] { read_npy<double>(file); });
}
template <class T>
void round_trip(const files::folder& dir) {
  matrix<T> m(3, 4);
  for (quench::index i = 0; i < m.size(); ++i) m.data()[i] = static_cast<T>(std::is_signed_v<T> ? i - 5 : i);
  write_npy(dir / "m.npy", m);
  CHECK(read_npy<T>(dir / "m.npy") == m);
  CHECK(read_npy<double>(dir / "m.npy") == m.template cast<double>());
  CHECK(std::filesystem::file_size(dir / "m.npy") == 128 + 12 * sizeof(T));
}

}  // namespace

TEST_CASE("npy: every element type makes the round trip") {
  const files::folder dir;
  round_trip<float>(dir), round_trip<double>(dir);
  round_trip<std::int8_t>(dir), round_trip<std::int16_t>(dir), round_trip<std::int32_t>(dir),
      round_trip<std::int64_t>(dir);
  round_trip<std::uint8_t>(dir), round_trip<std::uint16_t>(dir), round_trip<std::uint32_t>(dir),
      round_trip<std::uint64_t>(dir);
}

TEST_CASE("npy: ranks, storage orders and format versions") {
  const files::folder dir;
  const float six[] = {1, 2, 3, 4, 5, 6};
  const std::string raw(reinterpret_cast<const char*>(six), sizeof six);
  const auto shape = [&](std::vector<quench::index> s) {
    write_npy<float>(dir / "s.npy", six, s);
    const auto m = read_npy<float>(dir / "s.npy");
    return std::pair(m.rows(), m.cols());
  };
  CHECK(shape({6}) == std::pair<quench::index, quench::index>(1, 6));
  CHECK(shape({3, 1, 2}) == std::pair<quench::index, quench::index>(3, 2));
  CHECK(shape({1, 1, 1, 6}) == std::pair<quench::index, quench::index>(1, 6));
  write_npy<float>(dir / "scalar.npy", std::span(six, 1), {});
  CHECK(read_npy<float>(dir / "scalar.npy")(0, 0) == 1);
  write_npy<float>(dir / "none.npy", {}, std::vector<quench::index>{0, 7});
  CHECK(read_npy<float>(dir / "none.npy").cols() == 7);

  for (const int version : {1, 2, 3}) {
    const auto f = read_npy<float>(
        make(dir, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", raw, version));
    CHECK((f.rows() == 2 && f.cols() == 3 && f(0, 1) == 3 && f(1, 0) == 2));
    const auto c = read_npy<float>(
        make(dir, "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}", raw, version));
    CHECK((c(0, 1) == 2 && c(1, 0) == 4));
  }
  const std::uint16_t halves[] = {0x3c00, 0x0001, 0x7c00};  // 1, 2^-24, inf
  const auto h = read_npy<float>(make(dir, "{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }",
                                      {reinterpret_cast<const char*>(halves), 6}));
  CHECK((h(0, 0) == 1 && h(0, 1) == 0x1p-24f && std::isinf(h(0, 2))));
}

TEST_CASE("npy: hostile headers are refused") {
  const files::folder dir;
  refused(dir, "big endian", "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }");
  refused(dir, "not known", "{'descr': '<U4', 'fortran_order': False, 'shape': (1,), }");
  refused(dir, "not numeric", "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }");
  refused(dir, "quoted string", "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }");
  refused(dir, "True or False", "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }");
  refused(dir, "whole number", "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }");
  refused(dir, "too large", "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }");
  refused(dir, "too many elements",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, 4000000000), }");
  refused(dir, "must be 8 bytes, 4 are there", "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }");
  refused(dir, "must be 4 bytes, 8 are there", "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
          8);
  refused(dir, "repeated key", "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }");
  refused(dir, "unknown key", "{'descr': '<f4', 'more': '<f4', 'fortran_order': False, 'shape': (1,), }");
  refused(dir, "lacks", "{'descr': '<f4', 'shape': (1,), }");
  refused(dir, "after the dictionary", "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x");
  refused(dir, "unterminated", "{'descr");
  refused(dir, "expected", "");
  refused(dir, "'}' expected", "{'descr': '<f4'");
  refused(
      dir, "more than 32", "{'descr': '<f4', 'fortran_order': False, 'shape': (" + [] {
        std::string s;
        for (int i = 0; i < 99; ++i) s += "1,";
        return s;
      }() + "), }");
  refused(dir, "Fortran order", "{'descr': '<f4', 'fortran_order': True, 'shape': (1,1,1), }");
  files::io_error_offset(dir / "x.npy", "version 9", [&] { read_npy<float>(make(dir, "{}", "", 9)); });
  write_file(dir / "y.npy", std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12));
  CHECK(files::io_error_offset(dir / "y.npy", "4294967295 bytes", [&] { read_npy<float>(dir / "y.npy"); }) ==
        8);
  write_file(dir / "z.npy", "PK\x03\x04 a zip of arrays");
  files::io_error_offset(dir / "z.npy", "not a .npy", [&] { read_npy<float>(dir / "z.npy"); });
  const float x[] = {1.5f};
  write_npy<float>(dir / "f.npy", x, std::vector<quench::index>{1});
  files::io_error_offset(dir / "f.npy", "do not convert", [&] { read_npy<int>(dir / "f.npy"); });
  CHECK_THROWS_AS(write_npy<float>(dir / "f.npy", x, std::vector<quench::index>{2}), error);
}

TEST_CASE("token files: bytes, 16 and 32 bits, and arrays") {
  const files::folder dir;
  write_file(dir / "a.txt", "ab\xff");
  const token_file text(dir / "a.txt");
  CHECK((text.size() == 3 && text[0] == 'a' && text[2] == 255));
  const path both[] = {dir / "a.txt", dir / "a.txt"};
  CHECK(read_text_bytes(both).size() == 6);

  const std::uint16_t two[] = {1, 65535, 300};
  write_file(dir / "t.bin", {reinterpret_cast<const char*>(two), 6});
  const token_file narrow(dir / "t.bin");
  CHECK((narrow.size() == 3 && narrow[1] == 65535));
  const std::uint32_t four[] = {1, 4000000000u};
  write_file(dir / "t.u32", {reinterpret_cast<const char*>(four), 8});
  CHECK(token_file(dir / "t.u32")[1] == 4000000000u);

  matrix<std::int32_t> m(2, 3);
  m << 1, 2, 3, 4, 5, 6;
  write_npy(dir / "t.npy", m);
  const token_file array(dir / "t.npy", 7);
  CHECK((array.rows() == 2 && array.cols() == 3 && array.table() == m));

  CHECK(files::io_error_offset(dir / "t.bin", "id 65535 is outside [0, 512)",
                               [&] { token_file f(dir / "t.bin", 512); }) == 2);
  files::io_error_offset(dir / "t.npy", "id 6 is outside [0, 6)", [&] { token_file f(dir / "t.npy", 6); });
  m(1, 0) = -4;
  write_npy(dir / "t.npy", m);
  files::io_error_offset(dir / "t.npy", "id -4 is outside", [&] { token_file f(dir / "t.npy"); });
  write_file(dir / "odd.u16", "abc");
  files::io_error_offset(dir / "odd.u16", "ids of 2 bytes", [&] { token_file f(dir / "odd.u16"); });
  const float x[] = {1};
  write_npy<float>(dir / "f.npy", x, std::vector<quench::index>{1});
  files::io_error_offset(dir / "f.npy", "are F32", [&] { token_file f(dir / "f.npy"); });
  write_file(dir / "none.txt", "");
  const path none[] = {dir / "none.txt"};
  files::io_error_offset(none[0], "empty", [&] { read_text_bytes(none); });
}
