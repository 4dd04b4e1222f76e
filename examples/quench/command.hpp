#pragma once
/// \file  What the subcommands share: registration, exit codes, wrong usage, interruption.
#include "table.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <stdexcept>
#include <string>

namespace cli {

/// Exit codes: 0 done, 1 failed, 2 wrong usage, 130 and 143 stopped by SIGINT and SIGTERM.
enum exit_code { done = 0, failed = 1, usage = 2 };

/// Something the caller asked for does not exist or makes no sense: ends with exit code 2.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Each adds its subcommand (or several) to the program; the callback's work runs after parsing and sets
/// `code`.
void add_study(CLI::App& app, int& code);
void add_eval(CLI::App& app, int& code);
void add_generate(CLI::App& app, int& code);
void add_stats(CLI::App& app, int& code);
void add_formats(CLI::App& app, int& code);
void add_report(CLI::App& app, int& code);

/// Adds `--json FILE` and `--csv FILE`.
void add_outputs(CLI::App& command, outputs& out);

/// SIGINT and SIGTERM set a flag instead of ending the process; a second signal ends it at once.
void watch_signals();
/// The signal that arrived, or 0.
int stop_signal();

/// "a,b,c" -> {"a","b","c"}; empty pieces are refused. \throws usage_error naming `option`.
std::vector<std::string> split_list(const std::string& text, const std::string& option);
/// The names in one line, for messages: "a, b, c".
std::string joined(const std::vector<std::string>& names);

}  // namespace cli
