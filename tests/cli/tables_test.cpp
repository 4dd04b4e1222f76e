#include "catch.hpp"

#include "cli/program.hpp"

#include <quench/format/registry.hpp>
#include <quench/io/json.hpp>
#include <quench/io/npy.hpp>
#include <quench/io/safetensors_writer.hpp>

using quench::io::json;
using quench::io::read_file;

TEST_CASE("formats lists the registry, with facts that hold") {
  const auto r = quench_run({"formats", "--json", "-"});
  REQUIRE(r.code == 0);
  const auto rows = json::parse(r.out);
  std::size_t at = 0;
  quench::builtin_formats::for_each([&]<class F>(F) {
    REQUIRE(at < rows.size());
    CHECK(rows[at]["format"] == F::name);
    CHECK(rows[at]["bits"] == F::bits);
    ++at;
  });
  CHECK(at == rows.size());
  const auto find = [&](const char* name) {
    for (const auto& row : rows)
      if (row["format"] == name) return row;
    return json();
  };
  CHECK(find("int4")["largest"] == 7.0);
  CHECK(find("fp4_e2m1")["largest"] == 6.0);
  CHECK(find("fp4_e2m1")["smallest positive"] == 0.5);
  CHECK(find("fp8_e4m3")["largest"] == 448.0);
  CHECK(find("fp8_e5m2")["largest"] == 57344.0);
  const auto csv = quench_run({"formats", "--csv", "-"});
  CHECK(contains(csv.out, "format,bits,values,"));
  CHECK(contains(quench_run({"formats"}).out, "fp8_e4m3"));
  const auto text = quench_run({"formats", "--csv", "/no/such/folder/x.csv"});
  CHECK(text.code == 1);
  CHECK(contains(text.err, "/no/such/folder/x.csv"));
}

TEST_CASE("stats reads npy and safetensors, one row a tensor") {
  const scratch at;
  quench::matrix<float> m(2, 4);
  m << 1, -1, 1, -1, 2, 2, 2, 8;  // rows: max/median 1 and 4
  quench::io::write_npy(at / "m.npy", m);
  const auto r = quench_run({"stats", (at / "m.npy").string(), "--json", "-"});
  REQUIRE(r.code == 0);
  const auto rows = json::parse(r.out);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["shape"] == "2 x 4");
  CHECK(rows[0]["max"] == 8.0);
  CHECK(rows[0]["max/median"].get<double>() == Approx(2.5));
  CHECK(rows[0]["rms"].get<double>() == Approx(std::sqrt(80.0 / 8)));

  const std::vector<quench::io::tensor_data> tensors{quench::io::tensor_of("first", m),
                                                     quench::io::tensor_of("second", m)};
  quench::io::write_safetensors(at / "m.safetensors", tensors);
  const auto s = quench_run({"stats", (at / "m.safetensors").string()});
  CHECK(s.code == 0);
  CHECK(contains(s.out, "first"));
  CHECK(contains(s.out, "second"));
}

TEST_CASE("stats refuses what it cannot read") {
  const scratch at;
  quench::io::write_file(at / "x.npy", "not an array");
  quench::io::write_file(at / "x.txt", "text");
  const auto bad = quench_run({"stats", (at / "x.npy").string()});
  CHECK(bad.code == 1);
  CHECK(contains(bad.err, "x.npy"));
  const auto kind = quench_run({"stats", (at / "x.txt").string()});
  CHECK(kind.code == 2);
  CHECK(contains(kind.err, ".safetensors"));
  CHECK(quench_run({"stats", (at / "missing.npy").string()}).code == 1);
  CHECK(quench_run({"stats"}).code == 2);
}

TEST_CASE("report needs records") {
  const scratch at;
  const auto r = quench_run({"report", at.path.string()});
  CHECK(r.code == 1);
  CHECK(contains(r.err, "records.jsonl"));
}
