#pragma once
/// \file  What a run leaves behind, as JSON lines: the schema of docs/studies.md, written here and nowhere
/// else.
#include <quench/study/config.hpp>
#include <quench/study/metrics.hpp>
#include <quench/version.hpp>

#include <limits>

namespace quench::inline QUENCH_ISA::study {

inline constexpr int schema_version = 1;

/// What was measured on the inputs of all linear layers; each value is the mean over the layers.
/// `mmr_left_out` counts layers whose max-to-median ratio is infinite (more than half of their inputs are
/// zero).
struct outlier_summary {
  double mmr, mmr_mean, kurtosis, kurtosis_features, kurtosis_rms, mmr_left_out;
};

struct quantized_loss {
  std::string label;
  double loss;
};

/// One look at the model.
struct point {
  std::int64_t step = 0, tokens = 0;
  double lr = 0;
  double train_loss = 0,
         grad_norm = 0;  ///< means over the steps since the previous point; not written at step 0
  double weight_norm = 0, val_loss = 0;
  std::vector<quantized_loss> quantized;
  outlier_summary outliers{};
};

enum class run_status { ok, diverged, interrupted };
constexpr std::string_view name_of(run_status s) {
  return s == run_status::ok ? "ok" : s == run_status::diverged ? "diverged" : "interrupted";
}

/// How a run ended.
struct outcome {
  run_status status = run_status::ok;
  std::string reason;
  std::int64_t step = 0, tokens = 0;
  double val_loss = std::numeric_limits<double>::quiet_NaN(), best_val_loss = val_loss;
};

/// The compiler and instruction set this was built with. Results are the same for any thread count, not for
/// any build.
inline json build_facts() {
#if defined(__clang__)
  const std::string compiler =
      "clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__);
#elif defined(__GNUC__)
  const std::string compiler = "gcc " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__);
#else
  const std::string compiler = "unknown";
#endif
  constexpr int version[] = {QUENCH_VERSION_MAJOR, QUENCH_VERSION_MINOR, QUENCH_VERSION_PATCH};
  constexpr std::string_view isa = QUENCH_ISA_NAME;
  return {{"version",
           std::to_string(version[0]) + "." + std::to_string(version[1]) + "." + std::to_string(version[2])},
          {"compiler", compiler},
          {"isa", isa}};
}

/// First line of a run.
inline json run_record(const run_config& c, std::int64_t parameters, std::string_view scalar) {
  json j = {{"kind", "run"},
            {"schema", schema_version},
            {"run", run_id(c)},
            {"config", config_hash(c)},
            {"label", c.label.empty() ? c.optimizer : c.label}};
  const json all = to_json(c);
  for (const auto& [key, value] : all.items())
    if (key != "points") j[key] = value;
  j["model"]["parameters"] = parameters;
  j["tokens"] = c.schedule.steps * c.sequences * c.length;
  j["points"] = point_steps(c);
  j["build"] = build_facts();
  j["build"]["scalar"] = scalar;
  return j;
}

inline json point_record(const std::string& run, const point& p) {
  json j = {
      {"kind", "point"}, {"run", run}, {"step", p.step}, {"tokens", p.tokens}, {"lr", io::number(p.lr)}};
  if (p.step > 0) {
    j["train_loss"] = io::number(p.train_loss);
    j["grad_norm"] = io::number(p.grad_norm);
  }
  j["weight_norm"] = io::number(p.weight_norm);
  j["val_loss"] = io::number(p.val_loss);
  for (const auto& q : p.quantized) {
    j[q.label + "_loss"] = io::number(q.loss);
    j[q.label + "_abs"] = io::number(absolute_error(q.loss, p.val_loss));
    j[q.label + "_rel"] = io::number(relative_error(q.loss, p.val_loss));
  }
  j["mmr"] = io::number(p.outliers.mmr);
  j["mmr_mean"] = io::number(p.outliers.mmr_mean);
  j["kurtosis"] = io::number(p.outliers.kurtosis);
  j["kurtosis_features"] = io::number(p.outliers.kurtosis_features);
  j["kurtosis_rms"] = io::number(p.outliers.kurtosis_rms);
  j["mmr_left_out"] = p.outliers.mmr_left_out;
  return j;
}

inline json end_record(const std::string& run, const outcome& o) {
  return {{"kind", "end"},
          {"run", run},
          {"status", name_of(o.status)},
          {"reason", o.reason},
          {"step", o.step},
          {"tokens", o.tokens},
          {"val_loss", io::number(o.val_loss)},
          {"best_val_loss", io::number(o.best_val_loss)}};
}

}  // namespace quench::inline QUENCH_ISA::study
