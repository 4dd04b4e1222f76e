#include <quench/study/report.hpp>

#include <cstdlib>
#include <filesystem>

#include "catch.hpp"

using namespace quench;
using namespace quench::study;

namespace {

using io::json;

/// Four made-up runs: one better than the other, one that diverges, one that has not finished; error grows in
/// the cool-down.
std::vector<json> made_up() {
  std::vector<json> out;
  const char* names[] = {"sgd", "adamw", "lion", "muon"};
  for (int k = 0; k < 4; ++k) {
    const std::string id = std::string(names[k]) + "-0123456789abcdef";
    out.push_back({{"kind", "run"},
                   {"schema", 1},
                   {"run", id},
                   {"label", names[k]},
                   {"optimizer", names[k]},
                   {"lr", 0.1 / (k + 1)},
                   {"settings", {{"weight_decay", 0.1}}},
                   {"schedule", {{"name", "wsd"}, {"warmup", 50}, {"stable", 750}, {"decay", 200}}},
                   {"steps", 1000},
                   {"seed", 1},
                   {"quantizers", {"w4", "w3", "w4a4"}}});
    for (int i = 0; i <= (k == 2 ? 15 : k == 0 ? 18 : 20); ++i) {
      const double t = i / 20.0, down = std::max(0.0, t - 0.8) * 5,
                   v = k == 2 && i == 15 ? std::nan("") : 5 * std::exp(-2 * t) + 1.5 - 0.1 * k;
      const double mmr = 3 + k * t + 2 * down + 0.2 * std::sin(i + k),
                   w4 = i == 2 ? -0.01 : 0.003 * mmr * (1 + down);
      json p = {{"kind", "point"},
                {"run", id},
                {"step", 50 * i},
                {"tokens", 51200 * i},
                {"lr", i == 0 ? 0 : 0.1 / (k + 1) * (1 - down)},
                {"val_loss", v}};
      for (const auto& [q, factor] : {std::pair("w4", 1.0), std::pair("w3", 7.0), std::pair("w4a4", 2.0)}) {
        p[std::string(q) + "_loss"] = v * (1 + factor * w4);
        p[std::string(q) + "_abs"] = v * factor * w4;
        p[std::string(q) + "_rel"] = factor * w4;
      }
      p["mmr"] = mmr, p["mmr_mean"] = 0.6 * mmr, p["kurtosis"] = mmr * mmr, p["kurtosis_features"] = 9 - mmr,
      p["kurtosis_rms"] = 1.5;
      out.push_back(json::parse(io::to_line(p)));
    }
    if (k != 0)
      out.push_back({{"kind", "end"},
                     {"run", id},
                     {"status", k == 2 ? "diverged" : "ok"},
                     {"reason", k == 2 ? "the loss is NaN at step 701" : ""}});
  }
  return out;
}

struct asset_texts {
  std::string folder = QUENCH_SOURCE_DIR "/examples/quench/assets/";
  std::string chart_script = io::read_file(folder + "uplot/uPlot.iife.min.js"),
              chart_style = io::read_file(folder + "uplot/uPlot.min.css"),
              script = io::read_file(folder + "report.js"), style = io::read_file(folder + "report.css");
  report_assets views() const { return {chart_script, chart_style, script, style}; }
};

bool holds(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("records become one table a run; gaps are NaN, infinities stay, order does not matter") {
  const std::vector<json> records = {
      {{"kind", "session"}, {"run", "a"}},
      {{"kind", "point"}, {"run", "nobody"}, {"step", 1}},
      {{"kind", "run"}, {"run", "a"}, {"label", "muon"}, {"lr", 0.5}, {"quantizers", {"w4", "w4", 7}}},
      {{"kind", "point"}, {"run", "a"}, {"step", 20}, {"val_loss", "NaN"}, {"extra", 4}},
      {{"kind", "point"},
       {"run", "a"},
       {"step", 10},
       {"val_loss", 2.5},
       {"mmr", "Infinity"},
       {"odd", {1, 2}}},
      {{"kind", "point"}, {"run", "a"}, {"step", "soon"}},
      {{"kind", "run"}, {"run", "b"}, {"label", "muon"}, {"lr", 0.25}},
      {{"kind", "end"}, {"run", "b"}, {"status", "ok"}},
      json::array({1, 2}),
  };
  const report_study s = arrange(records);
  REQUIRE(s.runs.size() == 2);
  CHECK(s.quantizers == std::vector<std::string>{"w4"});
  CHECK(s.runs[0].label == "muon lr 0.5");
  CHECK(s.runs[1].label == "muon lr 0.25");
  CHECK(s.runs[0].status == "unfinished");
  CHECK(s.runs[1].ok());
  CHECK(s.runs[0].steps == std::vector<double>{10, 20});
  CHECK(s.runs[0].column("val_loss")[0] == 2.5);
  CHECK(std::isnan(s.runs[0].last("val_loss")));
  CHECK(s.runs[0].last("extra") == 4);
  CHECK(std::isnan(s.runs[0].column("extra")[0]));
  CHECK(std::isinf(s.runs[0].column("mmr")[0]));
  CHECK(std::isnan(s.runs[0].column("none")[1]));
  CHECK(std::isnan(s.runs[1].last("val_loss")));
}

TEST_CASE("association: by hand, ties, and when there is nothing to tell") {
  const double x[] = {1, 2, 3, 4, 5}, y[] = {2, 1, 4, 3, 5};
  const association a = associate(x, y);
  CHECK(a.pearson == Approx(0.8));
  CHECK(a.spearman == Approx(0.8));
  CHECK(a.n == 5);
  const double grown[] = {1, 10, 100, 1000, 10000};  // monotone, not straight
  CHECK(associate(x, grown).spearman == Approx(1));
  CHECK(associate(x, grown).pearson < 0.8);
  const double ties[] = {1, 1, 2, 2, 2};  // ranks 1.5 1.5 4 4 4 against 1..5: 7.5 / sqrt(10 * 7.5)
  CHECK(associate(x, ties).spearman == Approx(7.5 / std::sqrt(75.0)));
  const double holes[] = {1, std::nan(""), std::numeric_limits<double>::infinity(), 4, 5};
  CHECK(associate(x, holes).n == 3);
  const double flat[] = {7, 7, 7, 7, 7};
  CHECK(std::isnan(associate(x, flat).pearson));
  CHECK(std::isnan(associate(std::span(x, 2), std::span(y, 2)).spearman));
}

TEST_CASE("numbers are shown with the digits asked for") {
  CHECK(shown(1.23456, 4) == "1.235");
  CHECK(shown(0.0123456) == "0.0123");
  CHECK(shown(12345.6) == "12346");
  CHECK(shown(0) == "0.00");
  CHECK(shown(1.5e-7) == "1.50e-07");
  CHECK(shown(std::nan("")) == "n/a");
  CHECK(shown(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(percent(0.0382) == "+3.82 %");
  CHECK(percent(-0.01) == "-1.00 %");
  CHECK(percent(0.000981) == "+0.098 %");
  CHECK(trimmed(0.005) == "0.005");
  CHECK(trimmed(60) == "60");
  CHECK(trimmed(1.5e-7) == "1.50000e-07");
  CHECK(bits_label("w4a4") == "W4A4");
  CHECK(bits_label("nf4") == "nf4");
}

TEST_CASE("findings state what the numbers say") {
  const auto all = findings(arrange(made_up()));
  std::string text;
  for (const auto& sentence : all) text += sentence + "\n";
  INFO(text);
  CHECK(holds(text, "muon ends lowest, at 1.877 nats per token, before adamw at 2.077"));
  CHECK(holds(text, "W4 costs adamw least"));
  CHECK(holds(text, "Over the cool-down the relative error (W4, W3, W4A4) was multiplied by: adamw"));
  CHECK(holds(text, "lion diverged: the loss is NaN at step 701"));
  CHECK(holds(text, "sgd has not finished: its last point is at step 900"));
  CHECK(findings({}).empty());
}

TEST_CASE("the page: one file, nothing loaded, nothing believed") {
  std::vector<json> records = made_up();
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&";
  records[0]["label"] = evil;
  records[0]["model"] = {{"architecture", evil}, {evil, "x"}};
  records[0]["quantizers"].push_back(evil);
  records.back()["reason"] = evil;
  records.back()["status"] = evil;
  const report_assets none{};
  const std::string page = report_html(records, none, evil);
  CHECK_FALSE(holds(page, "<script>alert"));
  CHECK_FALSE(holds(page, "<img"));
  CHECK(holds(page, "&lt;/script&gt;&lt;script&gt;alert(1)"));
  CHECK(holds(page, "\\u003c/script\\u003e"));
  CHECK(holds(page, "default-src 'none'"));
  CHECK(holds(page, "diverged"));
  const std::string whole = report_html(made_up(), asset_texts().views());
  for (const char* outside : {"src=\"http", "href=\"http", "url(http", "@import", "<link", "<img", "fetch("})
    CHECK_FALSE(holds(whole, outside));
  CHECK_FALSE(holds(whole.substr(whole.find("id=\"data\"")), "NaN,"));
  CHECK(report_html({}, none).ends_with("</html>\n"));
}

// The page tests/study/report_browser.sh looks at, with a probe behind the charts' own script.
TEST_CASE("the page for the browser test is written where QUENCH_REPORT_PAGE says") {
  const char* where = std::getenv("QUENCH_REPORT_PAGE");
  if (!where) return;
  const asset_texts texts;
  report_assets assets = texts.views();
  const std::string script = texts.script + io::read_file(QUENCH_SOURCE_DIR "/tests/study/report_probe.js");
  assets.script = script;
  write_report(where, made_up(), assets, "Made-up study");
}
