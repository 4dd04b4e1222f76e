#include "catch.hpp"

#include "cli/program.hpp"

#include <quench/io/jsonl.hpp>

using quench::io::read_file;

namespace {

/// A text with some structure, 6000 bytes.
std::string text(int seed) {
  std::string s;
  for (int i = 0; s.size() < 6000; ++i) s += "the " + std::to_string((i * i + seed) % 97) + " and so on, ";
  return s;
}

/// A study that takes a second: arguments for `folder`, with files in it.
std::vector<std::string> tiny(const scratch& at, const std::string& folder,
                              std::vector<std::string> more = {}) {
  for (const int k : {0, 1})
    if (const auto f = at / ("text" + std::to_string(k)); !fs::exists(f)) quench::io::write_file(f, text(k));
  std::vector<std::string> args{"study",          "optimizers",
                                "--out",          (at / folder).string(),
                                "--train",        (at / "text0").string(),
                                "--validation",   (at / "text1").string(),
                                "--model",        "3,1,12",
                                "--length",       "16",
                                "--sequences",    "2",
                                "--eval-windows", "4",
                                "--points",       "10",
                                "--optimizers",   "adamw,muon",
                                "--threads",      "1"};
  const bool has_steps = std::find(more.begin(), more.end(), "--steps") != more.end();
  if (!has_steps) args.insert(args.end(), {"--steps", "30"});
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

std::vector<fs::path> run_folders(const fs::path& study) {
  std::vector<fs::path> out;
  if (fs::exists(study / "runs"))
    for (const auto& e : fs::directory_iterator(study / "runs")) out.push_back(e.path());
  return out;
}

std::size_t lines_written(const fs::path& study) {
  std::size_t n = 0;
  for (const auto& f : run_folders(study))
    if (fs::exists(f / "records.jsonl")) {
      const auto s = read_file(f / "records.jsonl");
      n += std::size_t(std::count(s.begin(), s.end(), '\n'));
    }
  return n;
}

}  // namespace

TEST_CASE("a study ends with a table, records, a summary and a report") {
  const scratch at;
  const auto r = quench_run(
      tiny(at, "s", {"--csv", (at / "table.csv").string(), "--json", (at / "table.json").string()}));
  INFO(r.err);
  REQUIRE(r.code == 0);
  CHECK(contains(r.out, "optimizer"));
  CHECK(contains(r.out, "muon"));
  CHECK(contains(r.out, "report.html"));
  CHECK(contains(r.err, "steps"));  // progress, in plain lines
  CHECK_FALSE(contains(r.err, "\x1b"));
  const auto rows = quench::io::read_records(at / "s/records.jsonl").rows;
  CHECK(rows.size() == 2 * (1 + 11 + 1));
  CHECK(contains(read_file(at / "s/summary.csv"), ",adamw,"));
  CHECK(contains(read_file(at / "s/report.html"), "<html"));
  CHECK(contains(read_file(at / "table.csv"), "optimizer,lr,"));
  CHECK(quench::io::json::parse(read_file(at / "table.json")).size() == 2);

  const auto before = read_file(at / "s/records.jsonl"), timing = read_file(at / "s/timing.jsonl");
  CHECK(quench_run(tiny(at, "s")).code == 0);  // finished: nothing is computed again
  CHECK(read_file(at / "s/records.jsonl") == before);
  CHECK(read_file(at / "s/timing.jsonl") == timing);
  const auto list = quench_run(tiny(at, "s", {"--list"}));
  CHECK(list.code == 0);
  CHECK(contains(list.out, "ok"));

  CHECK(quench_run(tiny(at, "two", {"--threads", "2"})).code ==
        0);  // another folder, two threads: the same bytes
  CHECK(read_file(at / "two/records.jsonl") == before);
  CHECK(read_file(at / "two/summary.csv") == read_file(at / "s/summary.csv"));
}

TEST_CASE("kill -9 at any time: the same command ends with the same records") {
  const scratch at;
  REQUIRE(quench_run(tiny(at, "whole", {"--steps", "200"})).code == 0);
  const auto whole = read_file(at / "whole/records.jsonl");
  for (const int lines : {1, 2, 5, 9, 13, 16, 20}) {
    process p(tiny(at, "killed", {"--steps", "200"}));
    REQUIRE(wait_until([&] { return lines_written(at / "killed") >= std::size_t(lines); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(lines % 4));
    p.send(SIGKILL);
    const int code = p.wait().code;
    CHECK((code == 1000 + SIGKILL || code == 0));
  }
  const auto r = quench_run(tiny(at, "killed", {"--steps", "200"}));
  INFO(r.err);
  REQUIRE(r.code == 0);
  CHECK(read_file(at / "killed/records.jsonl") == whole);
}

TEST_CASE("SIGINT and SIGTERM finish the record, say how to continue, and exit with 130 and 143") {
  const scratch at;
  REQUIRE(quench_run(tiny(at, "whole", {"--steps", "2000"})).code == 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto args = tiny(at, "s", {"--steps", "2000"});
    process p(args);
    const auto start = lines_written(at / "s");
    REQUIRE(wait_until([&] { return lines_written(at / "s") >= start + 2; }));
    p.send(signal);
    const auto r = p.wait();
    CHECK(r.code == 128 + signal);
    CHECK(contains(r.err, "the same command continues it"));
    for (const auto& f : run_folders(at / "s"))
      CHECK(quench::io::read_records(f / "records.jsonl").cut_bytes == 0);
  }
  REQUIRE(quench_run(tiny(at, "s", {"--steps", "2000"})).code == 0);
  CHECK(read_file(at / "s/records.jsonl") == read_file(at / "whole/records.jsonl"));
}

TEST_CASE("two processes on one folder: the second is refused") {
  const scratch at;
  process first(tiny(at, "s", {"--steps", "100000"}));
  REQUIRE(wait_until([&] { return lines_written(at / "s") >= 1; }));
  const auto second = quench_run(tiny(at, "s", {"--steps", "100000"}));
  CHECK(second.code == 1);
  CHECK(contains(second.err, "is working in this folder"));
  CHECK(contains(second.err, "pid "));
  first.send(SIGTERM);
  CHECK(first.wait().code == 143);
}

TEST_CASE("a full disk: a message, and everything recorded before stands") {
  const scratch at;
  REQUIRE(quench_run(tiny(at, "whole")).code == 0);
  process p(tiny(at, "s"), 4000);  // no file may grow beyond 4000 bytes: the first checkpoint does
  const auto r = p.wait();
  CHECK(r.code == 1);
  CHECK(contains(r.err, "checkpoint.safetensors"));
  CHECK(contains(r.err, "File too large"));
  for (const auto& f : run_folders(at / "s"))
    CHECK(quench::io::read_records(f / "records.jsonl").cut_bytes == 0);
  REQUIRE(quench_run(tiny(at, "s")).code == 0);  // with room again it continues
  CHECK(read_file(at / "s/records.jsonl") == read_file(at / "whole/records.jsonl"));

  process full({"formats"}, RLIM_INFINITY, "/dev/full");
  const auto out = full.wait();
  CHECK(out.code == 1);
  CHECK(contains(out.err, "cannot write to stdout"));
}

TEST_CASE("a truncated checkpoint: refused by name, and --fresh starts again") {
  const scratch at;
  {
    process p(tiny(at, "s", {"--steps", "100000"}));
    REQUIRE(wait_until([&] { return lines_written(at / "s") >= 3; }));
    p.send(SIGKILL);
    p.wait();
  }
  REQUIRE(run_folders(at / "s").size() == 1);
  const auto folder = run_folders(at / "s").front();
  fs::resize_file(folder / "checkpoint.safetensors", 1000);
  const auto records = read_file(folder / "records.jsonl");
  const auto r = quench_run(tiny(at, "s", {"--steps", "100000"}));
  CHECK(r.code == 1);
  CHECK(contains(r.err, "checkpoint.safetensors"));
  CHECK(contains(r.err, "--fresh"));
  CHECK(read_file(folder / "records.jsonl") == records);
}

TEST_CASE("wrong requests end with 2 and name what is wrong and what there is") {
  const scratch at;
  const auto refused = [&](std::vector<std::string> more, int code,
                           std::initializer_list<const char*> parts) {
    const auto r = quench_run(tiny(at, "s", std::move(more)));
    INFO(r.err);
    CHECK(r.code == code);
    for (const char* part : parts) CHECK(contains(r.err, part));
  };
  refused({"--optimizers", "adamw,rmsprop"}, 2, {"rmsprop", "adamw", "muon"});
  refused({"--optimizers", "adamw:learning_rate=1"}, 2, {"learning_rate", "lr"});
  refused({"--optimizers", "adamw,,muon"}, 2, {"empty"});
  refused({"--optimizers", "adamw,adamw"}, 2, {"twice"});
  refused({"--quantizers", "w4,w77"}, 2, {"77", "int4"});
  refused({"--model", "3,1"}, 2, {"heads,blocks,width"});
  refused({"--model", "3,1,13"}, 2, {"width must be a multiple of heads", "13"});
  refused({"--no-such-option"}, 2, {"--no-such-option", "--help"});
  refused({"--steps", "0"}, 2, {"--steps"});
  refused({"--length", "7000"}, 1, {"text0", "7001", "--length"});
  refused({"--train", (at / "missing.txt").string()}, 1, {"missing.txt", "No such file"});
  quench::io::write_file(at / "blocked", "a file, not a folder");
  refused({"--out", (at / "blocked/study").string()}, 1, {"blocked", "cannot create the folder"});
  CHECK_FALSE(fs::exists(at / "s"));  // nothing was started

  CHECK(quench_run({}).code == 2);
  CHECK(quench_run({"no-such-command"}).code == 2);
  CHECK(quench_run({"--help"}).code == 0);
  CHECK(contains(quench_run({"study", "optimizers", "--help"}).out, "--quantizers"));
}

TEST_CASE("an unwritable folder is refused") {
  if (::geteuid() == 0) {
    const auto r =
        quench_run({"study", "optimizers", "--out", "/proc/quench", "--quick"});  // even root cannot
    CHECK(r.code == 1);
    CHECK(contains(r.err, "/proc/quench"));
    return;
  }
  const scratch at;
  fs::create_directory(at / "closed");
  fs::permissions(at / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  const auto r = quench_run(tiny(at, "closed"));
  CHECK(r.code == 1);
  CHECK(contains(r.err, "cannot write in the folder"));
}
