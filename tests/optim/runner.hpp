#pragma once
// Reads the goldens (QUENCH_GOLDENS_DIR, default tests/data) and runs every trajectory of one precision.
#include "catch.hpp"
#include "setup.hpp"

#include <quench/average/average.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace golden {

namespace fs = std::filesystem;

inline fs::path folder() {
  const char* given = std::getenv("QUENCH_GOLDENS_DIR");
  const fs::path base = given ? given : QUENCH_TEST_DATA;
  return fs::exists(base / "optim") ? base / "optim" : base;
}
inline json read(const fs::path& file) {
  std::ifstream in(file);
  REQUIRE(in.good());
  return json::parse(in);
}
inline std::vector<fs::path> trajectory_files() {
  std::vector<fs::path> out;
  for (const auto& e : fs::directory_iterator(folder())) {
    const std::string name = e.path().filename().string();
    if (e.path().extension() == ".json" && name != "problem.json" && name != "schedules.json" &&
        name != "verification.json" && !name.starts_with("functions"))
      out.push_back(e.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Maximum absolute difference allowed; the README's.
inline double tolerance(const std::string& file, const std::string& name) {
  if (file.starts_with("muon_bf16")) return name.starts_with("track3") ? 5e-3 : 5e-2;
  if (file.find("f64mixed") != file.npos) return 2e-5;  // upstream's eigh and QR ran in float32
  // The first basis comes from the gradient it rotates: entries off the diagonal are rounding noise of
  // LAPACK's eigenvectors over eps 1e-8 (tests/data/optim/README.md).
  if (file == "shampoo_meta_2.f64.json" && name == "soap_eigh_sq") return 2e-8;
  if (file.find(".f64") != file.npos) return 1e-9;
  if (file.starts_with("soap") && name.find("injected_f2") != name.npos) return 1e-4;
  if (file.starts_with("soap") || file.starts_with("shampoo") || name.find("PRO4P") != name.npos) return 2e-5;
  return 5e-6;
}

/// What turns a case of a file into rules.
template <class T>
using configurer = setup<T> (*)(const std::string& file, const json& c, lcg& noise);

/// The test that runs a file: preconditioned rules are compiled apart from the rest.
enum class family { first_order, shampoo, psgd_soap };
inline family family_of(const std::string& file) {
  if (file.starts_with("shampoo")) return family::shampoo;
  return file.starts_with("soap") || file.starts_with("psgd") ? family::psgd_soap : family::first_order;
}

/// Runs one case and returns the largest difference from its checkpoints.
template <class T>
double run(const std::string& file, const json& c, configurer<T> configure) {
  instance<T> at(c.at("problem").get<std::string>());
  REQUIRE_FALSE(at.params.empty());
  lcg noise{c.value("noise_seed", std::uint64_t(0))};
  setup<T> s = configure(file, c, noise);
  q::any_optimizer<T> optimizer(std::move(s.groups));
  q::ema<T> ema(s.average.starts_with("ema_") ? std::stod(s.average.substr(4)) : 0.0);
  q::swa<T> swa;
  double worst = 0;
  std::size_t compared = 0;
  for (int t = 0; t < 25; ++t) {
    at.fill_gradients(t);
    if (s.clip > 0) clip(at.params, s.clip, s.clip_order);
    const auto before = at.params;
    optimizer.step(at.params, s.declining ? 1 - t / 32.0 : 1.0);
    for (std::size_t i = 0; i < before.size(); ++i) REQUIRE(before[i].grad == at.params[i].grad);
    if (t == 0 && c.contains("init_Q")) inject(optimizer, c["init_Q"]);
    ema.add(at.params);
    swa.add(at.params);
    const std::string step = std::to_string(t + 1);
    if (!c["checkpoints"].contains(step)) continue;
    const auto averaged = s.average == "swa_uniform" ? swa.value() : ema.value(),
               evaluated = optimizer.evaluation(at.params);
    for (const auto& [name, values] : c["checkpoints"][step].items()) {
      const bool eval = name.ends_with("_eval"), average = name.ends_with("_avg");
      const std::string base = eval || average ? name.substr(0, name.rfind('_')) : name;
      const auto& list = eval ? evaluated : average ? averaged : at.params;
      const auto p = std::find_if(list.begin(), list.end(), [&](const auto& x) { return x.name == base; });
      INFO("step " << step << " " << name);
      REQUIRE(p != list.end());
      REQUIRE(std::size_t(p->value.size()) == values.size());
      for (q::index i = 0; i < p->value.size(); ++i) {
        const double error =
            std::abs(double(p->value.data()[i]) - double(T(values[std::size_t(i)].template get<double>())));
        worst = error <= worst ? worst : error;  // NaN stays
        ++compared;
      }
    }
  }
  REQUIRE(compared > 0);
  return worst;
}

/// Every case of every file of one family and precision. A case that cannot be configured fails.
template <class T>
void run_all(family which, configurer<T> configure) {
  const char* type = sizeof(T) == 4 ? "float32" : "float64";
  const auto files = trajectory_files();
  REQUIRE_FALSE(files.empty());
  std::size_t cases = 0;
  for (const auto& path : files) {
    const std::string file = path.filename().string();
    if (family_of(file) != which) continue;
    const json j = read(path);
    if (j.at("dtype") != type) continue;
    for (const auto& c : j.at("cases")) {
      const std::string name = c.at("name");
      INFO(file << " / " << name);
      double error = std::numeric_limits<double>::quiet_NaN();
      CHECK_NOTHROW(error = run<T>(file, c, configure));
      CHECK(error <= tolerance(file, name));
      ++cases;
      if (std::getenv("QUENCH_GOLDENS_VERBOSE"))
        WARN(file << " / " << name << ": " << error << (error <= tolerance(file, name) ? "" : "  FAIL"));
    }
  }
  CHECK(cases > 0);
}

}  // namespace golden
