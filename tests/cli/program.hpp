#pragma once
/// \file  Runs the command-line program as its users do: a process, its exit code, its two outputs, signals,
/// limits.
#include <quench/io/atomic_file.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace fs = std::filesystem;

/// A folder of its own, removed at the end.
struct scratch {
  fs::path path;
  scratch() {
    static int serial = 0;
    path = fs::temp_directory_path() /
           ("quench-cli-" + std::to_string(::getpid()) + "-" + std::to_string(serial++));
    fs::remove_all(path);
    fs::create_directories(path);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() { fs::remove_all(path); }
  fs::path operator/(const std::string& name) const { return path / name; }
};

struct result {
  int code = 0;  ///< exit code; 1000 + signal when a signal ended it
  std::string out, err;
};

/// A started program. Its outputs go to files, so that it never waits for us.
class process {
 public:
  explicit process(std::vector<std::string> args, rlim_t file_size_limit = RLIM_INFINITY,
                   const char* stdout_to = nullptr) {
    static int serial = 0;
    base_ = (fs::temp_directory_path() /
             ("quench-cli-out-" + std::to_string(::getpid()) + "-" + std::to_string(serial++)))
                .string();
    args.insert(args.begin(), QUENCH_PROGRAM);
    const std::string out = stdout_to ? stdout_to : base_ + ".out", err = base_ + ".err";
    std::vector<char*> argv;
    for (auto& a : args) argv.push_back(a.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int o = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644),
                e = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      ::dup2(o, 1), ::dup2(e, 2);
      const rlimit limit{file_size_limit, file_size_limit};
      if (file_size_limit != RLIM_INFINITY) ::setrlimit(RLIMIT_FSIZE, &limit);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
  }
  process(const process&) = delete;
  process& operator=(const process&) = delete;
  ~process() {
    if (pid_ > 0) send(SIGKILL), wait();
    for (const char* end : {".out", ".err"}) fs::remove(base_ + end);
  }

  void send(int signal) const { ::kill(pid_, signal); }
  result wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    const auto text = [](const std::string& file) {
      return fs::exists(file) ? quench::io::read_file(file) : std::string();
    };
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), text(base_ + ".out"),
            text(base_ + ".err")};
  }

 private:
  pid_t pid_ = -1;
  std::string base_;
};

inline result quench_run(const std::vector<std::string>& args) { return process(args).wait(); }

/// Waits until `ready()`; false after 60 seconds.
template <class Ready>
bool wait_until(Ready ready) {
  for (int i = 0; i < 6000; ++i) {
    if (ready()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}
