#pragma once
/// \file  Reading files as memory: a whole file mapped read-only, released with its owner (POSIX mmap).
#include <quench/io/error.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace quench::inline QUENCH_ISA::io {

/// An open file descriptor, closed with its owner. Move-only.
class file_handle {
 public:
  file_handle() = default;
  explicit file_handle(int fd) : fd_(fd) {}
  file_handle(file_handle&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  file_handle& operator=(file_handle&& o) noexcept {
    if (this != &o) close(), fd_ = std::exchange(o.fd_, -1);
    return *this;
  }
  ~file_handle() { close(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

/// A regular file, mapped read-only. Pages are read on first touch, so a file larger than memory can be
/// opened; `release` gives a range's pages back, which keeps a scan's resident size at one tensor. Move-only;
/// spans into it stay valid when it is moved and die with it. Another process that truncates the file
/// meanwhile makes reads fault (SIGBUS): Quench's own writers replace files by renaming and never do.
/// \throws io_error when the file is missing, unreadable, or not a regular file.
class mapped_file {
 public:
  mapped_file() = default;
  explicit mapped_file(path file) : path_(std::move(file)) {
    const file_handle fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    require(bool(fd), path_, 0, "cannot open for reading: {}", system_message(errno));
    struct stat facts = {};
    require(::fstat(fd.get(), &facts) == 0, path_, 0, "cannot be examined: {}", system_message(errno));
    require(S_ISREG(facts.st_mode), path_, 0, "is not a regular file");
    size_ = static_cast<std::size_t>(facts.st_size);
    if (size_ == 0) return;
    void* at = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    require(at != MAP_FAILED, path_, 0, "cannot be mapped: {}", system_message(errno));
    data_ = static_cast<const std::byte*>(at);
  }
  mapped_file(mapped_file&& o) noexcept
      : path_(std::move(o.path_)), data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  mapped_file& operator=(mapped_file&& o) noexcept {
    if (this != &o) {
      unmap();
      path_ = std::move(o.path_);
      data_ = std::exchange(o.data_, nullptr);
      size_ = std::exchange(o.size_, 0);
    }
    return *this;
  }
  ~mapped_file() { unmap(); }

  const path& file() const { return path_; }
  std::size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// The bytes [offset, offset + count). \throws io_error when the file is shorter.
  std::span<const std::byte> bytes(std::uint64_t offset, std::uint64_t count) const {
    require(offset <= size_ && count <= size_ - offset, path_, offset,
            "ends too early: {} bytes wanted here, {} left", count, offset <= size_ ? size_ - offset : 0);
    return bytes().subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(count));
  }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

  /// Gives the whole pages inside [offset, offset + count) back to the system. They are read again when
  /// touched.
  void release(std::uint64_t offset, std::uint64_t count) const {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t from = (offset + page - 1) / page * page, to = (offset + count) / page * page;
    if (data_ && from < to && to <= size_)
      ::madvise(const_cast<std::byte*>(data_) + from, static_cast<std::size_t>(to - from), MADV_DONTNEED);
  }

 private:
  void unmap() noexcept {
    if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
  }

  path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace quench::inline QUENCH_ISA::io
