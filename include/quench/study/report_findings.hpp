#pragma once
/// \file  What a study's numbers say, in sentences: who trains best, what quantization costs, what the
/// cool-down does to it, and which outlier metric goes along with the damage (the questions of arXiv
/// 2510.06213 and 2509.23500).
#include <quench/study/report_data.hpp>

#include <charconv>
#include <numeric>
#include <optional>

namespace quench::inline QUENCH_ISA::study {

/// How two columns go together. NaN when fewer than 3 finite pairs, or when one column is constant.
struct association {
  double pearson = std::nan(""), spearman = std::nan("");
  std::size_t n = 0;  ///< pairs in which both are finite
};

namespace detail {

inline double pearson(std::span<const double> x, std::span<const double> y) {
  const auto n = static_cast<double>(x.size());
  const double mx = std::accumulate(x.begin(), x.end(), 0.0) / n,
               my = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
    xy += (x[i] - mx) * (y[i] - my);
  }
  return xx > 0 && yy > 0 ? xy / (std::sqrt(xx) * std::sqrt(yy)) : std::nan("");
}

/// Ranks from 1; equal values share the mean of their ranks.
inline std::vector<double> ranks(std::span<const double> x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  std::vector<double> out(x.size());
  for (std::size_t i = 0, j = 0; i < x.size(); i = j) {
    while (j < x.size() && x[order[j]] == x[order[i]]) ++j;
    for (std::size_t k = i; k < j; ++k) out[order[k]] = double(i + j + 1) / 2;
  }
  return out;
}

}  // namespace detail

/// Pearson's and Spearman's coefficients over the pairs in which both values are finite.
inline association associate(std::span<const double> x, std::span<const double> y) {
  std::vector<double> a, b;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    if (std::isfinite(x[i]) && std::isfinite(y[i])) a.push_back(x[i]), b.push_back(y[i]);
  if (a.size() < 3) return {.n = a.size()};
  return {detail::pearson(a, b), detail::pearson(detail::ranks(a), detail::ranks(b)), a.size()};
}

/// The outlier metrics a point may carry, and their names for people.
struct metric_name {
  const char *key, *label;
};
inline constexpr metric_name outlier_metrics[] = {{"mmr", "max / median"},
                                                  {"mmr_mean", "max / mean"},
                                                  {"kurtosis", "kurtosis"},
                                                  {"kurtosis_features", "kurtosis, features"},
                                                  {"kurtosis_rms", "kurtosis, RMS"}};

/// `x` with `digits` significant digits, whatever the locale; "n/a" for NaN.
inline std::string shown(double x, int digits = 3) {
  if (std::isnan(x)) return "n/a";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  char text[64];
  const double size = std::abs(x);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e6);
  const int whole = size >= 1  ? static_cast<int>(std::log10(size)) + 1
                    : size > 0 ? static_cast<int>(std::ceil(std::log10(size)))
                               : 1;
  const auto end =
      plain
          ? std::to_chars(text, text + 64, x, std::chars_format::fixed, std::clamp(digits - whole, 0, 8)).ptr
          : std::to_chars(text, text + 64, x, std::chars_format::scientific, digits - 1).ptr;
  return {text, end};
}
/// The same without zeros at the end of a fraction: settings rather than measurements.
inline std::string trimmed(double x, int digits = 6) {
  std::string text = shown(x, digits);
  if (text.find('.') == text.npos || text.find('e') != text.npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}
/// A fraction as a percentage with its sign.
inline std::string percent(double x) {
  return std::isfinite(x) ? (x < 0 ? "" : "+") + shown(100 * x, std::abs(x) < 0.01 ? 2 : 3) + " %" : "n/a";
}

/// A quantizer's label as people write it: w4a4 is W4A4; others stay.
inline std::string bits_label(std::string q) {
  const bool plain = q.size() > 1 && q[0] == 'w' && q.find_first_not_of("0123456789a", 1) == q.npos;
  if (plain) std::replace(q.begin(), q.end(), 'w', 'W'), std::replace(q.begin(), q.end(), 'a', 'A');
  return q;
}

/// The step at which a run's cool-down begins; NaN when its schedule has none or does not say.
inline double cooldown_start(const report_run& run) {
  const io::json& s = detail::object_at(run.facts, "schedule");
  const double decay = detail::number_at(s, "decay");
  return decay > 0 ? detail::number_at(s, "warmup") + detail::number_at(s, "stable") : std::nan("");
}

/// All points of all runs (step 0 left out: an untrained model) of one key; diverged runs' points stand until
/// they end.
inline std::vector<double> pooled(const report_study& study, const std::string& key) {
  std::vector<double> out;
  for (const report_run& run : study.runs) {
    const auto column = run.column(key);
    for (std::size_t i = 0; i < column.size(); ++i)
      if (run.steps[i] > 0) out.push_back(column[i]);
  }
  return out;
}

namespace detail {

/// Runs in order of `key` at their last point, smallest first; only finished ones with a finite value.
inline std::vector<const report_run*> by(const report_study& study, const std::string& key) {
  std::vector<const report_run*> out;
  for (const report_run& r : study.runs)
    if (r.ok() && std::isfinite(r.last(key))) out.push_back(&r);
  std::stable_sort(out.begin(), out.end(),
                   [&](const auto* a, const auto* b) { return a->last(key) < b->last(key); });
  return out;
}

inline void training_findings(const report_study& study, std::vector<std::string>& out) {
  const auto best = by(study, "val_loss");
  if (best.empty()) return;
  out.push_back("In full precision " + best.front()->label + " ends lowest, at " +
                shown(best.front()->last("val_loss"), 4) + " nats per token" +
                (best.size() > 1
                     ? ", before " + best[1]->label + " at " + shown(best[1]->last("val_loss"), 4) + "."
                     : "."));
}

inline void damage_findings(const report_study& study, std::vector<std::string>& out) {
  const auto full = by(study, "val_loss");
  for (const std::string& q : study.quantizers) {
    const auto least = by(study, q + "_rel"), lowest = by(study, q + "_loss");
    if (least.size() < 2 || lowest.empty()) continue;
    const report_run &cheap = *least.front(), &dear = *least.back(), &winner = *lowest.front();
    const bool same = !full.empty() && &winner == full.front();
    out.push_back(bits_label(q) + " costs " + cheap.label + " least (" + percent(cheap.last(q + "_rel")) +
                  ") and " + dear.label + " most (" + percent(dear.last(q + "_rel")) +
                  "). Lowest loss once quantized: " + winner.label + ", " +
                  shown(winner.last(q + "_loss"), 4) +
                  (same ? ", as in full precision." : ", another order than in full precision."));
  }
}

/// The error at the last point over the error at the last point before the cool-down; NaN when either is not
/// positive.
inline double cooldown_growth(const report_run& run, const std::string& key) {
  const double start = cooldown_start(run), after = run.last(key);
  const auto column = run.column(key);
  double before = std::nan("");
  for (std::size_t i = 0; i < column.size(); ++i)
    if (run.steps[i] > 0 && run.steps[i] <= start) before = column[i];
  return before > 0 && after > 0 && run.steps.back() > start ? after / before : std::nan("");
}

inline void cooldown_findings(const report_study& study, std::vector<std::string>& out) {
  std::string each;
  for (const report_run& r : study.runs) {
    std::string factors;
    bool any = false;
    for (const std::string& q : study.quantizers) {
      const double growth = cooldown_growth(r, q + "_rel");
      any = any || std::isfinite(growth);
      (factors += factors.empty() ? " " : ", ") += shown(growth, 2);
    }
    if (r.ok() && any) (each += each.empty() ? "" : "; ") += r.label + factors;
  }
  if (each.empty()) return;
  std::string labels;
  for (const std::string& q : study.quantizers) (labels += labels.empty() ? "" : ", ") += bits_label(q);
  out.push_back("Over the cool-down the relative error (" + labels + ") was multiplied by: " + each + ".");
}

inline void outlier_findings(const report_study& study, std::vector<std::string>& out) {
  std::string each;
  for (const std::string& q : study.quantizers) {
    const metric_name* best = nullptr;
    association strongest;
    for (const metric_name& m : outlier_metrics) {
      const association a = associate(pooled(study, m.key), pooled(study, q + "_rel"));
      if (std::isfinite(a.spearman) && (!best || std::abs(a.spearman) > std::abs(strongest.spearman)))
        best = &m, strongest = a;
    }
    if (best)
      (each += each.empty() ? "" : "; ") += bits_label(q) + ": " + best->label + " (Spearman " +
                                            shown(strongest.spearman, 2) +
                                            ", n = " + std::to_string(strongest.n) + ")";
  }
  if (!each.empty())
    out.push_back("The outlier metric that orders the relative error of all points best is, at " + each +
                  ".");
}

}  // namespace detail

/// Sentences (plain text, to be escaped) computed from the records; empty when there is nothing to say.
inline std::vector<std::string> findings(const report_study& study) {
  std::vector<std::string> out;
  detail::training_findings(study, out);
  detail::damage_findings(study, out);
  detail::cooldown_findings(study, out);
  detail::outlier_findings(study, out);
  for (const report_run& r : study.runs)
    if (r.status == "diverged")
      out.push_back(r.label + " diverged" + (r.reason.empty() ? "" : ": " + r.reason) +
                    ". Its points up to there are shown.");
    else if (!r.ok())
      out.push_back(r.label + " has not finished: its last point is at step " +
                    (r.steps.empty() ? "0" : shown(r.steps.back(), 6)) + ".");
  return out;
}

}  // namespace quench::inline QUENCH_ISA::study
