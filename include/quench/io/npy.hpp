#pragma once
/// \file  NumPy's .npy files (format 1.0 to 3.0, NEP 1): numeric arrays of any rank, either storage order,
/// little endian.
#include <quench/io/atomic_file.hpp>
#include <quench/io/convert.hpp>

namespace quench::inline QUENCH_ISA::io {

/// What a .npy header says.
struct npy_header {
  dtype type = dtype::f32;
  bool fortran_order = false;     ///< first axis contiguous
  std::vector<index> shape;       ///< empty for a 0-D array
  std::uint64_t data_offset = 0;  ///< where the elements begin
  std::uint64_t count = 0;        ///< elements
};

namespace detail {

/// Reads the Python dictionary literal of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3),
/// }.
class npy_dictionary {
 public:
  npy_dictionary(std::string_view text, const path& file, std::uint64_t offset)
      : text_(text), file_(file), offset_(offset) {}

  void read(npy_header& h) {
    bool seen[3] = {};
    take('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      take(':');
      const int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : 3;
      require(which < 3 && !seen[which], file_, offset_ + at_, "npy header has the {} key \"{}\"",
              which < 3 ? "repeated" : "unknown", printable(key));
      seen[which] = true;
      if (which == 0)
        h.type = type(quoted());
      else if (which == 1)
        h.fortran_order = boolean();
      else
        shape(h.shape);
      if (!accept(',')) {
        take('}');
        break;
      }
    }
    require(seen[0] && seen[1] && seen[2], file_, offset_ + at_,
            "npy header lacks descr, fortran_order or shape");
    blank();
    require(at_ == text_.size(), file_, offset_ + at_, "npy header has bytes after the dictionary");
  }

 private:
  void blank() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    blank();
    return at_ < text_.size() && text_[at_] == c ? ++at_, true : false;
  }
  void take(char c) {
    require(accept(c), file_, offset_ + at_, "npy header: '{}' expected", std::string_view(&c, 1));
  }
  std::string_view quoted() {
    const bool single = accept('\'');
    require(single || accept('"'), file_, offset_ + at_, "npy header: a quoted string expected");
    const char quote = single ? '\'' : '"';
    const auto end = text_.find(quote, at_);
    require(end != text_.npos, file_, offset_ + at_, "npy header: unterminated string");
    const std::size_t begin = std::exchange(at_, end + 1);
    return text_.substr(begin, end - begin);
  }
  bool boolean() {
    blank();
    for (const bool b : {true, false})
      if (const std::string_view word = b ? "True" : "False"; text_.substr(at_, word.size()) == word)
        return at_ += word.size(), b;
    fail(file_, offset_ + at_, "npy header: fortran_order must be True or False");
  }
  void shape(std::vector<index>& out) {
    take('(');
    while (!accept(')')) {
      blank();
      std::uint64_t d = 0;
      const auto begin = at_;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
        require(!__builtin_mul_overflow(d, std::uint64_t{10}, &d) &&
                    !__builtin_add_overflow(d, std::uint64_t(text_[at_] - '0'), &d) && d >> 62 == 0,
                file_, offset_ + at_, "npy header: a dimension is too large");
      require(at_ > begin, file_, offset_ + at_, "npy header: a dimension must be a whole number");
      require(out.size() < 32, file_, offset_ + at_, "npy header: more than 32 dimensions");
      out.push_back(static_cast<index>(d));
      if (!accept(',')) {
        take(')');
        break;
      }
    }
  }
  dtype type(std::string_view descr) {
    require(descr.size() >= 3, file_, offset_ + at_, "npy element type \"{}\" is not numeric",
            printable(descr));
    const char order = descr[0];
    const std::string_view kind = descr.substr(1);
    constexpr std::pair<std::string_view, dtype> known[] = {
        {"f2", dtype::f16}, {"f4", dtype::f32}, {"f8", dtype::f64}, {"i1", dtype::i8},
        {"i2", dtype::i16}, {"i4", dtype::i32}, {"i8", dtype::i64}, {"u1", dtype::u8},
        {"u2", dtype::u16}, {"u4", dtype::u32}, {"u8", dtype::u64}, {"b1", dtype::boolean},
        {"c8", dtype::c64}};
    for (const auto& [name, t] : known)
      if (name == kind) {
        require(order == '<' || order == '|' || (order == '=') || bits_of(t) == 8, file_, offset_ + at_,
                "npy element type \"{}\": byte order is big endian, only little endian is read",
                printable(descr));
        return t;
      }
    fail(file_, offset_ + at_, "npy element type \"{}\" is not known", printable(descr));
  }

  std::string_view text_;
  const path& file_;
  std::uint64_t offset_;
  std::size_t at_ = 0;
};

}  // namespace detail

/// Reads and validates a header, and that the file holds all its elements (bytes after them are an error
/// too). \throws io_error
inline npy_header parse_npy(const mapped_file& source) {
  const path& file = source.file();
  require(source.size() >= 10 && source.text().substr(0, 6) == "\x93NUMPY", file, 0, "is not a .npy file");
  const int major = std::to_integer<int>(source.bytes()[6]);
  require(major >= 1 && major <= 3, file, 6, "npy format version {} is not known (1 to 3 are)", major);
  std::uint32_t length = 0;
  const std::uint64_t width = major == 1 ? 2 : 4;
  std::memcpy(&length, source.bytes(8, width).data(), width);
  npy_header h;
  h.data_offset = 8 + width + length;
  require(h.data_offset <= source.size(), file, 8, "npy header says it has {} bytes, the file ends before",
          length);
  detail::npy_dictionary(source.text().substr(8 + width, length), file, 8 + width).read(h);
  const auto count = element_count(h.shape);
  const auto bytes = count ? byte_count(h.type, *count) : std::nullopt;
  require(bytes.has_value(), file, 8 + width, "npy shape has too many elements");
  require(*bytes == source.size() - h.data_offset, file, h.data_offset,
          "npy data must be {} bytes, {} are there", *bytes, source.size() - h.data_offset);
  h.count = *count;
  return h;
}

/// Reads an array as a matrix of T: rows = first axis, other axes flattened; 1-D is one row, 0-D 1 x 1.
/// Fortran order is transposed into row-major (rank 2 and below). T as for decode_elements: float, double, or
/// a wide enough integer. \throws io_error also when the element type does not convert to T
template <class T>
matrix<T> read_npy(const path& file) {
  const mapped_file source(file);
  const npy_header h = parse_npy(source);
  const auto [rows, cols] = matrix_shape(h.shape);
  const bool transposed = h.fortran_order && h.shape.size() > 1;
  require(!transposed || h.shape.size() == 2, file, 8, "npy array of rank {} in Fortran order",
          h.shape.size());
  matrix<T> out(transposed ? cols : rows, transposed ? rows : cols);
  require(decode_elements(h.type, source.bytes().subspan(h.data_offset), out.data()), file, h.data_offset,
          "npy elements of type {} do not convert to the type asked for", name_of(h.type));
  if (transposed) return matrix<T>(out.transpose());
  return out;
}

/// Writes a row-major array of any rank, atomically. \param values product(shape) elements \throws io_error
template <class T>
void write_npy(const path& file, std::span<const T> values, std::span<const index> shape) {
  expects(element_count(shape) == values.size(),
          "write_npy: values must have product(shape) elements, has {}", values.size());
  constexpr char kind = std::is_same_v<T, bool>       ? 'b'
                        : std::is_floating_point_v<T> ? 'f'
                        : std::is_signed_v<T>         ? 'i'
                                                      : 'u';
  std::string text = std::string("{'descr': '") + (sizeof(T) == 1 ? '|' : '<') + kind +
                     std::to_string(sizeof(T)) + "', 'fortran_order': False, 'shape': (";
  for (const index d : shape)
    text += std::to_string(d) + (shape.size() == 1 ? "," : &d == &shape.back() ? "" : ", ");
  text += "), }";
  text.append((64 - (10 + text.size() + 1) % 64) % 64, ' ') += '\n';
  expects(text.size() < 65536, "write_npy: shape must have fewer dimensions, has {}", shape.size());
  atomic_file out(file);
  out.append(std::string_view("\x93NUMPY\x01\0", 8));
  out.append_number(static_cast<std::uint16_t>(text.size()));
  out.append(text);
  out.append(std::as_bytes(values));
  out.commit();
}
template <class T>
void write_npy(const path& file, const matrix<T>& m) {
  const index shape[] = {m.rows(), m.cols()};
  write_npy<T>(file, {m.data(), static_cast<std::size_t>(m.size())}, shape);
}

}  // namespace quench::inline QUENCH_ISA::io
