#include "catch.hpp"
#include "instances/models.hpp"
#include "instances/optimizers.hpp"

#include <quench/study/collect.hpp>
#include <quench/study/train.hpp>

#include <unistd.h>

using namespace quench;
namespace fs = std::filesystem;

namespace {

/// A folder of its own, removed at the end.
struct scratch {
  fs::path path = fs::temp_directory_path() / ("quench-study-" + std::to_string(::getpid()));
  scratch() { fs::remove_all(path); }
  ~scratch() { fs::remove_all(path); }
  fs::path operator/(const char* name) const { return path / name; }
};

study::corpus text() {
  study::corpus d;
  for (int i = 0; i < 4000; ++i)
    d.train.push_back(32 + (i * i / 7 + i) % 60), d.validation.push_back(32 + (i * i / 7 + 3 * i) % 60);
  d.facts = {{"train"},
             {"validation"},
             4000,
             4000,
             study::hasher().add(d.train.data(), 4 * d.train.size()).value(),
             study::hasher().add(d.validation.data(), 4 * d.validation.size()).value()};
  return d;
}

study::run_config small(const std::string& optimizer, std::int64_t steps = 12) {
  study::run_config c;
  c.model = {.heads = 3, .blocks = 1, .width = 12, .vocabulary = 128, .context = 16};
  c.data = text().facts;
  study::use_optimizer(c, optimizer);
  c.schedule = study::split_wsd(steps, 5, 20);
  c.sequences = 3;
  c.length = 16;
  c.points = 4;
  c.eval_windows = 5;
  c.tap_windows = 2;
  return c;
}

std::string bytes(const fs::path& file) { return io::read_file(file); }

}  // namespace

TEST_CASE("a run leaves a run record, its points and an end, as the schema says") {
  const scratch at;
  const auto c = small("adamw");
  const auto s = study::train(c, text(), at / "r");
  CHECK(s.result.status == study::run_status::ok);
  CHECK(s.result.step == 12);
  const study::run_files files{at / "r"};
  const auto rows = files.read();
  REQUIRE(rows.size() == 1 + 5 + 1);
  CHECK(rows[0]["kind"] == "run");
  CHECK(rows[0]["schema"] == 1);
  CHECK(rows[0]["config"] == study::config_hash(c));
  CHECK(rows[0]["points"] == io::json({0, 3, 6, 9, 12}));
  CHECK(rows[0]["tokens"] == 12 * 3 * 16);
  CHECK(rows[0]["build"]["isa"].get<std::string>().find("isa_") == 0);
  for (std::size_t i = 1; i <= 5; ++i) {
    CHECK(rows[i]["kind"] == "point");
    CHECK(rows[i]["run"] == study::run_id(c));
    CHECK(rows[i].contains("train_loss") == (i > 1));
    const double val = io::to_double(rows[i]["val_loss"]);
    for (const char* q : {"w4", "w3", "w4a4"}) {
      const double loss = io::to_double(rows[i][std::string(q) + "_loss"]);
      CHECK(io::to_double(rows[i][std::string(q) + "_abs"]) == loss - val);
      CHECK(io::to_double(rows[i][std::string(q) + "_rel"]) == loss / val - 1);
    }
  }
  CHECK(rows[5]["lr"] == c.lr * c.schedule.at(11));
  CHECK(rows[6]["status"] == "ok");
  CHECK(rows[6]["val_loss"] == rows[5]["val_loss"]);
  CHECK_FALSE(fs::exists(files.checkpoint()));

  const auto again = study::train(c, text(), at / "r");  // finished: recognised, nothing computed
  CHECK(again.was_finished);
  CHECK(again.result.val_loss == s.result.val_loss);
}

TEST_CASE("a stop at any step, and any number of threads, leave the same bytes") {
  const scratch at;
  for (const auto& name : optimizer_names()) {
    const auto c = small(name, 8);
    study::train(c, text(), at / ("whole-" + name).c_str());
    const auto whole = bytes(at / ("whole-" + name).c_str() / "records.jsonl");
    for (const int stop_after : {1, 2, 3}) {  // stops every few steps until the run is through
      const auto folder = at / (name + std::to_string(stop_after)).c_str();
      thread_pool pool(stop_after == 2 ? 2 : 1);
      for (int sessions = 0;; ++sessions) {
        REQUIRE(sessions < 20);
        int steps = 0;
        study::run_options o;
        o.run = pool.run();
        o.stop = [&] { return ++steps == stop_after; };
        if (study::train(c, text(), folder, o).result.status != study::run_status::interrupted) break;
        CHECK(fs::exists(folder / "checkpoint.safetensors"));
      }
      INFO(name << " stopped after every " << stop_after << " steps");
      CHECK(bytes(folder / "records.jsonl") == whole);
    }
  }
}

TEST_CASE("records written after the checkpoint, and a cut last line, are computed again to the same bytes") {
  const scratch at;
  const auto c = small("adamw");
  study::train(c, text(), at / "whole");
  const auto whole = bytes(at / "whole" / "records.jsonl");

  int steps = 0;
  study::run_options stop;
  stop.stop = [&] { return ++steps == 7; };
  study::train(c, text(), at / "cut", stop);
  const auto checkpoint = bytes(at / "cut" / "checkpoint.safetensors");  // at step 7
  stop.stop = [&] { return ++steps == 7 + 4; };
  study::train(c, text(), at / "cut", stop);  // writes the point at step 9
  const auto partial = bytes(at / "cut" / "records.jsonl");
  CHECK(partial == whole.substr(0, partial.size()));
  io::write_file(at / "cut" / "checkpoint.safetensors",
                 checkpoint);  // as if the machine died between the two
  io::write_file(at / "cut" / "records.jsonl", partial + "{\"kind\":\"poi");
  study::train(c, text(), at / "cut");
  CHECK(bytes(at / "cut" / "records.jsonl") == whole);
}

TEST_CASE("divergence is a result: the run ends early, its records say why") {
  const scratch at;
  auto c = small("sgd:lr=9e5", 40);
  c.clip = 0;
  const auto s = study::train(c, text(), at / "r");
  CHECK(s.result.status == study::run_status::diverged);
  CHECK(s.result.step < 40);
  CHECK(s.result.reason.find("step") != std::string::npos);
  const auto rows = study::run_files{at / "r"}.read();
  CHECK(rows.back()["status"] == "diverged");
  const auto& last = rows[rows.size() - 2];
  CHECK(last["step"] == s.result.step);
  CHECK_FALSE(std::isfinite(io::to_double(last["val_loss"])));  // survived the round trip as a string
  CHECK(study::train(c, text(), at / "r").was_finished);
  CHECK(bytes(at / "r" / "records.jsonl").find("NaN") != std::string::npos);
}

TEST_CASE("a folder of another configuration, a damaged checkpoint, a folder in use: refused, nothing lost") {
  const scratch at;
  const auto c = small("adamw");
  study::run_options stop;
  stop.stop = [] { return true; };
  study::train(c, text(), at / "r", stop);
  const auto before = bytes(at / "r" / "records.jsonl");

  auto other = c;
  other.seed = 2;
  CHECK_THROWS_WITH(study::train(other, text(), at / "r"),
                    Catch::Contains("belongs to another configuration"));

  const auto checkpoint = bytes(at / "r" / "checkpoint.safetensors");
  for (const std::size_t keep :
       {std::size_t(0), std::size_t(5), checkpoint.size() / 2, checkpoint.size() - 1}) {
    io::write_file(at / "r" / "checkpoint.safetensors", checkpoint.substr(0, keep));
    CHECK_THROWS_AS(study::train(c, text(), at / "r"), io_error);
  }
  io::write_file(at / "r" / "checkpoint.safetensors", checkpoint);
  {
    const study::folder_lock holder(at / "r");
    CHECK_THROWS_WITH(study::train(c, text(), at / "r"),
                      Catch::Contains("is working in this folder") && Catch::Contains("pid"));
  }
  CHECK(bytes(at / "r" / "records.jsonl") == before);
  CHECK(study::train(c, text(), at / "r").result.status == study::run_status::ok);

  io::write_file(at / "file", "x");
  CHECK_THROWS_WITH(study::train(c, text(), at / "file"), Catch::Contains("cannot"));
}

TEST_CASE("fresh discards what is there; an unknown optimizer or quantizer is refused by name") {
  const scratch at;
  auto c = small("adamw");
  study::train(c, text(), at / "r");
  study::run_options fresh;
  fresh.fresh = true;
  const auto before = bytes(at / "r" / "records.jsonl");
  CHECK_FALSE(study::train(c, text(), at / "r", fresh).was_finished);
  CHECK(bytes(at / "r" / "records.jsonl") == before);
  c.optimizer = "adamvv";
  CHECK_THROWS_WITH(study::train(c, text(), at / "s"), Catch::Contains("adamvv") && Catch::Contains("adamw"));
  c = small("adamw");
  c.quantizers = {"w4", "w99"};
  CHECK_THROWS_WITH(study::train(c, text(), at / "t"), Catch::Contains("w99") && Catch::Contains("int4"));
}

TEST_CASE("runs are collected in order, with a summary row each") {
  const scratch at;
  std::vector<std::string> ids;
  for (const char* name : {"adamw", "sgd"}) {
    const auto c = small(name);
    ids.push_back(study::run_id(c));
    study::train(c, text(), study::files_of(at.path, ids.back()).folder);
  }
  ids.push_back("pending-0000000000000000");
  const auto all = study::collect(at.path, ids);
  REQUIRE(all.size() == 3);
  CHECK(all[0].status() == "ok");
  CHECK(all[2].status() == "pending");
  CHECK(io::read_records(at / "records.jsonl").rows.size() == 2 * 7);
  CHECK(io::read_records(at / "timing.jsonl").rows.size() == 2);
  const auto csv = bytes(at / "summary.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
  CHECK(csv.find(ids[0] + ",adamw,adamw,") != csv.npos);
  CHECK(csv.find("seconds") == csv.npos);
}
