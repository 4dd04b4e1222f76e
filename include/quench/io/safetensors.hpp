#pragma once
/// \file  Reading safetensors files (huggingface/safetensors): mapped, validated when opened, tensors
/// converted on demand.
#include <quench/io/convert.hpp>
#include <quench/io/file.hpp>
#include <quench/io/safetensors_header.hpp>

namespace quench::inline QUENCH_ISA::io {

/// An open file. Opening reads the header only; a tensor's pages are read when it is.
/// \throws io_error from the constructor for anything malformed
class safetensors_file {
 public:
  explicit safetensors_file(path file)
      : source_(std::move(file)),
        header_(parse_safetensors(source_.bytes(), source_.file(), source_.size())) {
    for (std::size_t i = 0; i < header_.tensors.size(); ++i) by_name_.emplace(header_.tensors[i].name, i);
  }

  const path& file() const { return source_.file(); }
  /// In the order of their data.
  const std::vector<tensor_info>& tensors() const { return header_.tensors; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  bool contains(std::string_view name) const { return by_name_.find(name) != by_name_.end(); }
  /// \throws io_error when there is no such tensor
  const tensor_info& at(std::string_view name) const {
    const auto it = by_name_.find(name);
    require(it != by_name_.end(), file(), 0, "has no tensor \"{}\" (it has {})", printable(name),
            tensors().size());
    return header_.tensors[it->second];
  }

  /// The raw little-endian bytes, in the mapped file; alignment is the file's, so use memcpy.
  std::span<const std::byte> bytes(const tensor_info& t) const { return source_.bytes(t.begin, t.bytes); }
  std::span<const std::byte> bytes(std::string_view name) const { return bytes(at(name)); }
  /// Lets the system take the tensor's pages back: a scan then needs the memory of its largest tensor.
  void release(const tensor_info& t) const { source_.release(t.begin, t.bytes); }

  /// All elements, row-major. T: float, double, or an integer wide enough (see decode_elements).
  /// \throws io_error when there is no such tensor or its type does not convert
  template <class T>
  std::vector<T> values(const tensor_info& t) const {
    std::vector<T> out(static_cast<std::size_t>(t.count()));
    decode(t, out.data());
    return out;
  }
  template <class T>
  std::vector<T> values(std::string_view name) const {
    return values<T>(at(name));
  }

  /// As a matrix: rows = first axis, the other axes flattened; 1-D is one row, 0-D 1 x 1. \throws io_error as
  /// `values`
  template <class T>
  matrix<T> read(const tensor_info& t) const {
    const auto [rows, cols] = matrix_shape(t.shape);
    matrix<T> out(rows, cols);
    decode(t, out.data());
    return out;
  }
  template <class T>
  matrix<T> read(std::string_view name) const {
    return read<T>(at(name));
  }

 private:
  template <class T>
  void decode(const tensor_info& t, T* out) const {
    require(decode_elements(t.type, bytes(t), out), file(), t.begin,
            "tensor \"{}\" of type {} does not convert to the type asked for", printable(t.name),
            name_of(t.type));
  }

  mapped_file source_;
  safetensors_header header_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

}  // namespace quench::inline QUENCH_ISA::io
