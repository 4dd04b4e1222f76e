#pragma once
/// \file  Memory for benchmarks: 2 MiB aligned, on huge pages where the kernel grants them, touched before it is timed.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#else
#include <new>
#endif

namespace bench {

/// `n` values of T, zero to begin with. `data()` is null when memory is short.
template <class T>
class buffer {
 public:
  buffer() = default;
  explicit buffer(std::size_t n) : size_(n), bytes_(round_up(n * sizeof(T)) + page) {
#if defined(__linux__)
    base_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) base_ = nullptr;
#else
    base_ = ::operator new(bytes_, std::nothrow);
#endif
    if (base_ == nullptr) return;
    data_ = reinterpret_cast<T*>(round_up(reinterpret_cast<std::uintptr_t>(base_)));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    madvise(static_cast<void*>(data_), round_up(n * sizeof(T)), MADV_HUGEPAGE);
#endif
    std::memset(static_cast<void*>(data_), 0, n * sizeof(T));
  }
  buffer(buffer&& o) noexcept { swap(o); }
  buffer& operator=(buffer&& o) noexcept {
    swap(o);
    return *this;
  }
  ~buffer() {
    if (base_ == nullptr) return;
#if defined(__linux__)
    munmap(base_, bytes_);
#else
    ::operator delete(base_);
#endif
  }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  static constexpr std::size_t page = std::size_t(2) << 20;
  static constexpr std::size_t round_up(std::size_t x) { return (x + page - 1) / page * page; }
  void swap(buffer& o) noexcept {
    std::swap(base_, o.base_), std::swap(data_, o.data_), std::swap(size_, o.size_), std::swap(bytes_, o.bytes_);
  }

  void* base_ = nullptr;
  T* data_ = nullptr;
  std::size_t size_ = 0, bytes_ = 0;
};

}  // namespace bench
