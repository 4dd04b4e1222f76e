#pragma once
/// \file  Who runs the loops. Quench never starts a thread unless handed an executor; results do not depend on which.
/// Bring your own pool in one line:
///
///     options.run = quench::executor([&](index n, auto body) { pool.parallel_for(0, n, body); });
#include <quench/core/matrix.hpp>

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace quench::inline QUENCH_ISA {

/// A reference to something callable with an index; two pointers, never allocates. Valid while the callable lives.
class body_ref {
 public:
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, body_ref> && std::invocable<F&, index>)
  body_ref(F&& f) noexcept  // NOLINT(google-explicit-constructor)
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* o, index i) { (*static_cast<std::remove_reference_t<F>*>(o))(i); }) {}
  void operator()(index i) const { call_(object_, i); }

 private:
  void* object_;
  void (*call_)(void*, index);
};

/// Calls body(0) ... body(n - 1), in any order and on any thread, and returns when all are done. Empty means serial.
using executor = std::function<void(index n, body_ref body)>;

/// Runs body(0) ... body(n - 1) on `run`, or in this thread when `run` is empty or there is only one.
template <class Body>
void for_all(const executor& run, index n, Body&& body) {
  if (run && n > 1) run(n, body);
  else
    for (index i = 0; i < n; ++i) body(i);
}

/// A fixed team of threads that sleeps between calls; the caller works too. Work is handed out in contiguous chunks:
/// worker t of T runs [n t / T, n (t + 1) / T). Nested or concurrent calls run serially in the calling thread.
/// Exceptions thrown by a body reach the caller after all workers have stopped.
class thread_pool {
 public:
  explicit thread_pool(unsigned threads = std::thread::hardware_concurrency()) : count_(threads > 0 ? threads : 1) {
    for (unsigned t = 1; t < count_; ++t) team_.emplace_back([this, t] { work(t); });
  }
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;
  ~thread_pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (auto& t : team_) t.join();
  }

  unsigned size() const { return count_; }

  void operator()(index n, body_ref body) {
    const std::unique_lock turn(busy_, std::try_to_lock);
    if (!turn.owns_lock() || count_ == 1 || n <= 1) {
      for (index i = 0; i < n; ++i) body(i);
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      body_ = &body;
      n_ = n;
      left_ = count_ - 1;
      failure_ = nullptr;
      ++generation_;
    }
    wake_.notify_all();
    run_chunk(0, n, body);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return left_ == 0; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  /// A handle to give to options; the pool must outlive it.
  executor run() {
    return [this](index n, body_ref body) { (*this)(n, body); };
  }

 private:
  void run_chunk(unsigned t, index n, body_ref body) {
    const auto chunk = [&] {
      for (index i = n * index(t) / index(count_); i < n * index(t + 1) / index(count_); ++i) body(i);
    };
#if defined(__cpp_exceptions)
    try {
      chunk();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
#else
    chunk();
#endif
  }
  void work(unsigned t) {
    for (std::uint64_t seen = 0;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
      const body_ref body = *body_;
      const index n = n_;
      lock.unlock();
      run_chunk(t, n, body);
      lock.lock();
      if (--left_ == 0) done_.notify_one();
    }
  }

  unsigned count_;
  std::vector<std::thread> team_;
  std::mutex busy_, mutex_;
  std::condition_variable wake_, done_;
  const body_ref* body_ = nullptr;
  index n_ = 0;
  unsigned left_ = 0;
  std::uint64_t generation_ = 0;
  bool stop_ = false;
  std::exception_ptr failure_;
};

/// Threads that are started and joined per call. For experiments; keep a thread_pool for anything that loops.
inline executor threads(unsigned count = std::thread::hardware_concurrency()) {
  return [count](index n, body_ref body) {
    thread_pool pool(count);
    pool(n, body);
  };
}

}  // namespace quench
