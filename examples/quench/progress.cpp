#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace cli {
namespace {

std::string clock_text(double seconds) {
  const auto s = std::int64_t(seconds + 0.5);
  std::array<char, 32> b{};
  if (s >= 3600)
    std::snprintf(b.data(), b.size(), "%lld:%02lld:%02lld", static_cast<long long>(s / 3600),
                  static_cast<long long>(s / 60 % 60), static_cast<long long>(s % 60));
  else
    std::snprintf(b.data(), b.size(), "%lld:%02lld", static_cast<long long>(s / 60),
                  static_cast<long long>(s % 60));
  return b.data();
}

bool is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && !(term && std::string(term) == "dumb");
}

}  // namespace

progress::progress(std::string label, std::int64_t total, std::string unit, std::int64_t already_done)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      total_(std::max<std::int64_t>(total, 1)),
      first_(already_done),
      start_(clock::now()),
      last_(start_),
      terminal_(is_terminal()) {
  if (terminal_) draw(first_, "");
}

progress::~progress() {
  if (drawn_ && terminal_) std::fputc('\n', stderr);
}

void progress::update(std::int64_t done, const std::string& note) {
  const auto now = clock::now();
  const double since = std::chrono::duration<double>(now - last_).count();
  if (done < total_ && since < (terminal_ ? 0.1 : 5.0)) return;
  last_ = now;
  draw(done, note);
}

void progress::draw(std::int64_t done, const std::string& note) {
  const double seconds = std::chrono::duration<double>(clock::now() - start_).count();
  const double rate = seconds > 0 ? double(done - first_) / seconds : 0;
  const int percent = int(100 * done / total_);
  std::string line = label_ + "  ";
  if (terminal_) {
    constexpr int cells = 24;
    const int full = int(cells * done / total_);
    line += '[' + std::string(std::size_t(full), '#') + std::string(std::size_t(cells - full), '.') + "] ";
  }
  std::array<char, 96> b{};
  std::snprintf(b.data(), b.size(), "%3d%%  %lld/%lld %s", percent, static_cast<long long>(done),
                static_cast<long long>(total_), unit_.c_str());
  line += b.data();
  if (rate > 0) {
    std::snprintf(b.data(), b.size(), "  %.*f/s  %s left", rate < 10 ? 2 : 0, rate,
                  clock_text(double(total_ - done) / rate).c_str());
    line += b.data();
  }
  if (!note.empty()) line += "  " + note;
  if (terminal_)
    std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
  else
    std::fprintf(stderr, "%s\n", line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace cli
