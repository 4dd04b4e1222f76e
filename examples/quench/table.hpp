#pragma once
/// \file  One table, three ways out: aligned text for people, CSV and JSON for programs.
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cli {

/// A cell is text, a whole number, or a number with a printf format of its column.
using cell = std::variant<std::string, std::int64_t, double>;

struct column {
  std::string name;             ///< heading, CSV field and JSON key
  const char* format = "%.5g";  ///< how text output prints doubles; CSV and JSON carry all digits
};

class table {
 public:
  explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<cell> row);
  std::size_t rows() const { return rows_.size(); }

  std::string text() const;  ///< numbers right-aligned, text left-aligned, a rule under the heading
  std::string csv() const;   ///< RFC 4180 quoting
  nlohmann::ordered_json json() const;  ///< an array of objects; NaN and infinities as strings

 private:
  std::vector<column> columns_;
  std::vector<std::vector<cell>> rows_;
};

/// Where results go besides stdout: `--json FILE` and `--csv FILE`, `-` for stdout instead of the table.
struct outputs {
  std::string json, csv;
  void print(
      const table& t) const;  ///< the table to stdout unless a file is `-`; the files written atomically
};

/// Shortest decimal that reads back as the same double; "NaN", "Infinity", "-Infinity" otherwise.
std::string exact(double x);

}  // namespace cli
