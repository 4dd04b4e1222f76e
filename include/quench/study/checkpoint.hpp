#pragma once
/// \file  Everything a run needs to continue with the same bits, in one safetensors file: parameters,
/// optimizer state, and the counters of the run. Schedule and data position are functions of the step.
#include <quench/io/safetensors.hpp>
#include <quench/io/safetensors_writer.hpp>
#include <quench/optim/any_optimizer.hpp>
#include <quench/study/records.hpp>

namespace quench::inline QUENCH_ISA::study {

/// The run's own counters.
struct run_state {
  std::int64_t step = 0;              ///< optimizer steps done
  double loss_sum = 0, norm_sum = 0;  ///< training losses and gradient norms since the last point
  std::int64_t summed = 0;            ///< how many
  double first_val = 0, last_val = 0, best_val = 0;  ///< validation losses of the points so far
  std::string trouble;                               ///< why the run has diverged; empty while it has not
};

namespace detail {

/// "parameter/NAME" and "state/NAME/PART" keep the two kinds of tensors apart.
struct part_writer {
  std::vector<io::tensor_data> tensors;
  template <class T>
  void operator()(std::string name, const matrix<T>& m) {
    tensors.push_back(io::tensor_of(std::move(name), m));
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void operator()(std::string name, const T& x) {
    tensors.push_back({{std::move(name), io::dtype_of<T>(), {}}, std::as_bytes(std::span(&x, 1))});
  }
};

struct part_reader {
  const io::safetensors_file& file;
  template <class T>
  void operator()(const std::string& name, T& out) const {
    const io::tensor_info& t = file.at(name);
    if constexpr (std::is_arithmetic_v<T>) {
      io::require(t.shape.empty() && t.type == io::dtype_of<T>(), file.file(), t.begin,
                  "checkpoint: {} has another type", name);
      std::memcpy(&out, file.bytes(t).data(), sizeof out);
    } else {
      io::require(t.type == io::dtype_of<typename T::Scalar>() && t.shape.size() == 2 &&
                      t.shape[0] == out.rows() && t.shape[1] == out.cols(),
                  file.file(), t.begin, "checkpoint: {} must be {} x {}", name, out.rows(), out.cols());
      if (t.bytes > 0) std::memcpy(out.data(), file.bytes(t).data(), t.bytes);
    }
  }
};

}  // namespace detail

/// Replaces `file` by the state of the run with configuration hash `config`, whole or not at all. \throws
/// io_error
template <class T>
void save_checkpoint(const io::path& file, const std::string& config, const run_state& s,
                     const basic_param_list<T>& params, any_optimizer<T>& optimizer) {
  detail::part_writer out;
  for (const auto& p : params) out("parameter/" + p.name, p.value);
  optimizer.prepare(params);
  optimizer.visit_state([&](const std::string& name, state_ref part) {
    std::visit([&](auto* p) { out("state/" + name, *p); }, part);
  });
  const std::int64_t steps = optimizer.steps();
  out("step", s.step), out("summed", s.summed), out("optimizer_steps", steps);
  out("loss_sum", s.loss_sum), out("norm_sum", s.norm_sum);
  out("first_val", s.first_val), out("last_val", s.last_val), out("best_val", s.best_val);
  io::write_safetensors(file, out.tensors,
                        {{"format", "quench run checkpoint 1"},
                         {"config", config},
                         {"optimizer", optimizer.name()},
                         {"settings", optimizer.settings()},
                         {"trouble", s.trouble}});
}

/// Reads what `save_checkpoint` wrote. `params` and `optimizer` must be as the configuration makes them.
/// \throws io_error when the file is damaged, of another configuration, or does not fit
template <class T>
void load_checkpoint(const io::path& file, const std::string& config, run_state& s,
                     basic_param_list<T>& params, any_optimizer<T>& optimizer) {
  const io::safetensors_file source(file);
  const auto meta = [&](const char* key) {
    const auto it = source.metadata().find(key);
    return it == source.metadata().end() ? std::string() : it->second;
  };
  io::require(meta("format") == "quench run checkpoint 1", file, 8, "is not a checkpoint of a run");
  io::require(meta("config") == config, file, 8,
              "is the checkpoint of another configuration ({}, this run is {})", meta("config"), config);
  const detail::part_reader in{source};
  for (auto& p : params) in("parameter/" + p.name, p.value);
  optimizer.prepare(params);
  state_archive archive = optimizer.save();  // the right names and shapes, to be filled
  for (state_entry& e : archive.entries)
    std::visit([&](auto& value) { in("state/" + e.name, value); }, e.value);
  in("optimizer_steps", archive.step);
  optimizer.restore(archive, params);
  in("step", s.step), in("summed", s.summed);
  in("loss_sum", s.loss_sum), in("norm_sum", s.norm_sum);
  in("first_val", s.first_val), in("last_val", s.last_val), in("best_val", s.best_val);
  s.trouble = meta("trouble");
}

}  // namespace quench::inline QUENCH_ISA::study
