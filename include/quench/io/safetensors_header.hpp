#pragma once
/// \file  The header of a safetensors file (huggingface/safetensors, README "Format"), read strictly: nothing
/// it says is believed before it is checked against the file.
#include <quench/io/dtype.hpp>
#include <quench/io/json.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace quench::inline QUENCH_ISA::io {

/// One tensor of a file, row-major.
struct tensor_info {
  std::string name;
  dtype type = dtype::f32;
  std::vector<index> shape;  ///< empty for a scalar
  std::uint64_t begin = 0;   ///< first byte, from the start of the file
  std::uint64_t bytes = 0;
  std::uint64_t count() const { return bytes * 8 / static_cast<std::uint64_t>(bits_of(type)); }
};

struct safetensors_header {
  std::vector<tensor_info> tensors;             ///< in the order of their data
  std::map<std::string, std::string> metadata;  ///< __metadata__
  std::uint64_t data_offset = 0;                ///< 8 + header length
};

inline constexpr std::uint64_t safetensors_max_header = 100'000'000;  ///< the reference's limit, bytes

namespace detail {

/// The events of the JSON parser, held against the one shape a header may have. Builds no document: memory
/// stays within a small multiple of the header.
class safetensors_sax : public nlohmann::json_sax<json> {
 public:
  safetensors_sax(safetensors_header& out, const path& file) : out_(out), file_(file) {}

  bool key(string_t& k) override {
    if (depth_ == 1) {
      require(names_.insert(k).second, file_, 8, "safetensors header has \"{}\" twice", printable(k));
      in_metadata_ = k == "__metadata__";
      if (!in_metadata_) out_.tensors.emplace_back().name = k;
      seen_ = {};
    } else if (in_metadata_) {
      require(out_.metadata.emplace(k, std::string()).second, file_, 8,
              "safetensors __metadata__ has \"{}\" twice", printable(k));
    } else {
      const int field = k == "dtype" ? 0 : k == "shape" ? 1 : k == "data_offsets" ? 2 : 3;
      require(field < 3, file_, 8, "safetensors tensor \"{}\" has the unknown field \"{}\"", tensor(),
              printable(k));
      require(!std::exchange(seen_[static_cast<std::size_t>(field)], true), file_, 8,
              "safetensors tensor \"{}\" has the field \"{}\" twice", tensor(), k);
      field_ = field;
    }
    key_ = k;
    return true;
  }
  bool string(string_t& s) override {
    if (depth_ == 2 && in_metadata_) {
      out_.metadata[key_] = s;
    } else {
      require(depth_ == 2 && field_ == 0, file_, 8, "safetensors header: unexpected string after \"{}\"",
              printable(key_));
      const auto type = dtype_named(s);
      require(type.has_value(), file_, 8, "safetensors tensor \"{}\" has the unknown dtype \"{}\"", tensor(),
              printable(s));
      out_.tensors.back().type = *type;
    }
    return true;
  }
  bool number_unsigned(number_unsigned_t n) override {
    require(depth_ == 3 && !in_metadata_, file_, 8, "safetensors header: unexpected number after \"{}\"",
            printable(key_));
    tensor_info& t = out_.tensors.back();
    if (field_ == 1) {
      require(t.shape.size() < 64 && n >> 62 == 0, file_, 8,
              "safetensors tensor \"{}\" has an impossible shape", tensor());
      t.shape.push_back(static_cast<index>(n));
    } else {
      require(offsets_ < 2, file_, 8, "safetensors tensor \"{}\" has more than two data_offsets", tensor());
      (offsets_++ == 0 ? t.begin : t.bytes) = n;
    }
    return true;
  }
  bool start_object(std::size_t) override {
    require(depth_ < 2, file_, 8, "safetensors header: unexpected object after \"{}\"", printable(key_));
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (depth_-- == 2 && !in_metadata_)
      require(seen_[0] && seen_[1] && seen_[2], file_, 8,
              "safetensors tensor \"{}\" lacks dtype, shape or data_offsets", tensor());
    return true;
  }
  bool start_array(std::size_t) override {
    require(depth_ == 2 && !in_metadata_ && field_ > 0, file_, 8,
            "safetensors header: unexpected array after \"{}\"", printable(key_));
    offsets_ = 0;
    ++depth_;
    return true;
  }
  bool end_array() override {
    require(field_ != 2 || offsets_ == 2, file_, 8, "safetensors tensor \"{}\" must have two data_offsets",
            tensor());
    --depth_;
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception& e) override {
    std::string_view what = e.what();
    if (const auto colon = what.find("column"); colon != what.npos)
      what.remove_prefix(std::min(what.find(": ", colon) + 2, what.size()));
    fail(file_, 8 + (at > 0 ? at - 1 : 0), "safetensors header is not valid JSON: {}", printable(what));
  }
  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("boolean"); }
  bool number_integer(number_integer_t) override { return unexpected("negative number"); }
  bool number_float(number_float_t, const string_t&) override { return unexpected("fraction"); }
  bool binary(binary_t&) override { return unexpected("binary"); }

 private:
  std::string tensor() const { return printable(out_.tensors.back().name); }
  bool unexpected(std::string_view what) const {
    fail(file_, 8, "safetensors header: unexpected {} after \"{}\"", what, printable(key_));
  }

  safetensors_header& out_;
  const path& file_;
  std::set<std::string> names_;
  std::string key_;
  std::array<bool, 3> seen_{};
  int depth_ = 0, field_ = 0, offsets_ = 0;
  bool in_metadata_ = false;
};

/// Sorts by data offset and requires that the tensors tile the buffer: no gap, no overlap, nothing behind the
/// last.
inline void check_layout(safetensors_header& h, const path& file, std::uint64_t file_size) {
  for (tensor_info& t : h.tensors) {  // `bytes` holds the end offset until here
    const std::string name = printable(t.name);
    require(t.begin <= t.bytes && t.bytes <= file_size - h.data_offset, file,
            h.data_offset + std::min(t.begin, file_size - h.data_offset),
            "safetensors tensor \"{}\" has data_offsets [{}, {}] in a buffer of {} bytes", name, t.begin,
            t.bytes, file_size - h.data_offset);
    t.bytes -= t.begin;
    t.begin += h.data_offset;
    const auto count = element_count(t.shape);
    const auto bytes = count ? byte_count(t.type, *count) : std::nullopt;
    require(bytes == t.bytes, file, t.begin,
            "safetensors tensor \"{}\" has {} bytes, its shape and dtype {} ask for {}", name, t.bytes,
            name_of(t.type), bytes ? std::to_string(*bytes) : "an impossible number");
  }
  std::sort(h.tensors.begin(), h.tensors.end(), [](const tensor_info& a, const tensor_info& b) {
    return std::pair(a.begin, a.begin + a.bytes) < std::pair(b.begin, b.begin + b.bytes);
  });
  std::uint64_t at = h.data_offset;
  for (const tensor_info& t : h.tensors) {
    require(t.begin == at, file, t.begin, "safetensors tensor \"{}\" {} (byte {} expected)",
            printable(t.name), t.begin < at ? "overlaps the one before" : "leaves a gap before it", at);
    at += t.bytes;
  }
  require(at == file_size, file, at, "safetensors file has {} bytes after the last tensor", file_size - at);
}

}  // namespace detail

/// Parses and validates the header of a whole file given as bytes. Leading blanks in the JSON are accepted.
/// \param bytes the file, at least the header of it; \param file_size its full size
/// \throws io_error (file, byte, reason) for anything that is not exactly as the format says
inline safetensors_header parse_safetensors(std::span<const std::byte> bytes, const path& file,
                                            std::uint64_t file_size) {
  require(bytes.size() >= 8, file, 0, "is too short for a safetensors file: {} bytes", bytes.size());
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  require(length <= safetensors_max_header, file, 0, "safetensors header length {} is over {}", length,
          safetensors_max_header);
  require(length <= bytes.size() - 8, file, 0, "safetensors header length {} goes beyond the file's {} bytes",
          length, bytes.size());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8,
                              static_cast<std::size_t>(length));
  const auto start = text.find_first_not_of(" \t\r\n");
  require(start != text.npos && text[start] == '{', file, 8, "safetensors header does not start with '{'");
  safetensors_header h;
  h.data_offset = 8 + length;
  detail::safetensors_sax events(h, file);
  json::sax_parse(text.begin(), text.end(), &events);
  detail::check_layout(h, file, file_size);
  return h;
}

}  // namespace quench::inline QUENCH_ISA::io
