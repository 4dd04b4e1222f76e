// quench eval MODEL --tokens T --spec LIST: loss and perplexity in full precision and quantized, a row each.
#include "command.hpp"
#include "instances/models.hpp"
#include "progress.hpp"

#include <quench/study/corpus.hpp>
#include <quench/study/look.hpp>
#include <quench/study/model.hpp>

#include <cmath>
#include <thread>

namespace cli {
namespace {

namespace q = quench;

struct request {
  std::string model, tokens, specs = "none,int8,int4,int3";
  int length = 0, windows = 0;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  bool head = false;
  outputs out;
};

/// Rows of a 2-D token array are sequences of their own; anything else is cut into windows that follow one
/// another.
q::study::window_batch sequences(const request& r, const q::nn::model_config& c) {
  const q::io::token_file source(r.tokens, std::uint64_t(c.vocab));
  const int longest = int(c.ctx);
  if (source.rows() > 1) {
    if (r.length > 0) throw usage_error("--length: " + r.tokens + " holds sequences of its own length");
    q::io::require(source.cols() >= 2 && source.cols() - 1 <= c.ctx, r.tokens, 0,
                   "sequences must have 2 to {} tokens (the model's context and one), have {}", c.ctx + 1,
                   source.cols());
    const auto table = source.table();
    return {{table.data(), table.data() + table.size()}, int(table.rows()), int(table.cols()) - 1};
  }
  const int length = r.length > 0 ? r.length : longest;
  if (length > longest)
    throw usage_error("--length: must be at most the model's context " + std::to_string(longest) + ", is " +
                      std::to_string(length));
  const q::index n = (source.size() - 1) / length;
  q::io::require(n >= 1, r.tokens, 0,
                 "has {} tokens, a window needs {}; give a longer text or a shorter --length", source.size(),
                 length + 1);
  const q::index used = r.windows > 0 ? std::min<q::index>(n, r.windows) : n;
  q::study::window_batch b{{}, int(used), length};
  for (q::index w = 0; w < used; ++w)
    for (q::index i = 0; i <= length; ++i) b.tokens.push_back(q::study::token_id(source[w * length + i]));
  return b;
}

int run(const request& r) {
  std::vector<q::study::quantizer> quantizers;
  for (const auto& text : split_list(r.specs, "--spec"))
    quantizers.push_back(q::study::parse_quantizer(text));
  auto model = q::study::load_model<float>(r.model);
  const auto batch = sequences(r, model.config());
  q::thread_pool pool(r.threads);
  table t({{"spec"},
           {"nll", "%.5f"},
           {"perplexity", "%.4f"},
           {"abs error", "%.5f"},
           {"rel error %", "%.3f"},
           {"predictions"}});
  const double full = model.loss(q::study::view_of_batch(batch), pool.run());
  progress bar("eval", std::int64_t(quantizers.size()), "specs");
  std::int64_t n = 0;
  for (const auto& quantizer : quantizers) {
    const q::study::quantized_scope<float> scope(model, quantizer, r.head);
    const bool plain = quantizer.weights.none && quantizer.inputs.none;
    const double loss = plain ? full : model.loss(q::study::view_of_batch(batch), pool.run());
    t.add({quantizer.label, loss, std::exp(loss), q::study::absolute_error(loss, full),
           100 * q::study::relative_error(loss, full), std::int64_t(batch.sequences) * batch.length});
    bar.update(++n);
  }
  r.out.print(t);
  return done;
}

}  // namespace

void add_eval(CLI::App& app, int& code) {
  auto* command =
      app.add_subcommand("eval", "Loss and perplexity of a model, in full precision and quantized");
  auto r = std::make_shared<request>();
  command->add_option("MODEL", r->model, "llama2.c .bin, or model.safetensors of a run")->required();
  command->add_option("--tokens", r->tokens, "Token ids (.npy, .u16, .u32) or text (its bytes)")
      ->required()
      ->type_name("FILE");
  command->add_option("--spec", r->specs, "What to quantize: none, int4, int4/g32, w4a4, WEIGHTS+INPUTS, ...")
      ->type_name("LIST")
      ->capture_default_str();
  command
      ->add_option("--length", r->length,
                   "Predictions a window of a one-dimensional stream (default: the model's context)")
      ->check(CLI::PositiveNumber);
  command->add_option("--windows", r->windows, "Use at most this many windows")->check(CLI::PositiveNumber);
  command->add_flag("--quantize-head", r->head, "Quantize the output matrix too");
  command->add_option("--threads", r->threads, "Threads; results do not depend on it")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_outputs(*command, r->out);
  command->callback([r, &code] { code = run(*r); });
}

}  // namespace cli
