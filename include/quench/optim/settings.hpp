#pragma once
/// \file  Hyper-parameters by name: reading and writing them as text, with errors that list the choices.
#include <quench/core/error.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace quench::inline QUENCH_ISA {

/// An enumeration with `names_of(std::type_identity<E>)`: its values' names in order.
template <class E>
concept named_enum = std::is_enum_v<E> && requires {
  names_of(std::type_identity<E>{});
};

/// Shortest text that reads back to the same value.
inline std::string setting_text(double x) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr;
  return {buffer.data(), end};
}
inline std::string setting_text(bool x) { return x ? "true" : "false"; }
template <std::integral I>
requires(!std::same_as<I, bool>) std::string setting_text(I x) { return std::to_string(x); }
template <named_enum E>
std::string setting_text(E x) {
  return std::string(names_of(std::type_identity<E>{})[std::size_t(x)]);
}

namespace detail {

inline std::string joined(const auto& names) {
  std::string out;
  for (const auto& n : names) (out += out.empty() ? "" : ", ") += n;
  return out;
}

template <class Number>
void read_number(Number& out, std::string_view key, std::string_view text) {
  Number value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  expects(status == std::errc{} && end == text.data() + text.size(), "setting {}: '{}' is not a number", key,
          text);
  out = value;
}

inline void read_setting(double& out, std::string_view key, std::string_view text) {
  read_number(out, key, text);
}
template <std::integral I>
requires(!std::same_as<I, bool>) void read_setting(I& out, std::string_view key, std::string_view text) {
  read_number(out, key, text);
}
inline void read_setting(bool& out, std::string_view key, std::string_view text) {
  const bool yes = text == "true" || text == "1" || text == "yes",
             no = text == "false" || text == "0" || text == "no";
  expects(yes || no, "setting {}: '{}' is not true or false", key, text);
  out = yes;
}
template <named_enum E>
void read_setting(E& out, std::string_view key, std::string_view text) {
  constexpr auto names = names_of(std::type_identity<E>{});
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) {
      out = E(i);
      return;
    }
  expects(false, "setting {}: '{}' is not one of {}", key, text, joined(names));
}

}  // namespace detail

/// A rule that lists its hyper-parameters: `static void settings(auto& self, auto&& f) { f("lr", self.lr);
/// ... }`.
template <class Rule>
concept has_settings = requires(Rule& r) {
  Rule::settings(r, [](std::string_view, auto&) {});
};

/// Names of all settings, in the rule's order.
template <has_settings Rule>
std::vector<std::string> setting_names(const Rule& rule) {
  std::vector<std::string> out;
  Rule::settings(rule, [&](std::string_view key, const auto&) { out.emplace_back(key); });
  return out;
}

/// Sets one hyper-parameter from text. \throws error naming the key and the choices.
template <has_settings Rule>
void set_setting(Rule& rule, std::string_view key, std::string_view text) {
  bool found = false;
  Rule::settings(rule, [&](std::string_view name, auto& field) {
    if (name != key) return;
    found = true;
    detail::read_setting(field, key, text);
  });
  expects(found, "{} has no setting '{}'; it has {}", Rule::name, key, detail::joined(setting_names(rule)));
}

/// "lr=0.02,momentum=0.95,...": every hyper-parameter; reading it back gives the same rule.
template <has_settings Rule>
std::string settings_text(const Rule& rule) {
  std::string out;
  Rule::settings(rule, [&](std::string_view key, const auto& field) {
    ((out += out.empty() ? "" : ",") += key) += '=';
    out += setting_text(field);
  });
  return out;
}

/// Splits "a=1,b=2" into pairs; empty text gives none. \throws error on a piece without '='.
inline std::vector<std::pair<std::string, std::string>> parse_settings(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> out;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view piece = text.substr(0, comma);
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
    if (piece.empty()) continue;
    const auto equals = piece.find('=');
    expects(equals != piece.npos && equals > 0, "settings: '{}' is not of the form key=value", piece);
    out.emplace_back(piece.substr(0, equals), piece.substr(equals + 1));
  }
  return out;
}

}  // namespace quench::inline QUENCH_ISA
