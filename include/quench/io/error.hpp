#pragma once
/// \file  How Quench reports trouble with files: one exception that names the file, the byte and the reason.
#include <quench/core/error.hpp>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace quench::inline QUENCH_ISA {

/// Thrown by everything in io when a file cannot be opened, read, written or understood.
/// `what()` is "FILE: REASON (byte OFFSET)".
class io_error : public std::runtime_error {
 public:
  io_error(std::string file, std::uint64_t offset, std::string reason)
      : std::runtime_error(file + ": " + reason + " (byte " + std::to_string(offset) + ")"),
        file_(std::move(file)),
        reason_(std::move(reason)),
        offset_(offset) {}

  const std::string& file() const { return file_; }
  /// Byte in the file where the trouble is: of the field that is wrong, or where a write stopped; 0 when it
  /// is the file itself (missing, no permission).
  std::uint64_t offset() const { return offset_; }
  const std::string& reason() const { return reason_; }

 private:
  std::string file_, reason_;
  std::uint64_t offset_;
};

namespace io {

using path = std::filesystem::path;

/// Throws io_error with `pattern`'s `{}` filled in (traps under -fno-exceptions).
template <class... Values>
[[noreturn]] QUENCH_NOINLINE void fail(const path& file, std::uint64_t offset, std::string_view pattern,
                                       const Values&... values) {
#if defined(__cpp_exceptions)
  throw io_error(file.string(), offset, quench::detail::format_text(pattern, values...));
#else
  (static_cast<void>(file), static_cast<void>(offset), static_cast<void>(pattern));
  (static_cast<void>(values), ...);
  __builtin_trap();
#endif
}

/// Checks something a file states about itself.
template <class... Values>
QUENCH_INLINE void require(bool ok, const path& file, std::uint64_t offset, std::string_view pattern,
                           const Values&... values) {
  if (!ok) [[unlikely]]
    fail(file, offset, pattern, values...);
}

/// The words for an errno value, in the C locale and without static buffers.
inline std::string system_message(int code) { return std::generic_category().message(code); }

/// A name taken from a file, made safe to print: control bytes as \xNN, cut after 80 bytes.
inline std::string printable(std::string_view name) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out;
  for (const char c : name.substr(0, 80)) {
    const auto u = static_cast<unsigned char>(c);
    if (u >= 0x20 && u != 0x7f)
      out += c;
    else
      (((out += "\\x") += hex[u >> 4]) += hex[u & 15]);
  }
  return name.size() > 80 ? out + "..." : out;
}

}  // namespace io
}  // namespace quench::inline QUENCH_ISA
