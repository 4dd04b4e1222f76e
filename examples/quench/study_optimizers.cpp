// quench study optimizers: train one small transformer with several optimizers, quantize it along the way,
// record what happens. The runs are carried out one after another; each continues where an earlier process
// left it.
#include "assets.hpp"
#include "command.hpp"
#include "instances/models.hpp"
#include "instances/optimizers.hpp"
#include "progress.hpp"

#include <quench/nn/peak.hpp>
#include <quench/study/collect.hpp>
#include <quench/study/train.hpp>

#include <csignal>
#include <cstdio>
#include <thread>

namespace cli {
namespace {

namespace q = quench;
namespace fs = std::filesystem;

struct request {
  std::string out = "out/optimizers", optimizers, model = "6,4,96", data, quantizers = "w4,w3,w4a4",
              architecture = "olmo2", seeds = "1";
  std::vector<std::string> train, validation;
  std::int64_t steps = 0;
  int sequences = 16, length = 128, points = 0, windows = 0;
  double clip = 1.0;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  bool quick = false, fresh = false, profile = false, list = false, head = false;
  outputs files;
};

/// "adamw,muon:lr=0.02,weight_decay=0.1": a piece with '=' but no ':' before it continues the settings of the
/// one before.
std::vector<std::string> split_optimizers(const std::string& text) {
  if (text.empty()) return {"sgd", "adamw", "lion", "muon"};  // what fits into four minutes on two cores
  if (text == "all") return q::optimizer_names();
  std::vector<std::string> out;
  for (const auto& piece : split_list(text, "--optimizers")) {
    const bool continues = piece.find('=') != piece.npos && piece.find(':') == piece.npos;
    if (continues && out.empty())
      throw usage_error("--optimizers: '" + piece + "' is a setting without an optimizer");
    if (continues)
      out.back() += ',' + piece;
    else
      out.push_back(piece);
  }
  return out;
}

template <class Number>
std::vector<Number> numbers(const std::string& text, const std::string& option) {
  std::vector<Number> out;
  for (const auto& piece : split_list(text, option)) {
    Number x{};
    const auto [end, bad] = std::from_chars(piece.data(), piece.data() + piece.size(), x);
    if (bad != std::errc{} || end != piece.data() + piece.size())
      throw usage_error(option + ": '" + piece + "' is not a whole number");
    out.push_back(x);
  }
  return out;
}

/// The novels: where --data says, else beside the working folder or the sources.
std::vector<fs::path> novels(const request& r, std::initializer_list<const char*> names) {
  std::vector<fs::path> out;
  fs::path from = r.data;
  if (from.empty())
    from = fs::exists("examples/data/austen") ? "examples/data/austen"
                                              : QUENCH_SOURCE_DIR "/examples/data/austen";
  for (const char* n : names) out.push_back(from / n);
  return out;
}

std::vector<q::study::run_config> plan(const request& r, q::study::corpus& data) {
  q::study::run_config c;
  const auto shape = numbers<int>(r.model, "--model");
  if (shape.size() != 3)
    throw usage_error("--model: '" + r.model + "' must be three numbers: heads,blocks,width");
  c.model.architecture = r.architecture;
  c.model.heads = shape[0], c.model.blocks = shape[1], c.model.width = shape[2];
  c.model.context = c.length = r.length;
  c.sequences = r.sequences;
  c.points = r.points;
  c.eval_windows = r.windows;
  c.clip = r.clip;
  c.quantizers = split_list(r.quantizers, "--quantizers");
  for (const auto& text : c.quantizers) static_cast<void>(q::study::parse_quantizer(text));
  c.quantize_head = r.head;
  c.schedule = q::study::split_wsd(r.steps, 5, 20);

  std::vector<q::study::run_config> runs;
  const auto seeds = numbers<std::uint64_t>(r.seeds, "--seed");
  const auto optimizers = split_optimizers(r.optimizers);
  for (const auto seed : seeds)
    for (const auto& text : optimizers) {
      c.seed = seed;
      q::study::use_optimizer(c, text);
      const auto same = [&](const std::string& other) {
        return other.substr(0, other.find(':')) == c.optimizer;
      };
      c.label = std::count_if(optimizers.begin(), optimizers.end(), same) > 1
                    ? text
                    : c.optimizer;  // told apart by what was asked
      if (seeds.size() > 1) c.label += " #" + std::to_string(seed);
      runs.push_back(c);
    }
  const auto paths = [](const std::vector<std::string>& names) {
    return std::vector<fs::path>(names.begin(), names.end());
  };
  data = q::study::read_corpus(
      r.train.empty()
          ? novels(r, {"austen_emma.txt", "austen_prideprejudice.txt", "austen_sensesensibility.txt"})
          : paths(r.train),
      r.validation.empty() ? novels(r, {"austen_persuasion.txt"}) : paths(r.validation), c.model.vocabulary,
      c.length);
  for (auto& run : runs) run.data = data.facts, q::study::check(run);
  return runs;
}

table summary_table(const std::vector<q::study::run_summary>& all, const std::vector<std::string>& labels) {
  std::vector<column> columns{{"optimizer"},          {"lr", "%.4g"},      {"seed"}, {"status"}, {"step"},
                              {"train loss", "%.4f"}, {"val loss", "%.4f"}};
  for (const auto& l : labels)
    columns.push_back({l + " loss", "%.4f"}), columns.push_back({l + " rel %", "%.2f"});
  columns.push_back({"mmr", "%.2f"});
  columns.push_back({"kurtosis", "%.2f"});
  table t(columns);
  for (const auto& s : all) {
    if (!s.run.is_object()) continue;
    const q::io::json& at = s.finished() ? s.end : s.last;
    std::vector<cell> row{s.run.value("label", ""),
                          q::io::to_double(s.run, "lr", 0),
                          s.run.value("seed", std::int64_t(0)),
                          s.status(),
                          at.is_object() ? at.value("step", std::int64_t(0)) : 0,
                          s.value("train_loss"),
                          s.value("val_loss")};
    for (const auto& l : labels)
      row.emplace_back(s.value(l + "_loss")), row.emplace_back(100 * s.value(l + "_rel"));
    row.emplace_back(s.value("mmr"));
    row.emplace_back(s.value("kurtosis"));
    t.add(std::move(row));
  }
  return t;
}

/// train(), with a word on what to do about a checkpoint that cannot be read.
q::study::session carry_out(const q::study::run_config& c, const q::study::corpus& data, const fs::path& out,
                            const std::string& id, const q::study::run_options& o) {
  const auto files = q::study::files_of(out, id);
  try {
    return q::study::train(c, data, files.folder, o);
  } catch (const q::io_error& e) {
    const bool resumes = !o.fresh && e.file() == files.checkpoint() && fs::exists(files.checkpoint()) &&
                         !e.reason().starts_with("cannot");
    if (!resumes) throw;
    throw q::io_error(e.file(), e.offset(),
                      e.reason() + "; the run cannot be continued from it, --fresh starts it again");
  }
}

/// Training speed of each session over the peak multiply-add rate of the same threads, measured now.
table profile_table(const std::vector<std::pair<std::string, q::study::session>>& sessions,
                    const std::vector<q::study::run_config>& runs, double peak) {
  table t({{"optimizer"},
           {"tokens/s", "%.0f"},
           {"model Gflop/s", "%.2f"},
           {"peak Gflop/s", "%.1f"},
           {"utilisation", "%.3f"},
           {"train s", "%.1f"},
           {"eval s", "%.1f"}});
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    const auto& s = sessions[i].second;
    const double rate = s.tokens_per_second(runs[i]) * s.flops_per_token;
    t.add({sessions[i].first, s.tokens_per_second(runs[i]), rate * 1e-9, peak * 1e-9, rate / peak,
           s.train_seconds, s.eval_seconds});
  }
  return t;
}

int run_all(request r) {
  if (r.steps == 0) r.steps = r.quick ? 60 : 600;
  if (r.points == 0) r.points = r.quick ? 10 : 20;
  if (r.windows == 0) r.windows = r.quick ? 32 : 64;
  q::study::corpus data;
  const auto runs = plan(r, data);
  std::vector<std::string> ids;
  for (const auto& c : runs) {
    ids.push_back(q::study::run_id(c));
    if (std::count(ids.begin(), ids.end(), ids.back()) > 1)
      throw usage_error("--optimizers: '" + c.optimizer +
                        "' is asked for twice with the same settings and seed");
  }
  const fs::path out = r.out;
  const q::study::folder_lock lock(out);
  if (r.list) {
    std::vector<q::study::run_summary> all;
    table t({{"run"}, {"optimizer"}, {"seed"}, {"status"}, {"step"}});
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto s = q::study::summarize(q::study::files_of(out, ids[i]).read());
      t.add({ids[i], runs[i].optimizer, std::int64_t(runs[i].seed), s.status(),
             s.last.is_object() ? s.last.value("step", std::int64_t(0)) : 0});
    }
    r.files.print(t);
    return done;
  }

  watch_signals();
  q::thread_pool pool(r.threads);
  q::study::run_options o;
  o.run = pool.run();
  o.threads = r.threads;
  o.fresh = r.fresh;
  o.stop = [] { return stop_signal() != 0; };
  std::vector<std::pair<std::string, q::study::session>> sessions;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& c = runs[i];
    const auto before = q::study::summarize(q::study::files_of(out, ids[i]).read());
    const std::int64_t from =
        r.fresh || !before.last.is_object() ? 0 : before.last.value("step", std::int64_t(0));
    q::study::session s;
    {
      char label[64];
      std::snprintf(label, sizeof label, "%zu/%zu %-8s", i + 1, runs.size(), c.optimizer.c_str());
      progress bar(label, c.schedule.steps, "steps", from);
      std::string note;
      o.on_point = [&](const q::study::point& p) {
        char text[64];
        std::snprintf(text, sizeof text, "val %.3f", p.val_loss);
        note = text;
        bar.update(p.step, note);
      };
      o.on_step = [&](std::int64_t step, double) {
        if (step < c.schedule.steps) bar.update(step, note);  // the last step's line comes with its point
      };
      s = carry_out(c, data, out, ids[i], o);
    }
    sessions.emplace_back(c.optimizer, s);
    q::study::collect(out, ids);
    if (s.result.status == q::study::run_status::interrupted) {
      std::fprintf(stderr, "quench: stopped at step %lld of run %s; the same command continues it\n",
                   static_cast<long long>(s.result.step), ids[i].c_str());
      return 128 + stop_signal();
    }
    if (s.result.status == q::study::run_status::diverged)
      std::fprintf(stderr, "quench: %s diverged: %s\n", ids[i].c_str(), s.result.reason.c_str());
  }
  const auto all = q::study::collect(out, ids);
  r.files.print(summary_table(all, runs.front().quantizers));
  if (r.profile) {
    const double peak = q::nn::peak_flops<float>(r.threads, pool.run());
    std::printf("\n%s", profile_table(sessions, runs, peak).text().c_str());
  }
  q::study::write_report(out / "report.html", q::io::read_records(out / "records.jsonl").rows,
                         embedded_assets(), "Optimizers under quantization");
  if (r.files.json != "-" && r.files.csv != "-")
    std::printf("\nIn %s: report.html, records.jsonl, summary.csv, timing.jsonl\n", out.string().c_str());
  return done;
}

}  // namespace

void add_study(CLI::App& app, int& code) {
  auto* study = app.add_subcommand("study", "Train, quantize along the way, and record what happens");
  study->require_subcommand(1);
  auto* command = study->add_subcommand(
      "optimizers", "Compare optimizers: loss, quantization error and outliers along training");
  auto r = std::make_shared<request>();
  command->add_option("--out", r->out, "Folder of the study; a finished or started one is continued")
      ->type_name("DIR")
      ->capture_default_str();
  command
      ->add_option("--optimizers", r->optimizers,
                   "Names with optional settings, or 'all' (default sgd,adamw,lion,muon): adamw,muon:lr=0.02")
      ->type_name("LIST");
  command->add_option("--steps", r->steps, "Optimizer steps of a run (default 600, with --quick 60)")
      ->check(CLI::PositiveNumber);
  command->add_option("--model", r->model, "Heads, blocks, width")->type_name("H,N,D")->capture_default_str();
  command->add_option("--architecture", r->architecture, "olmo2 or llama")->capture_default_str();
  command->add_option("--sequences", r->sequences, "Windows a step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--length", r->length, "Predictions a window")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--points", r->points, "Looks at the model along a run (default 20, with --quick 10)")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--eval-windows", r->windows, "Validation windows of a look (default 64, with --quick 32)")
      ->check(CLI::PositiveNumber);
  command->add_option("--quantizers", r->quantizers, "What to measure: w4, w4a4, or specs SPEC[+SPEC]")
      ->type_name("LIST")
      ->capture_default_str();
  command->add_flag("--quantize-head", r->head, "Quantize the output matrix too");
  command->add_option("--clip", r->clip, "Largest global gradient norm, 0 for none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--seed", r->seeds, "One seed, or several: 1,2,3")
      ->type_name("LIST")
      ->capture_default_str();
  command->add_option("--data", r->data, "Folder with the novels")->type_name("DIR");
  command->add_option("--train", r->train, "Text or token files to train on instead")->type_name("FILE");
  command->add_option("--validation", r->validation, "Text or token files to validate on instead")
      ->type_name("FILE");
  command->add_option("--threads", r->threads, "Threads; results do not depend on it")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag("--quick", r->quick, "A short version of everything, under 40 seconds");
  command->add_flag("--fresh", r->fresh, "Discard earlier records of these runs");
  command->add_flag("--list", r->list, "Show the runs and their state, compute nothing");
  command->add_flag("--profile", r->profile, "Report model flops per second over the peak of this machine");
  add_outputs(*command, r->files);
  for (auto* option : command->get_options())
    if (option->get_items_expected_max() == 1)
      option->take_last();  // said twice, the last counts: scripts append options
  command->callback([r, &code] { code = run_all(*r); });
}

}  // namespace cli
