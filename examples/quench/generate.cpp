// quench generate MODEL: text from a model, token after token.
#include "command.hpp"
#include "instances/models.hpp"

#include <quench/io/llama2c_tokenizer.hpp>
#include <quench/nn/generate.hpp>
#include <quench/study/model.hpp>

#include <cstdio>
#include <thread>

namespace cli {
namespace {

namespace q = quench;

struct request {
  std::string model, tokenizer, prompt;
  q::index count = 256;
  double temperature = 0;
  std::uint64_t seed = 1;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
};

int run(const request& r) {
  auto model = q::study::load_model<float>(r.model);
  const bool bytes = r.tokenizer.empty();
  if (bytes && model.config().vocab > 256)
    throw usage_error("generate: the model has " + std::to_string(model.config().vocab) +
                      " tokens, more than bytes; give its --tokenizer (llama2.c's format)");
  q::thread_pool pool(r.threads);
  const q::nn::sampling how{r.temperature, r.seed};
  std::string text = bytes ? r.prompt : std::string();
  if (bytes) {
    std::vector<std::int32_t> prompt;
    for (const char c : r.prompt.empty() ? std::string("\n") : r.prompt)
      prompt.push_back(static_cast<unsigned char>(c));
    const auto all = q::nn::generate(model, prompt, r.count, how, -1, pool.run());
    for (std::size_t i = prompt.size(); i < all.size(); ++i) text += static_cast<char>(all[i]);
  } else {
    const q::io::llama2c_tokenizer tokenizer(r.tokenizer, std::size_t(model.config().vocab));
    const auto ids = tokenizer.encode(r.prompt);
    const auto all = q::nn::generate(model, {ids.begin(), ids.end()}, r.count, how,
                                     q::io::llama2c_tokenizer::bos, pool.run());
    text = tokenizer.decode(std::vector<int>(all.begin(), all.end()));
  }
  std::printf("%s\n", text.c_str());
  return done;
}

}  // namespace

void add_generate(CLI::App& app, int& code) {
  auto* command = app.add_subcommand("generate", "Text from a model");
  auto r = std::make_shared<request>();
  command->add_option("MODEL", r->model, "llama2.c .bin, or model.safetensors of a run")->required();
  command->add_option("--tokenizer", r->tokenizer, "llama2.c tokenizer file; without one, tokens are bytes")
      ->type_name("FILE");
  command->add_option("--prompt", r->prompt, "Text to continue");
  command->add_option("--tokens", r->count, "How many tokens at most")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--temperature", r->temperature, "0 takes the most likely token")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--seed", r->seed, "Seed of the draws")->capture_default_str();
  command->add_option("--threads", r->threads, "Threads; results do not depend on it")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->callback([r, &code] { code = run(*r); });
}

}  // namespace cli
