#pragma once
/// \file  Training text as tokens: the bytes of text files, and flat or .npy files of token ids.
#include <quench/io/npy.hpp>

namespace quench::inline QUENCH_ISA::io {

/// How a token file is to be read.
enum class token_format { bytes, u16, u32, npy };

/// The format a file name asks for: .npy, .u16 (or .bin, the nanoGPT convention), .u32; everything else is
/// bytes.
inline token_format token_format_of(const path& file) {
  const auto ext = file.extension();
  return ext == ".npy"                    ? token_format::npy
         : ext == ".u16" || ext == ".bin" ? token_format::u16
         : ext == ".u32"                  ? token_format::u32
                                          : token_format::bytes;
}

/// A long sequence of token ids, mapped and never copied. Ids are checked against `vocabulary` once, when
/// opened (0: not checked), so that reading them needs no test. \throws io_error: missing file, size no
/// multiple of the id's, an id outside [0, vocabulary) (naming its byte)
class token_file {
 public:
  token_file() = default;
  explicit token_file(const path& file, std::uint64_t vocabulary = 0)
      : token_file(file, token_format_of(file), vocabulary) {}
  token_file(const path& file, token_format format, std::uint64_t vocabulary = 0) : source_(file) {
    dtype type = format == token_format::u16   ? dtype::u16
                 : format == token_format::u32 ? dtype::u32
                                               : dtype::u8;
    if (format == token_format::npy) {
      const npy_header h = parse_npy(source_);
      offset_ = h.data_offset;
      type = h.type;
      shape_ = matrix_shape(h.shape);
      require(!h.fortran_order || h.shape.size() < 2, file, 8, "token array must be in C order");
    }
    require(type == dtype::u8 || type == dtype::u16 || type == dtype::i32 || type == dtype::u32 ||
                type == dtype::i64,
            file, offset_, "token ids must be u1, u2, i4, u4 or i8, are {}", name_of(type));
    width_ = static_cast<std::uint64_t>(bits_of(type) / 8);
    const std::uint64_t bytes = source_.size() - offset_;
    require(bytes % width_ == 0, file, source_.size(), "token file must hold ids of {} bytes, has {} bytes",
            width_, bytes);
    size_ = static_cast<index>(bytes / width_);
    if (format != token_format::npy) shape_ = {1, size_};
    const bool is_signed = type == dtype::i32 || type == dtype::i64;
    const std::uint64_t limit = vocabulary > 0 ? vocabulary : std::uint64_t{1} << (is_signed ? 31 : 32);
    if (vocabulary > 0 || is_signed)
      for (index i = 0; i < size_; ++i) {
        const std::uint64_t id = wide(i);
        const auto shown = type == dtype::i32 ? static_cast<std::int32_t>(id) : static_cast<std::int64_t>(id);
        require(id < limit, file, offset_ + static_cast<std::uint64_t>(i) * width_,
                "token id {} is outside [0, {})", shown, limit);
      }
  }

  index size() const { return size_; }
  index rows() const { return shape_[0]; }  ///< sequences of a 2-D .npy file; 1 otherwise
  index cols() const { return shape_[1]; }  ///< tokens of a row
  /// Token `i` (0 <= i < size(), not checked).
  std::uint32_t operator[](index i) const { return static_cast<std::uint32_t>(wide(i)); }
  const path& file() const { return source_.file(); }

  /// All ids, rows x cols. T must hold them.
  template <class T = std::int32_t>
  matrix<T> table() const {
    matrix<T> out(rows(), cols());
    for (index i = 0; i < size_; ++i) out.data()[i] = static_cast<T>(wide(i));
    return out;
  }

 private:
  std::uint64_t wide(index i) const {
    const std::byte* at = source_.bytes().data() + offset_ + static_cast<std::uint64_t>(i) * width_;
    const auto load = [&]<class Raw>(Raw raw) { return std::memcpy(&raw, at, sizeof raw), raw; };
    switch (width_) {
      case 1:
        return load(std::uint8_t{});
      case 2:
        return load(std::uint16_t{});
      case 4:
        return load(std::uint32_t{});
      default:
        return load(std::uint64_t{});
    }
  }

  mapped_file source_;
  std::uint64_t offset_ = 0, width_ = 1;
  index size_ = 0;
  std::array<index, 2> shape_{1, 0};
};

/// The bytes of several text files, one after the other, as token ids 0 ... 255. \throws io_error, also for
/// an empty file
inline std::vector<std::uint8_t> read_text_bytes(std::span<const path> files) {
  std::vector<std::uint8_t> out;
  for (const path& file : files) {
    const mapped_file source(file);
    require(source.size() > 0, file, 0, "text file is empty");
    const auto* from = reinterpret_cast<const std::uint8_t*>(source.bytes().data());
    out.insert(out.end(), from, from + source.size());
  }
  return out;
}

}  // namespace quench::inline QUENCH_ISA::io
