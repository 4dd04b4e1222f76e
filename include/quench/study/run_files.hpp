#pragma once
/// \file  The files of one run: records that only grow, cut back to the checkpoint on resume; a finished run
/// is recognised, another configuration is refused.
#include <quench/io/jsonl.hpp>
#include <quench/study/folder.hpp>
#include <quench/study/records.hpp>

#include <optional>

namespace quench::inline QUENCH_ISA::study {

struct run_files {
  path folder;

  path records() const { return folder / "records.jsonl"; }
  path timing() const { return folder / "timing.jsonl"; }
  path checkpoint() const { return folder / "checkpoint.safetensors"; }
  path model() const { return folder / "model.safetensors"; }

  /// All whole records; none when there is no file yet.
  std::vector<json> read() const {
    return std::filesystem::exists(records()) ? io::read_records(records()).rows : std::vector<json>{};
  }
};

/// The `end` record among `rows`, or nullptr for an unfinished run.
inline const json* find_end(const std::vector<json>& rows) {
  for (const json& row : rows)
    if (row.value("kind", "") == "end") return &row;
  return nullptr;
}

/// Checks that `rows` belong to the configuration with `hash`. \throws io_error
inline void check_owner(const run_files& files, const std::vector<json>& rows, const std::string& hash) {
  if (rows.empty()) return;
  const std::string found = rows.front().value("config", "");
  io::require(rows.front().value("kind", "") == "run" && found == hash, files.records(), 0,
              "belongs to another configuration ({}, this run is {}); choose another folder or start afresh",
              found, hash);
}

/// Reads an `end` record back.
inline outcome outcome_of(const json& end) {
  outcome o;
  const std::string status = end.value("status", "");
  o.status = status == "ok" ? run_status::ok : run_status::diverged;
  o.reason = end.value("reason", "");
  o.step = end.value("step", std::int64_t(0));
  o.tokens = end.value("tokens", std::int64_t(0));
  o.val_loss = io::to_double(end, "val_loss", o.val_loss);
  o.best_val_loss = io::to_double(end, "best_val_loss", o.best_val_loss);
  return o;
}

/// Keeps the `run` record and the points up to `step`: what was written after the checkpoint will be computed
/// again, to the same bits. Rewrites the file only when that drops something.
inline void cut_records(const run_files& files, const std::vector<json>& rows, std::int64_t step) {
  std::string kept;
  std::size_t lines = 0;
  for (const json& row : rows)
    if (row.value("kind", "") == "run" ||
        (row.value("kind", "") == "point" && row.value("step", std::int64_t(0)) <= step)) {
      kept += io::to_line(row) + '\n';
      ++lines;
    }
  if (lines != rows.size()) io::write_file(files.records(), kept);
}

}  // namespace quench::inline QUENCH_ISA::study
