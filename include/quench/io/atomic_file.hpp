#pragma once
/// \file  Writing files whole or not at all: a temporary beside the target, flushed to disk, then renamed
/// over it. A crash, kill -9 or a full disk leaves the old file (or none), never half of the new one.
#include <quench/io/file.hpp>

#include <atomic>
#include <type_traits>
#include <vector>

namespace quench::inline QUENCH_ISA::io {

namespace detail {

/// Writes all of `data` at `offset`, or appends when `offset` is negative. Returns how many bytes arrived;
/// errno tells why when that is fewer.
inline std::size_t write_fully(int fd, std::span<const std::byte> data, std::int64_t offset) {
  std::size_t done = 0;
  while (done < data.size()) {
    const auto left = data.size() - done;
    const ::ssize_t n =
        offset < 0 ? ::write(fd, data.data() + done, left)
                   : ::pwrite(fd, data.data() + done, left, offset + static_cast<std::int64_t>(done));
    if (n > 0)
      done += static_cast<std::size_t>(n);
    else if (n == 0)
      return errno = ENOSPC, done;
    else if (errno != EINTR)
      return done;
  }
  return done;
}

/// Makes a rename or creation in `folder` durable. Some file systems cannot; that is not an error.
inline void sync_folder(const path& folder) {
  const file_handle fd(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) static_cast<void>(::fsync(fd.get()));
}

}  // namespace detail

/// A file being written. Nothing is visible under its name until `commit`; a destructor without `commit`
/// removes the temporary. Appends are buffered (1 MiB); `write_at` goes straight to the file, so that large
/// data is never held twice. The target keeps its permission bits when it exists (a new file gets 0666 less
/// the umask). \throws io_error from any call: unwritable folder, full disk, quota, interrupted device.
class atomic_file {
 public:
  explicit atomic_file(path target) : target_(std::move(target)) {
    static std::atomic<unsigned> serial{0};
    if (std::error_code none; std::filesystem::is_symlink(target_, none))
      target_ = std::filesystem::weakly_canonical(target_);
    temporary_ = target_;
    temporary_ += ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(serial++);
    struct stat old = {};
    const bool exists = ::stat(target_.c_str(), &old) == 0;
    require(!exists || S_ISREG(old.st_mode), target_, 0, "cannot be replaced: it is not a regular file");
    fd_ = file_handle(::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    require(bool(fd_), target_, 0, "cannot open for writing: {}", system_message(errno));
    if (exists) static_cast<void>(::fchmod(fd_.get(), old.st_mode & 07777));
  }
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;
  ~atomic_file() {
    if (fd_) ::unlink(temporary_.c_str());
  }

  const path& file() const { return target_; }
  /// Bytes appended so far: where the next append goes.
  std::uint64_t position() const { return flushed_ + buffer_.size(); }

  void append(std::span<const std::byte> data) {
    if (data.size() >= limit) {
      flush();
      write_at(flushed_, data);
      flushed_ += data.size();
      return;
    }
    buffer_.insert(buffer_.end(), data.begin(), data.end());
    if (buffer_.size() >= limit) flush();
  }
  void append(std::string_view text) { append(std::as_bytes(std::span(text))); }
  /// One number as little-endian bytes.
  template <class T>
  requires std::is_arithmetic_v<T>
  void append_number(T value) { append(std::as_bytes(std::span(&value, 1))); }
  /// Zeros up to the next multiple of `alignment` (> 0).
  void pad_to(std::uint64_t alignment) {
    buffer_.resize(buffer_.size() +
                   static_cast<std::size_t>((alignment - position() % alignment) % alignment));
  }

  /// Writes at a place of its own; independent of the append position. Holes read as zeros.
  void write_at(std::uint64_t offset, std::span<const std::byte> data) {
    const auto done = detail::write_fully(fd_.get(), data, static_cast<std::int64_t>(offset));
    require(done == data.size(), target_, offset + done, "cannot write: {}", system_message(errno));
  }

  /// Flushes to disk and gives the file its name. Call once, last. The file is at least `size` bytes long:
  /// zeros stand where nothing was written.
  void commit(std::uint64_t size = 0) {
    flush();
    struct stat facts = {};
    const bool known = ::fstat(fd_.get(), &facts) == 0;
    if (known && static_cast<std::uint64_t>(facts.st_size) < size)
      require(::ftruncate(fd_.get(), static_cast<::off_t>(size)) == 0, target_, size, "cannot grow: {}",
              system_message(errno));
    require(::fsync(fd_.get()) == 0, target_, position(), "cannot flush to disk: {}", system_message(errno));
    require(::rename(temporary_.c_str(), target_.c_str()) == 0, target_, position(),
            "cannot be renamed into place: {}", system_message(errno));
    fd_.close();
    detail::sync_folder(target_.parent_path());
  }

 private:
  static constexpr std::size_t limit = std::size_t{1} << 20;

  void flush() {
    write_at(flushed_, buffer_);
    flushed_ += buffer_.size();
    buffer_.clear();
  }

  path target_, temporary_;
  file_handle fd_;
  std::vector<std::byte> buffer_;
  std::uint64_t flushed_ = 0;
};

/// Replaces `target` by `text`, whole or not at all. \throws io_error
inline void write_file(const path& target, std::string_view text) {
  atomic_file out(target);
  out.append(text);
  out.commit();
}

/// The whole of a small file. \throws io_error
inline std::string read_file(const path& file) { return std::string(mapped_file(file).text()); }

}  // namespace quench::inline QUENCH_ISA::io
