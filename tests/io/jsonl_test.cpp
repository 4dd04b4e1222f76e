#include <quench/io/jsonl.hpp>

#include <clocale>

#include "io/files.hpp"

using namespace quench;
using namespace quench::io;

TEST_CASE("doubles survive a record, whatever they are") {
  const files::folder dir;
  const double inf = std::numeric_limits<double>::infinity();
  const double values[] = {0.1,
                           -0.0,
                           1.0 / 3,
                           5e-324,
                           1.7976931348623157e308,
                           2.2250738585072014e-308,
                           123456789.123456789,
                           1e22,
                           1e23,
                           inf,
                           -inf,
                           std::nan("")};
  {
    record_writer out(dir / "r.jsonl");
    for (const double x : values) out.append({{"x", x}, {"nested", {{"list", {x, 1}}}}});
  }
  const auto back = read_records(dir / "r.jsonl");
  REQUIRE(back.rows.size() == std::size(values));
  CHECK(back.cut_bytes == 0);
  for (std::size_t i = 0; i < std::size(values); ++i) {
    const double x = to_double(back.rows[i], "x", 7.0), y = to_double(back.rows[i]["nested"]["list"][0]);
    CAPTURE(values[i], x);
    if (std::isnan(values[i])) {
      CHECK((std::isnan(x) && std::isnan(y)));
    } else {
      CHECK(std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(values[i]));
      CHECK(std::bit_cast<std::uint64_t>(y) == std::bit_cast<std::uint64_t>(values[i]));
    }
  }
  CHECK(to_line({{"a", inf}, {"b", std::nan("")}, {"c", -inf}}) ==
        R"({"a":"Infinity","b":"NaN","c":"-Infinity"})");
}

TEST_CASE("a random walk over all doubles reads back bit for bit") {
  std::uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto x = std::bit_cast<double>(state ^ (state >> 29));
    const double y = to_double(parse_json(to_line({{"x", x}}), "none"), "x", 0.0);
    if (std::isnan(x))
      CHECK(std::isnan(y));
    else if (std::bit_cast<std::uint64_t>(x) != std::bit_cast<std::uint64_t>(y))
      FAIL(x << " came back as " << y);
  }
}

TEST_CASE("the locale does not reach the file") {
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"})
    if (std::setlocale(LC_ALL, name)) break;
  CHECK(to_line({{"x", 0.5}}) == R"({"x":0.5})");
  CHECK(to_double(parse_json(R"({"x":0.5})", "none"), "x", 0.0) == 0.5);
  std::setlocale(LC_ALL, "C");
}

TEST_CASE("a cut last line is reported by the reader and repaired by the writer") {
  const files::folder dir;
  const path file = dir / "r.jsonl";
  const std::string whole = "{\"a\":1}\n{\"a\":2}\n";
  for (std::size_t cut = 0; cut <= 7; ++cut) {
    write_file(file, whole + std::string("{\"a\":3}").substr(0, cut));
    const auto seen = read_records(file);
    CHECK(seen.rows.size() == (cut == 7 ? 3u : 2u));
    CHECK(seen.cut_bytes == (cut == 7 ? 0 : cut));
    {
      record_writer out(file);
      CHECK(out.repaired() == (cut == 7 ? 0 : cut));
      out.append({{"a", 4}});
    }
    CHECK(read_file(file) == whole + (cut == 7 ? "{\"a\":3}\n" : "") + "{\"a\":4}\n");
  }
}

TEST_CASE("errors in records name file, line and byte") {
  const files::folder dir;
  const path file = dir / "r.jsonl";
  write_file(file, "{\"a\":1}\n\n{\"a\":oops}\n{\"a\":2}\n");
  CHECK(files::io_error_offset(path(file) += ":3", "not valid JSON", [&] { read_records(file); }) == 14);
  write_file(file, "{\"a\":1}\n[1,2]\n");
  CHECK(files::io_error_offset(path(file) += ":2", "must be a JSON object, is array",
                               [&] { read_records(file); }) == 8);
  write_file(file, "{\"a\":1,\"a\":2}\n");
  files::io_error_offset(file, "key \"a\" twice", [&] { read_records(file); });
  write_file(file, "{\"a\":\"\xff\"}\n");
  files::io_error_offset(file, "not valid JSON", [&] { read_records(file); });
  write_file(file, "{\"a\":1e999}\n");
  files::io_error_offset(file, "not valid JSON", [&] { read_records(file); });
  write_file(file, "{\"a\":" + std::string(1000, '[') + std::string(1000, ']') + "}\n");
  files::io_error_offset(file, "nested deeper", [&] { read_records(file); });
  files::io_error_offset(dir / "none.jsonl", "No such file", [&] { read_records(dir / "none.jsonl"); });
  CHECK_THROWS_WITH(to_double(json("high"), "loss"),
                    Catch::Contains("loss must be a number") && Catch::Contains("high"));
}

TEST_CASE("two writers of one record file: the second is refused") {
  const files::folder dir;
  record_writer first(dir / "r.jsonl");
  files::io_error_offset(dir / "r.jsonl", "another process", [&] { record_writer second(dir / "r.jsonl"); });
  first.append({{"a", 1}});
  CHECK(read_records(dir / "r.jsonl").rows.size() == 1);
}

TEST_CASE("text that is not UTF-8 and control characters are escaped, never lost lines") {
  const std::string line = to_line({{"s", std::string("a\nb\xff\x01\"</script>")}});
  CHECK(line.find('\n') == std::string::npos);
  CHECK_NOTHROW(parse_json(line, "none"));
}
