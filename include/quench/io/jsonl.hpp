#pragma once
/// \file  Records: one JSON object a line, each on disk before the next, readable after any crash.
#include <quench/io/json.hpp>
#include <quench/io/line_file.hpp>

#include <vector>

namespace quench::inline QUENCH_ISA::io {

/// What `read_records` found.
struct records {
  std::vector<json> rows;
  std::uint64_t cut_bytes = 0;  ///< length of a last line that a crash cut short; it is not among the rows
};

/// Reads every record of a .jsonl file. Empty lines are skipped; a last line without '\n' counts when it is a
/// whole object and is reported as cut otherwise. \throws io_error naming file, line and byte when any other
/// line is not a JSON object.
inline records read_records(const path& file) {
  const mapped_file source(file);
  std::string_view rest = source.text();
  records out;
  std::uint64_t offset = 0;
  for (std::size_t line = 1; !rest.empty(); ++line) {
    const auto newline = rest.find('\n');
    const std::string_view text = rest.substr(0, newline);
    const bool whole = newline != rest.npos;
    if (text.find_first_not_of(" \t\r") != text.npos) {
      const auto named = (path(file) += ":") += std::to_string(line);
      json row =
          whole ? parse_json(text, named, offset) : json::parse(text.begin(), text.end(), nullptr, false);
      require(!whole || row.is_object(), named, offset, "a record must be a JSON object, is {}",
              row.type_name());
      if (row.is_object())
        out.rows.push_back(std::move(row));
      else
        out.cut_bytes = text.size();
    }
    const auto used = whole ? newline + 1 : rest.size();
    rest.remove_prefix(used);
    offset += used;
  }
  return out;
}

/// Appends records to a .jsonl file. Opening repairs a cut last line (a whole one only lacks its '\n' and
/// gets it). \throws io_error as line_file does
class record_writer {
 public:
  explicit record_writer(const path& file, bool durable = true) : lines_(complete_last(file), durable) {}

  void append(const json& record) {
    expects(record.is_object(), "record_writer::append: record must be a JSON object, is {}",
            record.type_name());
    lines_.append(to_line(record));
  }
  const path& file() const { return lines_.file(); }
  std::uint64_t repaired() const { return lines_.repaired(); }

 private:
  static const path& complete_last(const path& file) {
    std::error_code none;
    if (std::filesystem::file_size(file, none) > 0 && !none && std::filesystem::is_regular_file(file)) {
      const mapped_file source(file);
      const auto last = source.text().substr(end_of_whole_lines(source.text()));
      if (!last.empty() && json::parse(last.begin(), last.end(), nullptr, false).is_object()) {
        const file_handle fd(::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
        if (fd) static_cast<void>(detail::write_fully(fd.get(), std::as_bytes(std::span("\n", 1)), -1));
      }
    }
    return file;
  }

  line_file lines_;
};

}  // namespace quench::inline QUENCH_ISA::io
