#pragma once
/// \file  Many runs into one set of files: records, timing, and one summary row a run.
#include <quench/study/run_files.hpp>

#include <algorithm>

namespace quench::inline QUENCH_ISA::study {

/// A run in one row: what its `run` and `end` records and its last point say.
struct run_summary {
  json run, last, end;  ///< null where there is no such record yet

  bool finished() const { return !end.is_null(); }
  std::string status() const {
    return finished() ? end.value("status", "") : last.is_null() ? "pending" : "unfinished";
  }
  /// A number of the last point; NaN when there is none.
  double value(const std::string& key) const {
    return last.is_object() ? io::to_double(last, key.c_str(), std::numeric_limits<double>::quiet_NaN())
                            : std::numeric_limits<double>::quiet_NaN();
  }
};

inline run_summary summarize(const std::vector<json>& rows) {
  run_summary s;
  for (const json& row : rows) {
    const std::string kind = row.value("kind", "");
    (kind == "run" ? s.run : kind == "point" ? s.last : s.end) = row;
  }
  return s;
}

/// Folder of the run `id` in the study `folder`.
inline run_files files_of(const path& folder, const std::string& id) { return {folder / "runs" / id}; }

namespace detail {

inline std::string csv_text(const json& value) {
  if (value.is_null()) return "";
  std::string s = value.is_string() ? value.get<std::string>() : value.dump();
  if (s.find_first_of(",\"\n") == s.npos) return s;
  std::string quoted = "\"";
  for (const char c : s) (quoted += c) += c == '"' ? "\"" : "";
  return quoted + '"';
}

/// Keys of a summary row, after those that every study has.
inline std::vector<std::string> measured_keys(const std::vector<run_summary>& all) {
  std::vector<std::string> keys;
  for (const auto& s : all)
    if (s.last.is_object())
      for (const auto& [key, value] : s.last.items())
        if (value.is_number() || value.is_string())
          if (key != "kind" && key != "run" && key != "step" && key != "tokens" && key != "lr" &&
              std::find(keys.begin(), keys.end(), key) == keys.end())
            keys.push_back(key);
  return keys;
}

}  // namespace detail

/// summary.csv: one row a run, the values of its last point. Deterministic: timing is elsewhere.
inline std::string summary_csv(const std::vector<run_summary>& all) {
  const auto keys = detail::measured_keys(all);
  std::string out = "run,label,optimizer,lr,seed,parameters,status,step,tokens,best_val_loss";
  for (const auto& k : keys) (out += ',') += k;
  out += '\n';
  for (const auto& s : all) {
    const auto get = [](const json& from, const char* key) {
      return from.is_object() && from.contains(key) ? detail::csv_text(from[key]) : std::string();
    };
    out += get(s.run, "run");
    for (const char* key : {"label", "optimizer", "lr", "seed"}) (out += ',') += get(s.run, key);
    (out += ',') += s.run.is_object() ? get(s.run["model"], "parameters") : "";
    (out += ',') += s.status();
    for (const char* key : {"step", "tokens"}) (out += ',') += get(s.finished() ? s.end : s.last, key);
    (out += ',') += get(s.end, "best_val_loss");
    for (const auto& k : keys) (out += ',') += get(s.last, k.c_str());
    out += '\n';
  }
  return out;
}

/// Writes `folder`/records.jsonl, timing.jsonl and summary.csv from the runs `ids`, in that order; each file
/// whole or not at all. Runs without records yet are left out of the files and are "pending" in the result.
/// \throws io_error
inline std::vector<run_summary> collect(const path& folder, const std::vector<std::string>& ids) {
  std::string records, timing;
  std::vector<run_summary> all;
  for (const auto& id : ids) {
    const run_files files = files_of(folder, id);
    const auto rows = files.read();
    for (const json& row : rows) records += io::to_line(row) + '\n';
    if (std::filesystem::exists(files.timing()))
      for (const json& row : io::read_records(files.timing()).rows) timing += io::to_line(row) + '\n';
    all.push_back(summarize(rows));
  }
  io::write_file(folder / "records.jsonl", records);
  io::write_file(folder / "timing.jsonl", timing);
  io::write_file(folder / "summary.csv", summary_csv(all));
  return all;
}

}  // namespace quench::inline QUENCH_ISA::study
