#pragma once
/// \file  Progress of long work on stderr: a bar with rate and time left on a terminal, a plain line now and
/// then elsewhere.
#include <chrono>
#include <cstdint>
#include <string>

namespace cli {

class progress {
 public:
  /// `unit` names what is counted, for example "steps". Counts resumed from disk do not enter the rate.
  progress(std::string label, std::int64_t total, std::string unit, std::int64_t already_done = 0);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress();  ///< ends the line of the bar

  /// `done` counted from 0 to total; `note` is shown at the end, for example the loss. Cheap: draws at most
  /// 10 times a second.
  void update(std::int64_t done, const std::string& note = {});

 private:
  using clock = std::chrono::steady_clock;
  void draw(std::int64_t done, const std::string& note);

  std::string label_, unit_;
  std::int64_t total_, first_;
  clock::time_point start_, last_;
  bool terminal_, drawn_ = false;
};

}  // namespace cli
