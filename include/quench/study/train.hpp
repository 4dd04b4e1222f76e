#pragma once
/// \file  A run: from its configuration to its records, through any number of interruptions. Every record is
/// a function of the configuration: threads, kills and restarts do not change a bit.
#include <quench/optim/clip.hpp>
#include <quench/study/checkpoint.hpp>
#include <quench/study/corpus.hpp>
#include <quench/study/look.hpp>
#include <quench/study/model.hpp>
#include <quench/study/run_files.hpp>

#include <chrono>
#include <functional>

namespace quench::inline QUENCH_ISA::study {

/// How a run is carried out; nothing here changes a result.
struct run_options {
  executor run = {};                ///< serial unless given
  unsigned threads = 1;             ///< what `run` works with, for the timing record
  bool fresh = false;               ///< discard earlier records instead of continuing them
  double checkpoint_seconds = 30;   ///< a checkpoint at least this often; there is one at every point
  std::function<bool()> stop = {};  ///< asked after every step; true = checkpoint and return
  std::function<void(std::int64_t, double)> on_step = {};  ///< step just done and its training loss
  std::function<void(const point&)> on_point = {};
};

/// What a call of `train` did.
struct session {
  outcome result;
  bool was_finished = false;  ///< the records were complete already: nothing was computed
  std::int64_t first_step = 0;
  double seconds = 0, train_seconds = 0, eval_seconds = 0;
  double flops_per_token = 0;

  double tokens_per_second(const run_config& c) const {
    return train_seconds > 0 ? double((result.step - first_step) * c.sequences * c.length) / train_seconds
                             : 0;
  }
};

/// A training loss above this many times ln(vocabulary), the loss of guessing blindly, is an explosion.
inline constexpr double explosion = 3;

namespace detail {

class stopwatch {
 public:
  double lap() { return seconds(std::exchange(last_, clock::now())); }
  double total() const { return std::chrono::duration<double>(clock::now() - start_).count(); }

 private:
  using clock = std::chrono::steady_clock;
  static double seconds(clock::time_point from) {
    return std::chrono::duration<double>(clock::now() - from).count();
  }
  clock::time_point start_ = clock::now(), last_ = start_;
};

template <class T>
std::int64_t parameter_count(const basic_param_list<T>& params) {
  std::int64_t n = 0;
  for (const auto& p : params) n += p.value.size();
  return n;
}

template <class T>
class runner {
 public:
  runner(const run_config& c, const corpus& data, const path& folder, const run_options& o)
      : c_(c), data_(data), o_(o), files_{folder}, hash_(config_hash(c)), id_(run_id(c)) {}

  session go() {
    check(c_);
    const folder_lock lock(files_.folder);
    if (o_.fresh)
      for (const path& f : {files_.records(), files_.timing(), files_.checkpoint(), files_.model()})
        std::filesystem::remove(f);
    auto rows = files_.read();
    check_owner(files_, rows, hash_);
    if (const json* end = find_end(rows)) return {outcome_of(*end), true};

    model_.emplace(model_config_of(c_.model));
    optimizer_.emplace(make_optimizer<T>(c_.optimizer, c_.settings));
    watcher_.emplace(c_, data_.validation);
    session s;
    s.flops_per_token = model_->config().training_flops_per_token(c_.length);
    const bool resumes = !rows.empty() && std::filesystem::exists(files_.checkpoint());
    if (resumes) {
      load_checkpoint(files_.checkpoint(), hash_, state_, model_->params(), *optimizer_);
      cut_records(files_, rows, state_.step);
    } else {
      model_->init(c_.seed);
      std::filesystem::remove(files_.records());
    }
    io::record_writer records(files_.records());
    if (!resumes)
      records.append(run_record(c_, parameter_count(model_->params()),
                                std::is_same_v<T, float> ? "float32" : "float64"));
    s.first_step = state_.step;
    work(records, s, resumes);
    s.seconds = watch_.total();
    if (s.result.status != run_status::interrupted) {
      save_model(files_.model(), model_->config(), optimizer_->evaluation(model_->params()));
      records.append(end_record(id_, s.result));
      std::filesystem::remove(files_.checkpoint());
    }
    append_timing(s);
    return s;
  }

 private:
  void work(io::record_writer& records, session& s, bool resumed) {
    const auto steps = point_steps(c_);
    const double limit = explosion * std::log(double(c_.model.vocabulary));
    auto next = std::find_if(steps.begin(), steps.end(), [&](std::int64_t p) { return p > state_.step; });
    if (!resumed) look(records, s);
    double since = watch_.total();
    while (state_.trouble.empty() && state_.step < c_.schedule.steps) {
      const double loss = step();
      s.train_seconds += watch_.lap();
      if (!std::isfinite(loss) || !std::isfinite(norm_) || loss > limit)
        state_.trouble = "loss " + io::number(loss).dump() + ", gradient norm " + io::number(norm_).dump() +
                         " at step " + std::to_string(state_.step);
      const bool bad = !state_.trouble.empty();
      if (o_.on_step) o_.on_step(state_.step, loss);
      const bool wanted = o_.stop && o_.stop();
      if (bad || state_.step == *next) {
        look(records, s);
        if (next != steps.end() && state_.step == *next) ++next;
        since = watch_.total();
      } else if (wanted || watch_.total() - since > o_.checkpoint_seconds) {
        save();
        since = watch_.total();
      }
      if (bad) break;
      if (wanted && state_.step < c_.schedule.steps) return finish(s, run_status::interrupted, "stopped");
    }
    if (state_.trouble.empty() && !(state_.last_val < state_.first_val))
      state_.trouble = "ended at a validation loss of " + io::number(state_.last_val).dump() +
                       ", above the untrained model's";
    finish(s, state_.trouble.empty() ? run_status::ok : run_status::diverged, state_.trouble);
  }

  /// One optimizer step; returns the training loss before it.
  double step() {
    const std::int64_t t = state_.step + 1;
    random_windows(data_.train, c_.seed, t, c_.sequences, c_.length, batch_);
    const double loss = model_->loss_and_grad(view_of_batch(batch_), o_.run);
    norm_ = c_.clip > 0 ? clip_gradients(model_->params(), c_.clip).norm : global_norm(model_->params());
    if (std::isfinite(loss) && std::isfinite(norm_)) optimizer_->step(model_->params(), lr_scale(t), o_.run);
    state_.step = t;
    state_.loss_sum += loss;
    state_.norm_sum += norm_;
    ++state_.summed;
    return loss;
  }

  double lr_scale(std::int64_t step) const { return c_.schedule.at(step - 1); }

  void look(io::record_writer& records, session& s) {
    point p = look_at_weights();
    p.step = state_.step;
    p.tokens = state_.step * c_.sequences * c_.length;
    p.lr = c_.lr * lr_scale(std::max<std::int64_t>(state_.step, 1));
    p.train_loss = state_.loss_sum / double(state_.summed);
    p.grad_norm = state_.norm_sum / double(state_.summed);
    records.append(point_record(id_, p));
    state_.loss_sum = state_.norm_sum = 0;
    state_.summed = 0;
    state_.last_val = p.val_loss;
    if (state_.step == 0) state_.first_val = state_.best_val = p.val_loss;
    state_.best_val = std::min(state_.best_val, p.val_loss);
    save();
    s.eval_seconds += watch_.lap();
    if (o_.on_point) o_.on_point(p);
  }

  /// Looks at the weights the rule wants evaluated; most rules: those it trains.
  point look_at_weights() {
    auto shown = optimizer_->evaluation(model_->params());
    for (std::size_t i = 0; i < shown.size(); ++i) shown[i].value.swap(model_->params()[i].value);
    point p = watcher_->look(*model_, o_.run);
    for (std::size_t i = 0; i < shown.size(); ++i) shown[i].value.swap(model_->params()[i].value);
    return p;
  }

  void save() { save_checkpoint(files_.checkpoint(), hash_, state_, model_->params(), *optimizer_); }

  void finish(session& s, run_status status, std::string reason) {
    s.result = {status,          std::move(reason), state_.step, state_.step * c_.sequences * c_.length,
                state_.last_val, state_.best_val};
  }

  void append_timing(const session& s) const {
    json j = {{"kind", "session"},
              {"run", id_},
              {"first_step", s.first_step},
              {"last_step", s.result.step},
              {"seconds", s.seconds},
              {"train_seconds", s.train_seconds},
              {"eval_seconds", s.eval_seconds},
              {"tokens_per_second", s.tokens_per_second(c_)},
              {"threads", o_.threads},
              {"model_flops_per_second", s.tokens_per_second(c_) * s.flops_per_token}};
    j.update(build_facts());
    io::record_writer(files_.timing(), false).append(j);
  }

  const run_config& c_;
  const corpus& data_;
  const run_options& o_;
  run_files files_;
  std::string hash_, id_;
  std::optional<nn::transformer<T>> model_;
  std::optional<any_optimizer<T>> optimizer_;
  std::optional<watcher<T>> watcher_;
  run_state state_;
  window_batch batch_;
  stopwatch watch_;
  double norm_ = 0;
};

}  // namespace detail

/// Carries out the run `c` in `folder`: from the start, or from where an earlier process left it, or not at
/// all when it is finished. `data` must be what `c.data` describes. \throws error for a configuration that
/// cannot run (unknown optimizer, setting or format, text shorter than a window), io_error for an unwritable,
/// locked or foreign folder, a damaged checkpoint, a full disk. Earlier records stay intact.
template <class T = float>
session train(const run_config& c, const corpus& data, const path& folder, const run_options& o = {}) {
  return detail::runner<T>(c, data, folder, o).go();
}

}  // namespace quench::inline QUENCH_ISA::study
