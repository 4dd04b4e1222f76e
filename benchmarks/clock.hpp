#pragma once
/// \file  What a benchmark counts: seconds of this thread, or instructions; and how to keep results from vanishing.
#include <chrono>
#include <type_traits>

#if defined(__linux__)
#include <ctime>
#endif
#if defined(__linux__) && defined(__x86_64__)
#include <csignal>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace bench {

/// Makes the compiler believe that `value` and all memory are read here.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

/// Seconds. `thread`: processor time of this thread, which other programs do not lengthen; `wall`: for kernels that
/// use several threads.
enum class clock_kind { thread, wall };
inline double now(clock_kind kind) {
#if defined(__linux__)
  if (kind == clock_kind::thread) {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
  }
#endif
  static_cast<void>(kind);
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Instructions of one call of f: a child process runs it once warm and once stepped by its parent. The same number on
/// every run, where hardware counters are missing too; about 50 us an instruction. -1 where it cannot be done.
template <class F>
long count_instructions(F& f) {
#if defined(__linux__) && defined(__x86_64__)
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    f();
    raise(SIGSTOP);
    f();
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  long steps = 0;
  waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return -1;
  for (;; ++steps) {
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) return -1;
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) return -1;
    if (WSTOPSIG(status) == SIGSTOP) break;
  }
  ptrace(PTRACE_CONT, child, nullptr, nullptr);
  waitpid(child, &status, 0);
  return steps;
#else
  static_cast<void>(f);
  return -1;
#endif
}

}  // namespace bench
