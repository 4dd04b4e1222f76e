#pragma once
/// \file  An append-only file of lines that survives kill -9: each line is one write, flushed to disk, under
/// a lock.
#include <quench/io/atomic_file.hpp>

#include <sys/file.h>

namespace quench::inline QUENCH_ISA::io {

/// Where the last whole line ends: one past the last '\n', 0 when there is none.
inline std::size_t end_of_whole_lines(std::string_view text) {
  const auto at = text.rfind('\n');
  return at == text.npos ? 0 : at + 1;
}

/// Appends lines. A line is on disk when `append` returns (`durable`), and earlier lines are never touched.
/// A last line that a crash cut short (no '\n') is removed when the file is opened; `repaired()` tells how
/// many bytes that were. Holding the file excludes other writers, in this and other processes. \throws
/// io_error: unwritable, full disk (the partial line is taken back), or locked by another writer.
class line_file {
 public:
  explicit line_file(path file, bool durable = true) : path_(std::move(file)), durable_(durable) {
    fd_ = file_handle(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    require(bool(fd_), path_, 0, "cannot open for appending: {}", system_message(errno));
    require(::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK, path_, 0,
            "is being written by another process");
    struct stat facts = {};
    require(::fstat(fd_.get(), &facts) == 0, path_, 0, "cannot be examined: {}", system_message(errno));
    if (!S_ISREG(facts.st_mode)) return;
    size_ = static_cast<std::uint64_t>(facts.st_size);
    if (size_ > 0) {
      const std::uint64_t whole = end_of_whole_lines(mapped_file(path_).text());
      repaired_ = size_ - whole;
      if (repaired_ > 0) cut_to(whole);
    } else if (durable_) {
      detail::sync_folder(path_.parent_path());
    }
  }

  const path& file() const { return path_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t repaired() const { return repaired_; }

  /// Adds `line` and a '\n'. \param line must hold no '\n' itself.
  void append(std::string_view line) {
    expects(line.find('\n') == line.npos, "line_file::append: line must not contain a newline");
    const std::string whole = std::string(line) + '\n';
    const auto done = detail::write_fully(fd_.get(), std::as_bytes(std::span(whole)), -1);
    if (done != whole.size()) {
      const int why = errno;
      const auto at = size_ + done;
      if (done > 0) static_cast<void>(::ftruncate(fd_.get(), static_cast<::off_t>(size_)));
      fail(path_, at, "cannot append: {}", system_message(why));
    }
    size_ += whole.size();
    if (durable_)
      require(::fdatasync(fd_.get()) == 0 || errno == EINVAL, path_, size_, "cannot flush to disk: {}",
              system_message(errno));
  }

 private:
  void cut_to(std::uint64_t size) {
    require(::ftruncate(fd_.get(), static_cast<::off_t>(size)) == 0, path_, size,
            "cannot cut a partial line: {}", system_message(errno));
    size_ = size;
  }

  path path_;
  bool durable_;
  file_handle fd_;
  std::uint64_t size_ = 0, repaired_ = 0;
};

}  // namespace quench::inline QUENCH_ISA::io
