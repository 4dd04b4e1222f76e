#pragma once
/// \file  How Quench reports misuse: one exception type, thrown only by public entry points.
#include <quench/core/config.hpp>

#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace quench::inline QUENCH_ISA {

/// Thrown when a caller breaks a documented precondition (shape, range, unknown name).
struct error : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

namespace detail {

inline std::string to_text(std::string_view s) { return std::string(s); }
inline std::string to_text(const char* s) { return s; }  // or it would become a bool
inline std::string to_text(bool b) { return b ? "true" : "false"; }
template <class T>
  requires std::is_arithmetic_v<T>
std::string to_text(T x) {
  return std::to_string(x);
}

/// Replaces each `{}` of `pattern` by the next value.
template <class... Values>
std::string format_text(std::string_view pattern, const Values&... values) {
  std::string out;
  [[maybe_unused]] const auto until_hole = [&] {
    const auto at = pattern.find("{}");
    out += pattern.substr(0, at);
    pattern.remove_prefix(at == pattern.npos ? pattern.size() : at + 2);
  };
  ((until_hole(), out += to_text(values)), ...);
  return out += pattern;
}

template <class E, class... Values>
[[noreturn]] QUENCH_NOINLINE void fail(std::string_view pattern, const Values&... values) {
#if defined(__cpp_exceptions)
  throw E(format_text(pattern, values...));
#else
  (static_cast<void>(pattern), ..., static_cast<void>(values));
  __builtin_trap();
#endif
}

}  // namespace detail

/// Checks a precondition. The message names function, argument, rule and the values given:
///
///     expects(x.cols() == n, "input_hessian::add: x must have {} columns, has {}", n, x.cols());
///
/// \throws error when `ok` is false (traps under -fno-exceptions).
template <class... Values>
QUENCH_INLINE void expects(bool ok, std::string_view pattern, const Values&... values) {
  if (!ok) [[unlikely]]
    detail::fail<error>(pattern, values...);
}

}  // namespace quench
