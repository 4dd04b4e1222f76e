// stories260K, a trained Llama: its published loss, logits, text and rounded losses. Skipped where the file
// is absent.
#include <quench/io/llama2c.hpp>
#include <quench/io/npy.hpp>
#include <quench/nn/generate.hpp>
#include <quench/quant/fake_quant.hpp>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "catch.hpp"
#include "instances/models.hpp"

namespace {
namespace q = quench;
namespace fs = std::filesystem;

fs::path stories() {
  const char* named = std::getenv("QUENCH_SHARED_DIR");
  const fs::path root = named && *named ? fs::path(named) : fs::path(QUENCH_SOURCE_DIR) / ".." / "shared";
  return root / "goldens" / "weights" / "stories260K";
}
bool absent() {
  if (fs::exists(stories() / "stories260K.bin")) return false;
  std::cout << "quench-skip: stories260K is not here (set QUENCH_SHARED_DIR)\n";
  return true;
}

q::nn::transformer<float> load() {
  const q::io::llama2c_file file(stories() / "stories260K.bin");
  const auto& c = file.config();
  q::nn::transformer<float> net(
      q::nn::llama(c.dim, c.heads, c.kv_heads, c.hidden_dim, c.layers, c.vocabulary, c.context, c.tied));
  const auto set = [&](const std::string& name, const std::string& from) {
    for (auto& p : net.params())
      if (p.name == name) {
        REQUIRE(file.at(from).map().rows() == p.value.rows());
        p.value = file.at(from).map();
        return;
      }
    FAIL("no parameter " << name);
  };
  set("embed", "tok_embeddings.weight");
  set("final_norm.gain", "norm.weight");
  const std::pair<const char*, const char*> parts[] = {
      {"attn_norm.gain", "attention_norm.weight"}, {"attn.wq", "attention.wq.weight"},
      {"attn.wk", "attention.wk.weight"},          {"attn.wv", "attention.wv.weight"},
      {"attn.wo", "attention.wo.weight"},          {"mlp_norm.gain", "ffn_norm.weight"},
      {"mlp.w_gate", "feed_forward.w1.weight"},    {"mlp.w_up", "feed_forward.w3.weight"},
      {"mlp.w_down", "feed_forward.w2.weight"}};
  for (q::index i = 0; i < c.layers; ++i)
    for (const auto& [ours, theirs] : parts) {
      const std::string n = std::to_string(i);
      set("blocks." + n + "." + ours, "layers." + n + "." + theirs);
    }
  return net;
}
}  // namespace

TEST_CASE("stories260K: loss, plain and rounded per row", "[stories]") {
  if (absent()) return;
  auto net = load();
  const auto tokens = q::io::read_npy<std::int32_t>(stories() / "tokens_sampled_8x256.npy");
  const q::nn::batch_view batch{tokens.data(), tokens.rows(), tokens.cols()};
  q::thread_pool pool(2);
  CHECK(std::abs(net.loss(batch, pool.run()) - 1.2854369328204958) < 5e-6);
  const std::pair<const char*, double> rounded[] = {
      {"int8", 1.285666499105191},  {"int6", 1.292425945128867},  {"int5", 1.319021563322644},
      {"int4", 1.4387076270581216}, {"int3", 3.0664116441652816}, {"int2", 9.14953635685022}};
  for (const auto& [format, want] : rounded) {
    INFO(format);
    for (auto& site : net.linears())
      if (!site.head)
        site.weight = q::nn::pass_through<float>([f = format](auto& w) { w = q::fake_quant(w, f); });
    CHECK(std::abs(net.loss(batch, pool.run()) - want) < (want < 2 ? 1e-4 : 1e-3 * want));
  }
}

TEST_CASE("stories260K: logits along the greedy text, and the text itself", "[stories]") {
  if (absent()) return;
  auto net = load();
  const auto tokens = q::io::read_npy<std::int32_t>(stories() / "tokens_greedy64.npy");
  const auto want = q::io::read_npy<float>(stories() / "logits_greedy64_f32.npy");
  const q::matrix<float> got = net.logits(tokens.data(), want.rows());
  CHECK((got - want).cwiseAbs().maxCoeff() < 1e-4f);
  const auto text = q::nn::generate(net, {tokens.data()[0]}, tokens.size() - 1);
  CHECK(std::equal(text.begin(), text.end(), tokens.data(), tokens.data() + tokens.size()));
}
