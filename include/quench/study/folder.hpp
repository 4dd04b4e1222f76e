#pragma once
/// \file  A folder that one process works in: created, checked for writing, and locked until the owner goes
/// away.
#include <quench/io/file.hpp>

#include <sys/file.h>
#include <cstdlib>

namespace quench::inline QUENCH_ISA::study {

using io::path;

/// Exclusive use of a folder. The lock is the kernel's (flock on `study.lock`), so it ends with the process
/// however that ends, kill -9 included. \throws io_error when the folder cannot be made or written, or is in
/// use.
class folder_lock {
 public:
  explicit folder_lock(const path& folder) : folder_(folder) {
    std::error_code why;
    std::filesystem::create_directories(folder, why);
    io::require(!why, folder, 0, "cannot create the folder: {}", why.message());
    const path file = folder / "study.lock";
    fd_ = io::file_handle(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    io::require(bool(fd_), folder, 0, "cannot write in the folder: {}; choose another one",
                io::system_message(errno));
    if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
      char text[32] = {};
      const auto n = ::pread(fd_.get(), text, sizeof text - 1, 0);
      io::fail(folder, 0, "another process{} is working in this folder; wait for it or choose another folder",
               n > 0 ? " (" + std::string(text, std::size_t(n)) + ")" : std::string());
    }
    const std::string me = "pid " + std::to_string(::getpid());
    if (::ftruncate(fd_.get(), 0) == 0) static_cast<void>(::pwrite(fd_.get(), me.data(), me.size(), 0) < 0);
  }
  const path& folder() const { return folder_; }

 private:
  path folder_;
  io::file_handle fd_;
};

}  // namespace quench::inline QUENCH_ISA::study
