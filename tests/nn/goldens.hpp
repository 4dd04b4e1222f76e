#pragma once
// Reference models: QUENCH_GOLDENS_DIR names the goldens (the folder `nn` or the one above it); tests/data/nn
// otherwise.
#include <quench/io/safetensors.hpp>
#include <quench/nn/transformer.hpp>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "catch.hpp"

namespace goldens {

namespace q = quench;
namespace fs = std::filesystem;

inline fs::path folder() {
  const char* named = std::getenv("QUENCH_GOLDENS_DIR");
  const fs::path root = named && *named ? fs::path(named) : fs::path(QUENCH_TEST_DATA);
  return fs::exists(root / "nn") ? root / "nn" : root;
}

/// The models that have an index, in the order of their names.
inline std::vector<std::string> models() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder()))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

inline std::uint32_t draw(std::uint64_t& s) {
  s = s * 6364136223846793005ull + 1442695040888963407ull;
  return static_cast<std::uint32_t>(s >> 32);
}

struct model {
  std::string name;
  nlohmann::json index;
  q::nn::model_config config;
  q::io::safetensors_file file;

  explicit model(const std::string& n)
      : name(n),
        index(nlohmann::json::parse(std::ifstream(folder() / (n + ".json")))),
        config(config_of(index["config"])),
        file(folder() / (n + ".safetensors")) {}

  bool has(const std::string& suffix) const {
    return fs::exists(folder() / (name + suffix + ".safetensors"));
  }
  q::io::safetensors_file part(const std::string& suffix) const {
    return q::io::safetensors_file(folder() / (name + suffix + ".safetensors"));
  }
  template <class T>
  double tolerance(const char* what) const {
    const auto& all = index["suggested_tolerance"];
    if (!all.contains("float64")) return sizeof(T) == 8 ? 1e-12 : 2e-6;
    return all[sizeof(T) == 8 ? "float64" : "float32"][what].template get<double>();
  }
  q::nn::batch_view batch(const std::vector<std::int32_t>& tokens, q::index step = 0) const {
    const q::index n = index["config"]["batch"].get<q::index>(), length = config.ctx + 1;
    return {tokens.data() + step * n * length, n, length};
  }

  /// A transformer whose parameters are made by the index's rule.
  template <class T>
  q::nn::transformer<T> make() const {
    q::nn::transformer<T> net(config);
    const auto& list = index["parameters_in_order"];
    REQUIRE(list.size() == net.params().size());
    std::uint64_t s = index["config"]["param_seed"].get<std::uint64_t>();
    for (std::size_t i = 0; i < list.size(); ++i) {
      auto& p = net.params()[i];
      const auto shape = list[i]["shape"].get<std::vector<q::index>>();
      INFO(p.name);
      REQUIRE(p.name == list[i]["name"].get<std::string>());
      REQUIRE(p.value.cols() == shape.back());
      REQUIRE(p.value.rows() == (shape.size() == 2 ? shape[0] : 1));
      REQUIRE((p.kind == q::role::vector) == !list[i]["weight_decay"].get<bool>());
      const double step = std::ldexp(1.0, -list[i]["shift"].get<int>()),
                   offset = list[i]["offset"].get<double>();
      for (q::index j = 0; j < p.value.size(); ++j)
        p.value.data()[j] = static_cast<T>(offset + (double(draw(s) >> 16) - 32768.0) * step);
      if (file.contains("param/" + p.name))
        REQUIRE(p.value.template cast<double>() == file.read<double>("param/" + p.name));
    }
    return net;
  }

 private:
  static q::nn::model_config config_of(const nlohmann::json& j) {
    q::nn::model_config c;
    const auto arch = j["arch"].get<std::string>();
    c.arch = arch == "llama"     ? q::nn::architecture::llama
             : arch == "gptneox" ? q::nn::architecture::gptneox
                                 : q::nn::architecture::olmo2;
    c.vocab = j["vocab"], c.d = j["d"], c.heads = j["heads"], c.groups = j["groups"], c.hidden = j["hidden"];
    c.blocks = j["blocks"], c.ctx = j["ctx"], c.rope_base = j["rope_base"], c.norm_eps = j["norm_eps"],
    c.tied = j["tied"];
    c.rotary = j.value("rotary_dims", 0);
    return c;
  }
};

/// max |a - b| over two matrices with equal numbers in equal order; NaN counts as infinite.
template <class A, class B>
double distance(const A& a, const B& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (q::index i = 0; i < a.size(); ++i) {
    const double d = std::abs(double(a.data()[i]) - double(b.data()[i]));
    worst = d <= worst ? worst : d == d ? d : std::numeric_limits<double>::infinity();
  }
  return worst;
}

}  // namespace goldens
