// Runs the benchmarks of one layer and prints one row each: kernel, size, ns per element, x_copy, peers. Flags are
// Google Benchmark's (--benchmark_filter, --benchmark_out); --no_header leaves out the two lines above the table.
#include <benchmark/benchmark.h>

#include <quench/core/config.hpp>

#include <cstdio>
#include <cstring>
#include <string>

namespace {

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
constexpr const char* instruction_set = TEXT(QUENCH_ISA);
#if defined(__clang__)
constexpr const char* compiler = "clang " __clang_version__;
#else
constexpr const char* compiler = "g++ " __VERSION__;
#endif

class table : public benchmark::BenchmarkReporter {
 public:
  explicit table(bool header) : header_(header) {}

  bool ReportContext(const Context&) override {
    if (header_) {
      std::printf("%s, %s; x_copy = time / memcpy of the same elements, vs_peer = time of peer / time\n", compiler,
                  instruction_set);
      std::printf("%-44s %6s %10s %8s  %s\n", "kernel", "size", "ns/element", "x_copy", "peers");
    }
    return true;
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& r : runs) print(r);
    std::fflush(stdout);
  }

 private:
  static void print(const Run& r) {
    std::string name = r.run_name.function_name;
    const auto slash = name.rfind('/');
    const std::string size = r.report_label.empty() || slash == name.npos ? r.report_label : name.substr(slash + 1);
    if (!r.report_label.empty() && slash != name.npos) name.resize(slash);
    if (r.error_occurred) {
      std::printf("%-44s error: %s\n", r.benchmark_name().c_str(), r.error_message.c_str());
      return;
    }
    if (r.report_label.empty()) name = r.benchmark_name();
    std::printf("%-44s %6s %10s %8s ", name.c_str(), size.c_str(), per_element(r).c_str(),
                number(r, "x_copy", "%.3f").c_str());
    for (const auto& [key, counter] : r.counters) {
      if (key.rfind("vs_", 0) == 0) std::printf(" %s %.2f", key.c_str() + 3, counter.value);
      else if (key == "instructions_per_element") std::printf(" instr/el %.3f", counter.value);
      else if (key != "x_copy" && key != "ns_per_element" && key != "bytes_per_second" && key != "items_per_second")
        std::printf(" %s=%.4g", key.c_str(), counter.value);
    }
    std::printf("\n");
  }
  /// From the counter, from items per second, or else the time of one call.
  static std::string per_element(const Run& r) {
    if (r.counters.count("ns_per_element") != 0) return number(r, "ns_per_element", "%.4f");
    char text[48];
    const auto items = r.counters.find("items_per_second");
    if (items != r.counters.end() && items->second.value > 0)
      std::snprintf(text, sizeof text, "%.4f", 1e9 / items->second.value);
    else
      std::snprintf(text, sizeof text, "%.4g %s", r.GetAdjustedRealTime(), benchmark::GetTimeUnitString(r.time_unit));
    return text;
  }
  static std::string number(const Run& r, const char* key, const char* pattern) {
    const auto at = r.counters.find(key);
    if (at == r.counters.end()) return "-";
    char text[48];
    std::snprintf(text, sizeof text, pattern, at->second.value);
    return text;
  }

  bool header_;
};

}  // namespace

int main(int argc, char** argv) {
  bool header = true;
  int kept = 1;
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--no_header") == 0) header = false;
    else argv[kept++] = argv[i];
  argc = kept;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("compiler", compiler);
  benchmark::AddCustomContext("instruction_set", instruction_set);
  table reporter(header);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
}
