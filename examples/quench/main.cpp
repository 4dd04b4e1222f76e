// quench: quantization and training dynamics from the command line. One file a subcommand; this one parses
// and reports.
#include "command.hpp"

#include <quench/core/error.hpp>
#include <quench/io/error.hpp>
#include <quench/version.hpp>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <new>

namespace cli {
namespace {
std::atomic<int> arrived{0};
extern "C" void on_signal(int signal) {
  arrived = signal;
  std::signal(signal, SIG_DFL);
}
}  // namespace

void watch_signals() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}
int stop_signal() { return arrived; }

void add_outputs(CLI::App& command, outputs& out) {
  command.add_option("--json", out.json, "Write the table as JSON to this file (- for stdout)")
      ->type_name("FILE");
  command.add_option("--csv", out.csv, "Write the table as CSV to this file (- for stdout)")
      ->type_name("FILE");
}

std::vector<std::string> split_list(const std::string& text, const std::string& option) {
  std::vector<std::string> out;
  for (std::size_t from = 0; from <= text.size();) {
    const auto comma = std::min(text.find(',', from), text.size());
    out.push_back(text.substr(from, comma - from));
    if (out.back().empty()) throw usage_error(option + ": '" + text + "' has an empty entry");
    from = comma + 1;
  }
  return out;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& n : names) (out += out.empty() ? "" : ", ") += n;
  return out;
}

}  // namespace cli

int main(int argc, char** argv) {
#ifdef SIGXFSZ
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is then a write error with a message
#endif
  std::signal(SIGPIPE, SIG_DFL);
  CLI::App app{"Quantization and training dynamics of neural networks", "quench"};
  const std::string version = std::to_string(QUENCH_VERSION_MAJOR) + '.' +
                              std::to_string(QUENCH_VERSION_MINOR) + '.' +
                              std::to_string(QUENCH_VERSION_PATCH);
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);

  int code = cli::done;
  cli::add_study(app, code);
  cli::add_eval(app, code);
  cli::add_generate(app, code);
  cli::add_stats(app, code);
  cli::add_formats(app, code);
  cli::add_report(app, code);
  app.failure_message([](const CLI::App*, const CLI::Error& e) {
    return std::string("quench: ") + e.what() + "\nRun 'quench --help' or 'quench SUBCOMMAND --help'.\n";
  });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? cli::done : cli::usage;
  } catch (const cli::usage_error& e) {
    std::fprintf(stderr, "quench: %s\n", e.what());
    return cli::usage;
  } catch (const quench::io_error& e) {
    std::fprintf(stderr, "quench: %s\n", e.what());
    return cli::failed;
  } catch (const quench::error&
               e) {  // a precondition the command line did not check itself: the caller's values are wrong
    std::fprintf(stderr, "quench: %s\n", e.what());
    return cli::usage;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "quench: out of memory\n");
    return cli::failed;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "quench: %s\n", e.what());
    return cli::failed;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::fprintf(stderr, "quench: cannot write to stdout\n");
    return cli::failed;
  }
  return code;
}
