// Training steps beside the bound: model operations a second over the peak multiply-add rate of the same process and threads.
#include <quench/nn/nn.hpp>

#include <benchmark/benchmark.h>

namespace {
namespace q = quench;

void train(benchmark::State& state, const q::nn::model_config& config, unsigned threads) {
  q::thread_pool pool(threads);
  const q::executor run = pool.run();
  q::nn::transformer<float> model(config);
  model.init(1);
  const q::index batch = 32, length = config.ctx + 1;
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(batch * length));
  const q::random_stream draw(2, 0);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::int32_t>(draw.below(i, static_cast<std::uint64_t>(config.vocab)));
  const q::nn::batch_view view{tokens.data(), batch, length};

  // Verified before it is timed: random tokens cost log(vocab), and one thread gives the same bits.
  const double loss = model.loss_and_grad(view, run);
  const q::matrix<float> grad = model.params()[1].grad;
  if (model.loss_and_grad(view) != loss || model.params()[1].grad != grad || !(std::abs(loss - std::log(double(config.vocab))) < 1)) {
    state.SkipWithError("one thread and several differ, or the loss is far from log(vocab)");
    return;
  }
  const double work = config.training_flops_per_token(config.ctx) * double(view.predictions());
  std::vector<double> ratios, rates;
  for (auto _ : state) {
    state.PauseTiming();
    const double peak = q::nn::peak_flops<float>(threads, run, 3, 0.01);
    state.ResumeTiming();
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(model.loss_and_grad(view, run));
    const double rate = work / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    rates.push_back(rate);
    ratios.push_back(rate / peak);
  }
  const auto median = [](std::vector<double> v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  };
  state.counters["x_peak"] = median(ratios);
  state.counters["best_x_peak"] = *std::max_element(ratios.begin(), ratios.end());
  state.counters["model_gflops"] = median(rates) * 1e-9;
  state.counters["tokens_per_s"] = median(rates) / config.training_flops_per_token(config.ctx);
}

void register_all() {
  for (const unsigned threads : {1u, 2u}) {
    const auto add = [&](std::string name, const q::nn::model_config& c, int times) {
      benchmark::RegisterBenchmark((name + "/threads:" + std::to_string(threads)).c_str(),
                                   [=](benchmark::State& s) { train(s, c, threads); })
          ->Iterations(times)->Unit(benchmark::kMillisecond)->UseRealTime();
    };
    add("train/olmo2_h6_n4_d96", q::nn::olmo2(6, 4), 15);
    add("train/olmo2_h6_n6_d384", q::nn::olmo2(6, 6, 64), 3);
    add("train/llama_d96", q::nn::llama(96, 6, 2, 256, 4, 256, 128), 10);
    add("train/gptneox_d96", q::nn::gptneox(96, 6, 4, 256, 128), 10);
  }
}
const bool registered = (register_all(), true);
}  // namespace
