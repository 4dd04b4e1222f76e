#pragma once
/// \file  Writing safetensors files (huggingface/safetensors): laid out as the reference does, one tensor at
/// a time, atomic.
#include <quench/io/piecewise.hpp>
#include <quench/io/safetensors_header.hpp>

namespace quench::inline QUENCH_ISA::io {

/// What is known of a tensor before its data: enough to write the header.
struct tensor_spec {
  std::string name;
  dtype type = dtype::f32;
  std::vector<index> shape;
};

/// A tensor with its data at hand.
struct tensor_data {
  tensor_spec spec;
  std::span<const std::byte> bytes;
};

/// Names a row-major matrix's memory; a vector of one row becomes 1-D when `vector` is set. The matrix must
/// outlive it.
template <class T>
tensor_data tensor_of(std::string name, const matrix<T>& m, bool vector = false) {
  std::vector<index> shape = vector ? std::vector<index>{m.size()} : std::vector<index>{m.rows(), m.cols()};
  return {{std::move(name), dtype_of<T>(), std::move(shape)},
          std::as_bytes(std::span(m.data(), static_cast<std::size_t>(m.size())))};
}

/// Writes the header at once, then takes tensors in any order and in any pieces, each straight to its place,
/// so that memory holds one piece. Order of data and padding are the reference library's: types with larger
/// alignment first, then by name; the header is padded with spaces so that data start at a multiple of 8.
/// \throws error for specs no file may have (equal names, "__metadata__", sizes that are no whole bytes);
/// io_error when writing fails, or when `commit` comes before every byte has arrived
class safetensors_writer {
 public:
  safetensors_writer(const path& file, std::vector<tensor_spec> specs,
                     const std::map<std::string, std::string>& metadata = {})
      : out_(file) {
    std::sort(specs.begin(), specs.end(), [](const tensor_spec& a, const tensor_spec& b) {
      return a.type != b.type ? a.type > b.type : a.name < b.name;
    });
    std::string text = "{";
    if (!metadata.empty()) text += "\"__metadata__\":" + dumped(metadata);
    std::uint64_t at = 0;
    for (const tensor_spec& s : specs) {
      const auto count = element_count(s.shape);
      const auto bytes = count ? byte_count(s.type, *count) : std::nullopt;
      expects(bytes.has_value(), "safetensors_writer: tensor {} must be a whole number of bytes below 2^63",
              s.name);
      expects(s.name != "__metadata__" && out_.reserve(s.name, at, *bytes),
              "safetensors_writer: tensor name must be unique and not reserved, is {}", printable(s.name));
      const std::uint64_t end = at + *bytes;  // below 2^64: both are below 2^63
      expects(end >> 63 == 0, "safetensors_writer: all tensors together must be below 2^63 bytes");
      (text += text.size() > 1 ? "," : "") += dumped(s.name);
      text += ":" + dumped({{"dtype", name_of(s.type)}, {"shape", s.shape}, {"data_offsets", {at, end}}});
      at = end;
    }
    text += '}';
    text.append((8 - text.size() % 8) % 8, ' ');
    expects(text.size() <= safetensors_max_header,
            "safetensors_writer: header must be at most {} bytes, is {}", safetensors_max_header,
            text.size());
    out_.header().append_number(static_cast<std::uint64_t>(text.size()));
    out_.header().append(text);
    out_.start_data();
    data_bytes_ = at;
  }

  /// Adds `piece` behind what has been written of tensor `name`. \throws error, io_error
  void write(const std::string& name, std::span<const std::byte> piece) { out_.write(name, piece); }
  /// Gives the file its name. \throws io_error when a tensor is missing bytes
  void commit() { out_.commit(data_bytes_); }

 private:
  static std::string dumped(const json& value) {
    const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
    expects(text.find("\xef\xbf\xbd") == text.npos,
            "safetensors_writer: names and metadata must be UTF-8, got {}", text);
    return text;
  }

  piecewise_file out_;
  std::uint64_t data_bytes_ = 0;
};

/// Writes tensors that are all in memory. \throws as safetensors_writer
inline void write_safetensors(const path& file, std::span<const tensor_data> tensors,
                              const std::map<std::string, std::string>& metadata = {}) {
  std::vector<tensor_spec> specs;
  for (const auto& t : tensors) specs.push_back(t.spec);
  safetensors_writer out(file, std::move(specs), metadata);
  for (const auto& t : tensors) out.write(t.spec.name, t.bytes);
  out.commit();
}

}  // namespace quench::inline QUENCH_ISA::io
