#pragma once
/// \file  Reading GGUF files (ggml): mapped, validated when opened, tensors decoded on demand by the block
/// codecs.
#include <quench/block/list.hpp>
#include <quench/block/rows.hpp>
#include <quench/io/convert.hpp>
#include <quench/io/file.hpp>
#include <quench/io/gguf_header.hpp>

namespace quench::inline QUENCH_ISA::io {

/// An open file. \throws io_error from the constructor for anything malformed
class gguf_file {
 public:
  explicit gguf_file(path file)
      : source_(std::move(file)), header_(parse_gguf(source_.bytes(), source_.file())) {
    for (std::size_t i = 0; i < header_.tensors.size(); ++i) by_name_.emplace(header_.tensors[i].name, i);
  }

  const path& file() const { return source_.file(); }
  const gguf_header& header() const { return header_; }
  const std::vector<gguf_tensor>& tensors() const { return header_.tensors; }
  bool contains(std::string_view name) const { return by_name_.find(name) != by_name_.end(); }
  /// \throws io_error when there is no such tensor
  const gguf_tensor& at(std::string_view name) const {
    const auto it = by_name_.find(name);
    require(it != by_name_.end(), file(), 0, "has no tensor \"{}\" (it has {})", printable(name),
            tensors().size());
    return header_.tensors[it->second];
  }
  /// A metadata value. \throws io_error when there is no such key
  const gguf_value& metadata(std::string_view key) const {
    const gguf_value* v = header_.find(key);
    require(v != nullptr, file(), 24, "has no metadata \"{}\"", printable(key));
    return *v;
  }

  std::span<const std::byte> bytes(const gguf_tensor& t) const { return source_.bytes(t.begin, t.bytes); }
  /// Lets the system take the tensor's pages back.
  void release(const gguf_tensor& t) const { source_.release(t.begin, t.bytes); }

  /// All elements as floats: rows = product of the leading axes, columns = the contiguous axis; 1-D is one
  /// row. \throws io_error when the type is a block format that has no codec here
  matrix<float> read(const gguf_tensor& t) const {
    const index cols = t.shape.empty() ? 1 : t.shape.back();
    matrix<float> out(cols == 0 ? 0 : static_cast<index>(t.count()) / cols, cols);
    if (const auto plain = plain_dtype(*t.type)) {
      decode_elements(*plain, bytes(t), out.data());
      return out;
    }
    bool known = false;
    block_codecs::for_each([&]<class C>(C) {
      if (ggml_type_of<C>() != t.type->id) return;
      known = true;
      static_assert(C::elements > 0);
      decode_blocks<C>(bytes(t).data(), static_cast<index>(t.count()) / C::elements, out.data());
    });
    require(known, file(), t.begin, "tensor \"{}\" has type {}, which Quench does not decode",
            printable(t.name), t.type->name);
    return out;
  }
  matrix<float> read(std::string_view name) const { return read(at(name)); }

 private:
  mapped_file source_;
  gguf_header header_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

}  // namespace quench::inline QUENCH_ISA::io
