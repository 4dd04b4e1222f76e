#pragma once
/// \file  Writing GGUF version 3 files (ggml) that its own reader accepts: tensors in order, each padded to
/// the alignment.
#include <quench/io/gguf_header.hpp>
#include <quench/io/piecewise.hpp>

namespace quench::inline QUENCH_ISA::io {

/// A tensor before its data. `type` as in ggml_types ("Q4_0", "F32", ...); `shape` with the contiguous axis
/// last.
struct gguf_spec {
  std::string name, type;
  std::vector<index> shape;
};

/// Writes metadata and tensor list at once, then takes tensors in any order and in any pieces. Alignment is
/// the metadata's general.alignment (u32, a power of two, at least 32 because readers abort below), 32 when
/// there is none. \throws error for what readers refuse (empty or repeated keys and names, names over 63
/// bytes, unknown types, rank over 4, rows that are no whole blocks, arrays or strings over 2^30); io_error
/// when writing fails or bytes are missing
class gguf_writer {
 public:
  gguf_writer(const path& file, std::span<const std::pair<std::string, gguf_value>> metadata,
              std::span<const gguf_spec> specs)
      : out_(file) {
    atomic_file& o = out_.header();
    o.append("GGUF");
    o.append_number(std::uint32_t{3});
    o.append_number(static_cast<std::uint64_t>(specs.size()));
    o.append_number(static_cast<std::uint64_t>(metadata.size()));
    std::map<std::string, bool> keys;
    for (const auto& [key, value] : metadata) {
      expects(!key.empty() && is_utf8(key) && keys.emplace(key, true).second,
              "gguf_writer: metadata key must be UTF-8, not empty and unique, is {}", printable(key));
      if (key == "general.alignment") alignment_ = value.number<std::uint32_t>();
      write_pair(key, value);
    }
    expects(alignment_ >= 32 && (alignment_ & (alignment_ - 1)) == 0,
            "gguf_writer: general.alignment must be a power of two of at least 32, is {}", alignment_);
    for (const gguf_spec& s : specs) write_tensor(s);
    o.pad_to(alignment_);
    out_.start_data();
  }

  /// Adds `piece` behind what has been written of tensor `name`. \throws error, io_error
  void write(const std::string& name, std::span<const std::byte> piece) { out_.write(name, piece); }
  /// Gives the file its name. \throws io_error when a tensor is missing bytes
  void commit() { out_.commit(data_bytes_); }

 private:
  static constexpr std::uint64_t longest = std::uint64_t{1} << 30;  // ggml reads no longer string or array

  void write_string(std::string_view s) {
    expects(s.size() <= longest, "gguf_writer: a string must be at most 2^30 bytes, is {}", s.size());
    out_.header().append_number(static_cast<std::uint64_t>(s.size()));
    out_.header().append(s);
  }
  void write_pair(const std::string& key, const gguf_value& value) {
    atomic_file& o = out_.header();
    write_string(key);
    o.append_number(static_cast<std::uint32_t>(value.type()));
    if (value.is_string()) return write_string(value.bytes());
    if (value.type() == gguf_type::array) {
      expects(value.size() <= longest, "gguf_writer: array {} must have at most 2^30 elements, has {}", key,
              value.size());
      o.append_number(static_cast<std::uint32_t>(value.element()));
      o.append_number(value.size());
    }
    o.append(value.bytes());
  }
  void write_tensor(const gguf_spec& s) {
    const ggml_type_facts* type = ggml_type_named(s.type);
    expects(type != nullptr, "gguf_writer: tensor {} must have a type of ggml, has {}", printable(s.name),
            s.type);
    expects(!s.name.empty() && s.name.size() < 64 && is_utf8(s.name),
            "gguf_writer: tensor name must be UTF-8 of 1 to 63 bytes, is {}", printable(s.name));
    expects(s.shape.size() >= 1 && s.shape.size() <= 4,
            "gguf_writer: tensor {} must have 1 to 4 dimensions, has {}", s.name, s.shape.size());
    const auto bytes = ggml_bytes(*type, s.shape);
    expects(bytes.has_value() && *bytes >> 62 == 0,
            "gguf_writer: tensor {} of type {} must have rows of whole blocks of {}, has {}", s.name, s.type,
            type->elements, s.shape.back());
    expects(out_.reserve(s.name, data_bytes_, *bytes), "gguf_writer: tensor name must be unique, is {}",
            s.name);
    atomic_file& o = out_.header();
    write_string(s.name);
    o.append_number(static_cast<std::uint32_t>(s.shape.size()));
    for (auto d = s.shape.rbegin(); d != s.shape.rend(); ++d) o.append_number(static_cast<std::uint64_t>(*d));
    o.append_number(static_cast<std::uint32_t>(type->id));
    o.append_number(data_bytes_);
    data_bytes_ += (*bytes + alignment_ - 1) / alignment_ * alignment_;
    expects(data_bytes_ >> 62 == 0, "gguf_writer: all tensors together must be below 2^62 bytes");
  }

  piecewise_file out_;
  std::uint64_t alignment_ = 32, data_bytes_ = 0;
};

}  // namespace quench::inline QUENCH_ISA::io
