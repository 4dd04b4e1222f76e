// Training steps beside the bound: model operations a second over the peak multiply-add rate of the same
// process and threads.
#include <quench/nn/nn.hpp>

#include <benchmark/benchmark.h>

#include <ctime>

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
  if (model.loss_and_grad(view) != loss || model.params()[1].grad != grad ||
      !(std::abs(loss - std::log(double(config.vocab))) < 1)) {
    state.SkipWithError("one thread and several differ, or the loss is far from log(vocab)");
    return;
  }
  const double work = config.training_flops_per_token(config.ctx) * double(view.predictions());
  // x_peak: by the clock. x_peak_cpu: by the processor time of all threads, which other programs do not
  // lengthen.
  std::vector<double> by_clock, by_cpu, rates;
  for (auto _ : state) {
    state.PauseTiming();
    const double peak = q::nn::peak_flops<float>(threads, run);
    state.ResumeTiming();
    const std::clock_t cpu = std::clock();
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(model.loss_and_grad(view, run));
    const double clock = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double busy = double(std::clock() - cpu) / CLOCKS_PER_SEC / threads;
    rates.push_back(work / clock);
    by_clock.push_back(work / clock / peak);
    by_cpu.push_back(work / busy / peak);
  }
  const auto median = [](std::vector<double> v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  };
  state.counters["x_peak"] = median(by_clock);
  state.counters["x_peak_best"] = *std::max_element(by_clock.begin(), by_clock.end());
  state.counters["x_peak_cpu"] = median(by_cpu);
  state.counters["model_gflops"] = median(rates) * 1e-9;
  state.counters["tokens_per_s"] = median(rates) / config.training_flops_per_token(config.ctx);
}

void register_all() {
  for (const unsigned threads : {1u, 2u}) {
    const auto add = [&](std::string name, const q::nn::model_config& c, int times) {
      benchmark::RegisterBenchmark((name + "/threads:" + std::to_string(threads)).c_str(),
                                   [=](benchmark::State& s) { train(s, c, threads); })
          ->Iterations(times)
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    };
    add("train/olmo2_h6_n4_d96", q::nn::olmo2(6, 4), 15);
    add("train/olmo2_h6_n6_d384", q::nn::olmo2(6, 6, 64), 3);
    add("train/llama_d96", q::nn::llama(96, 6, 2, 256, 4, 256, 128), 10);
    add("train/gptneox_d96", q::nn::gptneox(96, 6, 4, 256, 128), 10);
  }
}
const bool registered = (register_all(), true);
}  // namespace
