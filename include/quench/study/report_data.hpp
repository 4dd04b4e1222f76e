#pragma once
/// \file  A study's records, arranged for looking at: one table of numbers a run, whatever keys its points
/// carry.
#include <quench/io/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace quench::inline QUENCH_ISA::study {

/// One run as its records tell it. Anything missing or malformed is NaN or empty: a report never fails on its
/// input.
struct report_run {
  std::string id, label, optimizer;
  std::string status =
      "unfinished";  ///< of the `end` record: ok, diverged, ...; unfinished when there is none
  std::string reason;
  io::json facts;                                     ///< the `run` record
  std::vector<double> steps;                          ///< of the points, in order
  std::map<std::string, std::vector<double>> values;  ///< key -> one number a point, NaN where it has none

  /// Column `key`; all NaN when no point has it.
  std::vector<double> column(const std::string& key) const {
    const auto it = values.find(key);
    return it != values.end() ? it->second : std::vector<double>(steps.size(), std::nan(""));
  }
  /// Value of `key` at the last point; NaN when there is no point.
  double last(const std::string& key) const { return steps.empty() ? std::nan("") : column(key).back(); }
  bool ok() const { return status == "ok"; }
};

struct report_study {
  std::vector<report_run> runs;
  std::vector<std::string>
      quantizers;  ///< labels Q whose Q_loss and Q_rel the points carry, in order of mention
};

namespace detail {

inline std::string text_at(const io::json& record, const char* key) {
  const auto it = record.find(key);
  return it != record.end() && it->is_string() ? it->get<std::string>() : std::string();
}
inline double number_in(const io::json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nan("");
}
inline double number_at(const io::json& record, const char* key) {
  const auto it = record.find(key);
  return it != record.end() ? number_in(*it) : std::nan("");
}
inline const io::json& object_at(const io::json& record, const char* key) {
  static const io::json none = io::json::object();
  const auto it = record.is_object() ? record.find(key) : record.end();
  return it != record.end() && it->is_object() ? *it : none;
}

/// Labels that several runs share get the learning rate, then the seed, then the id behind them.
inline void tell_apart(std::vector<report_run>& runs) {
  const auto unique = [&](const report_run& run) {
    return std::count_if(runs.begin(), runs.end(),
                         [&](const report_run& r) { return r.label == run.label; }) == 1;
  };
  for (const char* key : {"lr", "seed", "run"}) {
    std::vector<std::string> longer(runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (!unique(runs[i]) && runs[i].facts.contains(key))
        longer[i] = runs[i].label + " " +
                    (std::string_view(key) == "run" ? runs[i].id : key + (" " + runs[i].facts[key].dump()));
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (!longer[i].empty()) runs[i].label = longer[i];
  }
}

}  // namespace detail

/// Arranges records of the schema in docs/studies.md; kinds it does not know are skipped. A second `run`
/// record of the same id starts that run again (the later one counts). Points are sorted by step.
inline report_study arrange(std::span<const io::json> records) {
  using namespace detail;
  report_study out;
  std::map<std::string, std::size_t> where;
  std::vector<std::vector<const io::json*>> points;
  for (const io::json& r : records) {
    if (!r.is_object()) continue;
    const std::string kind = text_at(r, "kind"), id = text_at(r, "run");
    if (kind == "run") {
      const auto [it, fresh] = where.emplace(id, out.runs.size());
      if (fresh) out.runs.emplace_back(), points.emplace_back();
      report_run& run = out.runs[it->second] = {};
      points[it->second].clear();
      run.id = id, run.facts = r, run.optimizer = text_at(r, "optimizer"), run.label = text_at(r, "label");
      if (run.label.empty()) run.label = run.optimizer.empty() ? id : run.optimizer;
      if (const auto q = r.find("quantizers"); q != r.end() && q->is_array())
        for (const io::json& name : *q)
          if (name.is_string() &&
              std::find(out.quantizers.begin(), out.quantizers.end(), name) == out.quantizers.end())
            out.quantizers.push_back(name);
    } else if (const auto it = where.find(id); it != where.end()) {
      if (kind == "point" && std::isfinite(number_at(r, "step"))) points[it->second].push_back(&r);
      if (kind == "end")
        out.runs[it->second].status = text_at(r, "status"),
        out.runs[it->second].reason = text_at(r, "reason");
    }
  }
  for (std::size_t i = 0; i < out.runs.size(); ++i) {
    report_run& run = out.runs[i];
    std::stable_sort(points[i].begin(), points[i].end(), [](const auto* a, const auto* b) {
      return number_at(*a, "step") < number_at(*b, "step");
    });
    for (const io::json* p : points[i]) {
      run.steps.push_back(number_at(*p, "step"));
      for (const auto& [key, value] : p->items())
        if (key != "kind" && key != "run" && key != "step") {
          auto& column = run.values[key];
          column.resize(run.steps.size() - 1, std::nan(""));
          column.push_back(number_in(value));
        }
    }
    for (auto& [key, column] : run.values) column.resize(run.steps.size(), std::nan(""));
  }
  tell_apart(out.runs);
  return out;
}

}  // namespace quench::inline QUENCH_ISA::study
