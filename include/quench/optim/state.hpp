#pragma once
/// \file  State by name: every rule's state lists its parts, and an archive holds a copy of all of them.
#include <quench/core/error.hpp>
#include <quench/core/matrix.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace quench::inline QUENCH_ISA {

/// One part of a state, by reference. State structs list theirs with `void entries(auto&& f) { f("m", m); ...
/// }`.
using state_ref = std::variant<matrix<float>*, matrix<double>*, std::int64_t*, double*>;
using state_visitor = std::function<void(const std::string& name, state_ref part)>;

/// A copy of one part.
using state_value = std::variant<matrix<float>, matrix<double>, std::int64_t, double>;
struct state_entry {
  std::string name;
  state_value value;
};

/// Everything an optimizer needs to continue with the same bits: which rule, its settings, how many steps it
/// has taken, and each part of its state under "<parameter>/<part>".
struct state_archive {
  std::string rule, settings;
  std::int64_t step = 0;
  std::vector<state_entry> entries;
};

/// "float32 3 x 4", "float64 2 x 2", "int64", "float64": the kind and shape of a part, for messages and
/// comparison.
inline std::string kind_of(const state_value& v) {
  const auto shape = [](const char* type, const auto& m) {
    return std::string(type) + ' ' + std::to_string(m.rows()) + " x " + std::to_string(m.cols());
  };
  if (const auto* f = std::get_if<matrix<float>>(&v)) return shape("float32", *f);
  if (const auto* d = std::get_if<matrix<double>>(&v)) return shape("float64", *d);
  return std::holds_alternative<std::int64_t>(v) ? "int64" : "float64";
}
inline state_value copy_of(state_ref r) {
  return std::visit([](auto* p) { return state_value(*p); }, r);
}

namespace detail {

/// Bytes held by a part.
inline std::size_t bytes_of(state_ref r) {
  return std::visit(
      [](auto* p) -> std::size_t {
        if constexpr (requires { p->rows(); })
          return std::size_t(p->size()) * sizeof(*p->data());
        else
          return sizeof(*p);
      },
      r);
}

}  // namespace detail
}  // namespace quench::inline QUENCH_ISA
