#include "catch.hpp"
#include "instances/optimizers.hpp"

#include <quench/study/config.hpp>

using namespace quench;

namespace {
study::run_config valid() {
  study::run_config c;
  c.schedule = study::split_wsd(100, 5, 20);
  c.data = {{"a.txt"}, {"b.txt"}, 1000, 500, 11, 22};
  return c;
}
std::string message(const study::run_config& c) {
  try {
    study::check(c);
  } catch (const error& e) {
    return e.what();
  }
  return "";
}
}  // namespace

TEST_CASE("a schedule's parts add up and follow the largest remainder") {
  const auto s = study::split_wsd(100, 5, 20);
  CHECK(s.warmup == 5);
  CHECK(s.cooldown == 20);
  CHECK(s.at(0) == Approx(0.001 + 0.999 / 5));
  CHECK(s.at(50) == 1);
  for (std::int64_t n = 1; n < 300; ++n) {
    const auto p = study::split_wsd(n, 5, 20);
    REQUIRE(p.steps == n);
    REQUIRE(std::abs(double(p.warmup) - 0.05 * double(n)) < 1);
    REQUIRE(std::abs(double(p.steps - p.warmup - p.cooldown) - 0.75 * double(n)) < 1);
    REQUIRE(std::abs(double(p.cooldown) - 0.20 * double(n)) < 1);
  }
}

TEST_CASE("points start at zero, end at the last step, and never repeat") {
  auto c = valid();
  for (const std::int64_t steps : {1, 5, 19, 20, 21, 333}) {
    c.schedule.steps = steps;
    const auto p = study::point_steps(c);
    REQUIRE(p.front() == 0);
    REQUIRE(p.back() == steps);
    REQUIRE(std::adjacent_find(p.begin(), p.end(), std::greater_equal<>{}) == p.end());
    REQUIRE(p.size() == std::size_t(std::min<std::int64_t>(steps, c.points)) + 1);
  }
}

TEST_CASE("the hash follows what results depend on, and nothing else") {
  const auto c = valid();
  const auto h = study::config_hash(c);
  CHECK(h.size() == 16);
  CHECK(study::config_hash(valid()) == h);
  auto renamed = c;
  renamed.data.train = {"elsewhere/copy.txt"};
  CHECK(study::config_hash(renamed) == h);  // the same bytes under another name

  std::vector<study::run_config> others(14, c);
  others[0].seed = 2;
  others[1].lr *= 1 + 1e-15;
  others[2].optimizer = "muon";
  others[3].settings = "weight_decay=0.1";
  others[4].model.blocks = 3;
  others[5].data.train_hash = 12;
  others[6].data.validation_hash = 23;
  others[7].schedule = study::split_wsd(101, 5, 20);
  others[8].clip = 0;
  others[9].quantizers = {"w4"};
  others[10].quantize_head = true;
  others[11].schedule.cooldown = 21;
  others[12].eval_windows = 65;
  others[13].points = 21;
  std::vector<std::string> seen{h};
  for (const auto& o : others) {
    CHECK(std::find(seen.begin(), seen.end(), study::config_hash(o)) == seen.end());
    seen.push_back(study::config_hash(o));
  }
}

TEST_CASE("the hash is FNV-1a, finished") {
  CHECK(study::hasher().add("", 0).value() == mix_bits(0xCBF29CE484222325ull, 0));
  CHECK(study::hasher().add("a", 1).value() ==
        mix_bits(0xAF63DC4C8601EC8Cull, 0));  // published FNV-1a 64 of "a"
  CHECK(study::hex16(0x0123456789ABCDEFull) == "0123456789abcdef");
}

TEST_CASE("configurations that cannot run are refused with the field, the rule and the value") {
  CHECK(message(valid()).empty());
  const auto says = [](auto change, const std::string& part) {
    auto c = valid();
    change(c);
    INFO(message(c));
    CHECK(message(c).find(part) != std::string::npos);
  };
  says([](auto& c) { c.model.architecture = "rnn"; }, "architecture must be olmo2 or llama, is 'rnn'");
  says([](auto& c) { c.model.width = 97; }, "width must be a multiple of heads, is 97");
  says([](auto& c) { c.model.width = 18; }, "width / heads must be even");
  says([](auto& c) { c.schedule.steps = 0; }, "steps must be at least 1, is 0");
  says([](auto& c) { c.length = 129; }, "length must be at most the model's context 128, is 129");
  says([](auto& c) { c.lr = 0; }, "learning rate");
  says([](auto& c) { c.data.train_tokens = 128; }, "training text has 128 tokens, one window needs 129");
  says([](auto& c) { c.data.validation_tokens = 3; }, "validation text has 3 tokens");
  says([](auto& c) { c.schedule.cooldown = 96; }, "warmup + cooldown <= steps");
}

TEST_CASE("an optimizer is written down with all of its settings") {
  auto c = valid();
  study::use_optimizer(c, "adamw", "weight_decay=0.25");
  CHECK(c.optimizer == "adamw");
  const auto j = study::settings_json(c.settings);
  CHECK(j["weight_decay"] == 0.25);
  CHECK(j["lr"] == c.lr);
  CHECK(j["skip_nonfinite"] == false);
  auto again = valid();
  study::use_optimizer(again, c.optimizer, c.settings);
  CHECK(study::config_hash(again) == study::config_hash(c));
  CHECK_THROWS_WITH(study::use_optimizer(c, "adamwx"), Catch::Contains("adamwx") && Catch::Contains("muon"));
}
