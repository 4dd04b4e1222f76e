#pragma once
/// \file  JSON (RFC 8259) with every double: numbers keep all 17 digits, and what JSON has no number for is a
/// string, "NaN", "Infinity" or "-Infinity".
#include <quench/io/error.hpp>

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace quench::inline QUENCH_ISA::io {

/// Objects keep the order their keys were added in.
using json = nlohmann::ordered_json;

/// `x` as JSON: a number, or the string for a value that is not finite.
inline json number(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x > 0 ? "Infinity" : "-Infinity";
  return x;
}

/// The double that `value` holds: a number, one of the three strings, or null (NaN).
/// \throws error naming `what` when it is anything else.
inline double to_double(const json& value, std::string_view what = "value") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (value.is_number()) return value.get<double>();
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (const auto* s = value.get_ptr<const std::string*>()) {
    if (*s == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (*s == "Infinity") return inf;
    if (*s == "-Infinity") return -inf;
  }
  expects(false, "to_double: {} must be a number, null, \"NaN\" or \"Infinity\", is {}", what, value.dump());
  return 0;
}

/// Field `key` of `record` as a double; `missing` (NaN unless told) when there is none.
inline double to_double(const json& record, const char* key, double missing) {
  const auto it = record.find(key);
  return it == record.end() ? missing : to_double(*it, key);
}

/// Replaces every number that is not finite by its string, at any depth.
inline void keep_non_finite(json& value) {
  if (value.is_number_float()) {
    if (const double x = value.get<double>(); !std::isfinite(x)) value = number(x);
  } else if (value.is_structured()) {
    for (json& v : value) keep_non_finite(v);
  }
}

/// One line of text: no spaces, shortest digits that read back to the same double, whatever the locale. Bytes
/// that are not UTF-8 become U+FFFD.
inline std::string to_line(json value) {
  keep_non_finite(value);
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Parses `text`, which stands at byte `offset` of `file`. Two equal keys in one object are an error, as are
/// trailing bytes, text that is not UTF-8, and nesting deeper than `max_depth`.
/// \throws io_error with the byte of the first thing that is wrong.
inline json parse_json(std::string_view text, const path& file, std::uint64_t offset = 0,
                       int max_depth = 64) {
  std::vector<std::set<std::string>> keys;
  try {
    return json::parse(text.begin(), text.end(), [&](int depth, json::parse_event_t event, json& parsed) {
      if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) {
        require(depth < max_depth, file, offset, "JSON is nested deeper than {} levels", max_depth);
        if (event == json::parse_event_t::object_start) keys.emplace_back();
      } else if (event == json::parse_event_t::object_end) {
        keys.pop_back();
      } else if (event == json::parse_event_t::key) {
        const auto& key = parsed.get_ref<const std::string&>();
        require(keys.back().insert(key).second, file, offset, "JSON object has the key \"{}\" twice",
                printable(key));
      }
      return true;
    });
  } catch (const json::parse_error& e) {
    const std::string_view what = e.what();
    const auto colon = what.rfind(": ", what.find("; "));
    const auto reason = what.substr(colon == what.npos ? 0 : colon + 2);
    fail(file, offset + (e.byte > 0 ? e.byte - 1 : 0), "is not valid JSON: {}", printable(reason));
  } catch (const json::out_of_range& e) {
    fail(file, offset, "is not valid JSON: {}", e.what());
  }
}

}  // namespace quench::inline QUENCH_ISA::io
