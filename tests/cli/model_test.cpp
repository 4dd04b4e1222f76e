#include "catch.hpp"
#include "instances/models.hpp"

#include "cli/program.hpp"

#include <quench/io/json.hpp>
#include <quench/io/npy.hpp>
#include <quench/study/model.hpp>

using quench::io::json;

namespace {

/// The folder of stories260K, or empty where the shared goldens are absent.
fs::path stories() {
  const char* told = std::getenv("QUENCH_SHARED_DIR");
  for (const fs::path& shared : {fs::path(told ? told : ""), fs::path(QUENCH_SOURCE_DIR) / "../shared"})
    if (const auto at = shared / "goldens/weights/stories260K";
        !shared.empty() && fs::exists(at / "stories260K.bin"))
      return at;
  return {};
}

constexpr const char* absent =
    "stories260K is not there; set QUENCH_SHARED_DIR to the folder that holds goldens/";

}  // namespace

TEST_CASE("stories260K: full precision and round-to-nearest weights have the golden losses") {
  const fs::path at = stories();
  if (at.empty()) return skip(absent);
  const auto r = quench_run({"eval", (at / "stories260K.bin").string(), "--tokens",
                             (at / "tokens_sampled_8x256.npy").string(), "--spec",
                             "none,int8,int6,int5,int4,int3,int2", "--json", "-"});
  INFO(r.err);
  REQUIRE(r.code == 0);
  const auto rows = json::parse(r.out);
  const auto golden = json::parse(quench::io::read_file(at / "golden.json"))["nll"];
  REQUIRE(rows.size() == 7);
  const auto nll = [&](std::size_t i) { return rows[i]["nll"].get<double>(); };
  CHECK(rows[0]["predictions"] == 8 * 255);
  CHECK(std::abs(nll(0) - 1.28544) < 2e-4);
  CHECK(std::abs(nll(0) - golden["fp64_nll"].get<double>()) < 1e-5);
  const char* exact[] = {"W8", "W6", "W5", "W4"};
  for (std::size_t i = 0; i < 4; ++i) {
    INFO(exact[i]);
    CHECK(std::abs(nll(i + 1) - golden[std::string("rtn_sym_per_row_") + exact[i]].get<double>()) < 1e-3);
  }
  CHECK(nll(5) == Approx(golden["rtn_sym_per_row_W3"].get<double>()).epsilon(0.01));
  CHECK(nll(6) == Approx(golden["rtn_sym_per_row_W2"].get<double>()).epsilon(0.01));
}

TEST_CASE("stories260K: logits along the greedy tokens") {
  const fs::path at = stories();
  if (at.empty()) return skip(absent);
  auto model = quench::study::load_model<float>(at / "stories260K.bin");
  const auto tokens = quench::io::read_npy<double>(at / "tokens_greedy64.npy");
  const auto golden = quench::io::read_npy<float>(at / "logits_greedy64_f32.npy");
  std::vector<std::int32_t> ids;
  for (quench::index i = 0; i < tokens.size(); ++i) ids.push_back(std::int32_t(tokens.data()[i]));
  const auto logits = model.logits(ids.data(), golden.rows());
  REQUIRE(logits.cols() == golden.cols());
  CHECK((logits - golden).cwiseAbs().maxCoeff() < 1e-3f);
}

TEST_CASE("stories260K: generate gives the golden text") {
  const fs::path at = stories();
  if (at.empty()) return skip(absent);
  const auto r = quench_run(
      {"generate", (at / "stories260K.bin").string(), "--tokenizer", (at / "tok512.bin").string()});
  INFO(r.err);
  CHECK(r.code == 0);
  std::string golden =
      json::parse(quench::io::read_file(at / "golden.json"))["greedy_text"].get<std::string>();
  if (golden.ends_with(" ...")) golden.resize(golden.size() - 4);
  CHECK(r.out.starts_with(golden));
}

TEST_CASE("a model survives saving, and eval reads it") {
  const scratch at;
  quench::nn::transformer<float> model(quench::nn::olmo2(3, 2, 4, 256, 32));
  model.init(5);
  quench::study::save_model(at / "model.safetensors", model.config(), model.params());
  const auto back = quench::study::load_model<float>(at / "model.safetensors");
  CHECK(back.config() == model.config());
  for (std::size_t i = 0; i < model.params().size(); ++i)
    CHECK(back.params()[i].value == model.params()[i].value);
  std::string text;
  for (int i = 0; i < 500; ++i) text += char('a' + i * i % 17);
  quench::io::write_file(at / "text.txt", text);
  const std::vector<std::string> eval{
      "eval",  (at / "model.safetensors").string(), "--tokens", (at / "text.txt").string(), "--json", "-",
      "--spec"};
  const auto with = [&](std::vector<std::string> more) {
    auto all = eval;
    all.insert(all.end(), more.begin(), more.end());
    return quench_run(all);
  };
  const auto r = with({"none,int4,w4a4,int4/g4+int8"});
  INFO(r.err);
  REQUIRE(r.code == 0);
  const auto rows = json::parse(r.out);
  CHECK(rows[0]["nll"].get<double>() == Approx(std::log(256.0)).epsilon(0.05));
  CHECK(rows[0]["predictions"] == 499 / 32 * 32);
  CHECK(rows[1]["nll"] != rows[0]["nll"]);
  const auto generated =
      quench_run({"generate", (at / "model.safetensors").string(), "--prompt", "abc", "--tokens", "5"});
  CHECK(generated.code == 0);
  CHECK(generated.out.starts_with("abc"));
  CHECK(generated.out.size() == 3 + 5 + 1);

  const auto unknown = with({"int4,float3"});
  CHECK(unknown.code == 2);
  CHECK(contains(unknown.err, "float3"));
  CHECK(with({"none", "--length", "33"}).code == 2);
  quench::io::write_file(at / "short.txt", "ten bytes.");
  const auto brief = quench_run({"eval", eval[1], "--tokens", (at / "short.txt").string()});
  CHECK(brief.code == 1);
  CHECK(contains(brief.err, "has 10 tokens, a window needs 33"));
  const auto bytes = quench::io::read_file(at / "model.safetensors");
  quench::io::write_file(at / "cut.safetensors", bytes.substr(0, bytes.size() / 2));
  const auto cut =
      quench_run({"eval", (at / "cut.safetensors").string(), "--tokens", (at / "text.txt").string()});
  CHECK(cut.code == 1);
  CHECK(contains(cut.err, "cut.safetensors"));
}
