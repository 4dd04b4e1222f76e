#pragma once
/// \file  report.html: a study in one offline file, summary first, then the figures, then the table.
/// Charts are drawn by uPlot (L. Sorokin, MIT), whose text the caller hands in: the library ships none of it.
#include <quench/io/atomic_file.hpp>
#include <quench/study/report_findings.hpp>

namespace quench::inline QUENCH_ISA::study {

/// The texts that go into the file. examples/quench embeds its own from examples/quench/assets.
struct report_assets {
  std::string_view chart_script, chart_style;  ///< uPlot.iife.min.js, uPlot.min.css
  std::string_view script, style;              ///< report.js, report.css
};

namespace detail {

/// Text for element content and for attributes in double quotes.
inline std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  return out;
}

/// JSON that may stand inside a script element: no '<', '>' or '&' survives, and values that are not finite
/// are null.
inline std::string script_json(const io::json& value) {
  const std::string text = value.dump(-1, ' ', true, io::json::error_handler_t::replace);
  std::string out;
  for (const char c : text)
    if (c == '<' || c == '>' || c == '&')
      out += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
    else
      out += c;
  return out;
}

/// What report.js draws from.
inline io::json chart_data(const report_study& study) {
  io::json runs = io::json::array();
  for (const report_run& r : study.runs) {
    io::json columns = io::json::object();
    for (const auto& [key, column] : r.values) columns[key] = column;
    runs.push_back({{"id", r.id},
                    {"label", r.label},
                    {"optimizer", r.optimizer},
                    {"status", r.status},
                    {"cooldown", cooldown_start(r)},
                    {"steps", r.steps},
                    {"values", std::move(columns)}});
  }
  io::json metrics = io::json::array();
  for (const metric_name& m : outlier_metrics) metrics.push_back({{"key", m.key}, {"label", m.label}});
  return {{"runs", runs}, {"quantizers", study.quantizers}, {"metrics", metrics}};
}

/// A cell that sorts by its value: runs without one go last.
inline std::string cell(double value, const std::string& text) {
  return "<td class=\"n\" data-v=\"" + (std::isfinite(value) ? shown(value, 9) : "") + "\">" + escaped(text) +
         "</td>";
}

inline std::string result_table(const report_study& study) {
  std::string out =
      "<div class=\"scroll\"><table class=\"sortable\" id=\"results\"><caption>Every run at its last point. "
      "Click a heading to sort.</caption><thead><tr>";
  const auto head = [&](const std::string& text, const char* title = "") {
    out += "<th scope=\"col\" title=\"" + escaped(title) + "\"><button type=\"button\">" + escaped(text) +
           "</button></th>";
  };
  head("run"), head("status"), head("learning rate", "peak"), head("steps"),
      head("val loss", "nats per token, full precision");
  for (const auto& q : study.quantizers)
    head(bits_label(q) + " loss", "validation loss, quantized"),
        head(bits_label(q) + " error", "quantized loss over full loss, minus 1");
  for (const auto& m : outlier_metrics) head(m.label, "mean over the inputs of all linear layers");
  out += "</tr></thead><tbody>";
  for (const report_run& r : study.runs) {
    out += "<tr class=\"" + std::string(r.ok() ? "ok" : "bad") + "\"><th scope=\"row\" data-run=\"" +
           escaped(r.id) + "\">" + escaped(r.label) + "</th><td class=\"status\">" + escaped(r.status) +
           "</td>";
    const double lr = number_at(r.facts, "lr"), steps = r.steps.empty() ? std::nan("") : r.steps.back();
    out += cell(lr, trimmed(lr)) + cell(steps, shown(steps, 1)) +
           cell(r.last("val_loss"), shown(r.last("val_loss"), 4));
    for (const auto& q : study.quantizers)
      out += cell(r.last(q + "_loss"), shown(r.last(q + "_loss"), 4)) +
             cell(r.last(q + "_rel"), percent(r.last(q + "_rel")));
    for (const auto& m : outlier_metrics) out += cell(r.last(m.key), shown(r.last(m.key)));
    out += "</tr>";
  }
  return out + "</tbody></table></div>";
}

inline std::string association_table(const report_study& study) {
  std::string out =
      "<div class=\"scroll\"><table id=\"associations\"><caption>Spearman / Pearson between each outlier "
      "metric and the relative "
      "error, over all points after step 0 of all runs (n in brackets). Points of one run are not "
      "independent, so "
      "no p-values are given.</caption><thead><tr><th scope=\"col\">metric</th>";
  for (const auto& q : study.quantizers) out += "<th scope=\"col\">" + escaped(bits_label(q)) + "</th>";
  out += "</tr></thead><tbody>";
  for (const auto& m : outlier_metrics) {
    out += std::string("<tr><th scope=\"row\">") + m.label + "</th>";
    for (const auto& q : study.quantizers) {
      const association a = associate(pooled(study, m.key), pooled(study, q + "_rel"));
      out += "<td class=\"n\" data-r=\"" + (std::isfinite(a.spearman) ? shown(a.spearman) : "") + "\">" +
             shown(a.spearman, 2) + " / " + shown(a.pearson, 2) + " <small>(" + std::to_string(a.n) +
             ")</small></td>";
    }
    out += "</tr>";
  }
  return out + "</tbody></table></div>";
}

/// A value of a record as text; lists with blanks between, objects in JSON.
inline std::string plain(const io::json& value) {
  if (const auto* s = value.get_ptr<const std::string*>()) return *s;
  if (value.is_array()) {
    std::string out;
    for (const io::json& v : value) (out += out.empty() ? "" : " ") += plain(v);
    return out;
  }
  if (value.is_number_float()) return trimmed(value.get<double>());
  return io::to_line(value);
}
/// "key value, key value, ..." of an object.
inline std::string listed(const io::json& object) {
  std::string out;
  for (const auto& [key, value] : object.items())
    ((out += out.empty() ? "" : ", ") += key + " ") += plain(value);
  return out;
}

/// What was run: facts that all runs share, each once; then each run's own settings.
inline std::string facts(const report_study& study) {
  std::string out = "<dl class=\"facts\">";
  const auto row = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) out += "<dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "</dd>";
  };
  std::string labels;
  for (const auto& r : study.runs) (labels += labels.empty() ? "" : ", ") += r.label;
  row("runs", labels);
  for (const char* key : {"model", "data", "schedule", "steps", "tokens", "sequences", "length", "clip",
                          "seed", "eval", "build"}) {
    std::string text;
    bool same = true;
    for (const auto& r : study.runs) {
      const auto it = r.facts.find(key);
      const std::string mine = it == r.facts.end() ? "" : it->is_object() ? listed(*it) : plain(*it);
      same = same && (&r == &study.runs.front() || mine == text);
      text = mine;
    }
    row(key, same ? text : "differs between the runs");
  }
  out += "</dl><details><summary>Settings of each run</summary><dl class=\"facts\">";
  for (const auto& r : study.runs)
    row(r.label, "lr " + trimmed(number_at(r.facts, "lr")) + ", " + listed(object_at(r.facts, "settings")));
  return out + "</dl></details>";
}

/// What a figure shows, in words, for those who cannot see it.
inline std::string described(const report_study& study, const std::string& key) {
  std::string out;
  for (const auto& r : study.runs)
    (out += out.empty() ? "Last values: " : ", ") +=
        r.label + " " + shown(r.last(key)) + (r.ok() ? "" : " (" + r.status + ")");
  return out;
}

inline std::string figure(const std::string& id, const std::string& title, const std::string& caption,
                          const std::string& alt) {
  return "<figure id=\"" + escaped(id) + "\"><h3>" + escaped(title) +
         "</h3><div class=\"controls\"></div><div class=\"chart\" role=\"img\" aria-label=\"" +
         escaped(title + ". " + alt) + "\"></div><figcaption>" + escaped(caption) +
         "</figcaption></figure>\n";
}

}  // namespace detail

/// The whole page. Records are those of docs/studies.md; text in them is escaped, numbers that are not finite
/// are gaps. The page loads nothing (its content security policy forbids it) and reads without scripts,
/// charts aside.
inline std::string report_html(std::span<const io::json> records, const report_assets& assets,
                               std::string_view title = "Quench study") {
  using namespace detail;
  const report_study study = arrange(records);
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\"><title>" +
      escaped(title) + "</title>\n<style>";
  ((out += assets.chart_style) += "\n") += assets.style;
  out += "</style></head>\n<body><main><header><h1>" + escaped(title) +
         "</h1></header>\n<section><h2>Summary</h2><ul class=\"findings\">";
  for (const std::string& sentence : findings(study)) out += "<li>" + escaped(sentence) + "</li>";
  out += "</ul>" + result_table(study) + "</section>\n<section><h2>What was run</h2>" + facts(study) +
         "</section>\n";
  out +=
      "<section><h2>Figures</h2><noscript><p>The charts need JavaScript; the tables do "
      "not.</p></noscript><div id=\"legend\"></div>\n";
  out += figure("loss", "Loss and learning rate",
                "Validation loss in full precision (left axis, lower is better) and the learning rate as a "
                "fraction of its peak (right axis, dotted). The shaded part is the cool-down.",
                described(study, "val_loss"));
  out += "<div class=\"pair\">";
  for (const std::string& q : study.quantizers)
    out += figure(
        "q-" + q, "Quantization error, " + bits_label(q),
        "Validation loss of the quantized model against the full one, along training. Values at or below "
        "zero (quantization helped) have no place on a log axis and are gaps; the buttons change measure and "
        "axis.",
        described(study, q + "_rel"));
  out += figure("metric", "Outliers in the inputs of the linear layers",
                "Mean over all linear layers of the metric chosen, along training. Infinite values (a median "
                "of zero) are gaps.",
                described(study, "mmr"));
  out += figure("scatter", "Outliers against damage",
                "One dot a point of a run (small to large along training, the ringed one is the last), step "
                "0 left out. "
                "Coefficients are over the dots of the runs shown.",
                "The coefficients are in the table below.");
  out +=
      "</div>" + association_table(study) +
      "</section>\n<footer>Made by Quench. Charts: uPlot (MIT). This file loads nothing.</footer></main>\n";
  out += "<script type=\"application/json\" id=\"data\">" + script_json(chart_data(study)) +
         "</script>\n<script>";
  ((out += assets.chart_script) += "\n") += assets.script;
  return out += "</script></body></html>\n";
}

/// Writes the page, whole or not at all. \throws io_error
inline void write_report(const io::path& file, std::span<const io::json> records, const report_assets& assets,
                         std::string_view title = "Quench study") {
  io::write_file(file, report_html(records, assets, title));
}

}  // namespace quench::inline QUENCH_ISA::study
