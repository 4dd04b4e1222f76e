#include "table.hpp"

#include <quench/core/error.hpp>
#include <quench/io/atomic_file.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace cli {
namespace {

std::string shown(const cell& c, const char* format) {
  if (const auto* s = std::get_if<std::string>(&c)) return *s;
  if (const auto* i = std::get_if<std::int64_t>(&c)) return std::to_string(*i);
  const double x = std::get<double>(c);
  if (!std::isfinite(x)) return exact(x);
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, x);
  return buffer.data();
}

std::string quoted(const std::string& s) {
  if (s.find_first_of(",\"\r\n") == s.npos) return s;
  std::string out = "\"";
  for (const char c : s) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

// Width on screen: UTF-8 continuation bytes take no column.
std::size_t width(const std::string& s) {
  std::size_t n = 0;
  for (const char c : s) n += (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
  return n;
}

}  // namespace

std::string exact(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x > 0 ? "Infinity" : "-Infinity";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr;
  return {buffer.data(), end};
}

void table::add(std::vector<cell> row) {
  quench::expects(row.size() == columns_.size(), "table::add: a row must have {} cells, has {}",
                  columns_.size(), row.size());
  rows_.push_back(std::move(row));
}

std::string table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    widths.push_back(width(columns_[c].name));
    for (const auto& row : rows_) widths[c] = std::max(widths[c], width(shown(row[c], columns_[c].format)));
  }
  std::string out;
  const auto put = [&](std::size_t c, const std::string& s, bool right) {
    const std::string pad(widths[c] - width(s), ' ');
    out += right ? pad + s : s + pad;
    out += c + 1 < columns_.size() ? "  " : "\n";
  };
  const auto is_text = [&](std::size_t c) {
    return !rows_.empty() && std::holds_alternative<std::string>(rows_.front()[c]);
  };
  for (std::size_t c = 0; c < columns_.size(); ++c) put(c, columns_[c].name, !is_text(c));
  for (std::size_t c = 0; c < columns_.size(); ++c) put(c, std::string(widths[c], '-'), false);
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < columns_.size(); ++c)
      put(c, shown(row[c], columns_[c].format), !std::holds_alternative<std::string>(row[c]));
  return out;
}

std::string table::csv() const {
  std::string out;
  const auto put = [&](std::size_t c, const std::string& s) {
    out += quoted(s) + (c + 1 < columns_.size() ? "," : "\n");
  };
  for (std::size_t c = 0; c < columns_.size(); ++c) put(c, columns_[c].name);
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const auto* x = std::get_if<double>(&row[c]);
      put(c, x ? exact(*x) : shown(row[c], ""));
    }
  return out;
}

nlohmann::ordered_json table::json() const {
  auto all = nlohmann::ordered_json::array();
  for (const auto& row : rows_) {
    nlohmann::ordered_json object;
    for (std::size_t c = 0; c < columns_.size(); ++c)
      std::visit(
          [&](const auto& v) {
            if constexpr (std::is_same_v<std::decay_t<decltype(v)>, double>) {
              if (!std::isfinite(v)) {
                object[columns_[c].name] = exact(v);
                return;
              }
            }
            object[columns_[c].name] = v;
          },
          row[c]);
    all.push_back(std::move(object));
  }
  return all;
}

void outputs::print(const table& t) const {
  if (json != "-" && csv != "-") std::fputs(t.text().c_str(), stdout);
  const auto write = [](const std::string& where, const std::string& what) {
    if (where.empty()) return;
    if (where == "-")
      std::fputs(what.c_str(), stdout);
    else
      quench::io::write_file(where, what);
  };
  write(json, t.json().dump(2) + "\n");
  write(csv, t.csv());
}

}  // namespace cli
