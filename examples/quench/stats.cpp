// quench stats FILE: how heavy the tails of every tensor in a file are.
#include "command.hpp"
#include "progress.hpp"

#include <quench/io/llama2c.hpp>
#include <quench/io/npy.hpp>
#include <quench/io/safetensors.hpp>
#include <quench/stats/outliers.hpp>

#include <cmath>

namespace cli {
namespace {

namespace q = quench;

template <class M>
void add_row(table& t, const std::string& name, const M& w) {
  const q::moments m = q::summarize(w);
  t.add({name, std::to_string(w.rows()) + " x " + std::to_string(w.cols()), m.mean(), m.rms(), m.abs_max(),
         m.max_to_rms(), q::max_to_median(w), q::max_to_mean(w), m.kurtosis()});
}

int run(const std::string& file, const outputs& out) {
  table t({{"tensor"},
           {"shape"},
           {"mean", "%.3g"},
           {"rms", "%.4g"},
           {"max", "%.4g"},
           {"max/rms", "%.2f"},
           {"max/median", "%.2f"},
           {"max/mean", "%.2f"},
           {"kurtosis", "%.2f"}});
  const auto ext = std::filesystem::path(file).extension();
  if (ext == ".safetensors") {
    const q::io::safetensors_file source(file);
    progress bar("stats", std::int64_t(source.tensors().size()), "tensors");
    std::int64_t n = 0;
    for (const auto& info : source.tensors()) {
      if (info.count() > 0) add_row(t, info.name, source.read<float>(info));
      source.release(info);
      bar.update(++n);
    }
  } else if (ext == ".npy") {
    add_row(t, std::filesystem::path(file).filename().string(), q::io::read_npy<float>(file));
  } else if (ext == ".bin") {
    const q::io::llama2c_file source(file);
    for (const auto& tensor : source.tensors()) add_row(t, tensor.name, tensor.map());
  } else {
    throw usage_error("stats: '" + file + "' must end in .safetensors, .npy or .bin (llama2.c)");
  }
  out.print(t);
  return done;
}

}  // namespace

void add_stats(CLI::App& app, int& code) {
  auto* command = app.add_subcommand("stats", "Outlier table of every tensor in a file");
  auto file = std::make_shared<std::string>();
  auto out = std::make_shared<outputs>();
  command->add_option("FILE", *file, "A .safetensors, .npy or llama2.c .bin file")->required();
  add_outputs(*command, *out);
  command->callback([file, out, &code] { code = run(*file, *out); });
}

}  // namespace cli
