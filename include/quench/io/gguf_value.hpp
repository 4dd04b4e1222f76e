#pragma once
/// \file  A metadata value of a GGUF file: its type and its bytes as the file has them.
#include <quench/io/gguf_types.hpp>

#include <string>
#include <utility>
#include <vector>

namespace quench::inline QUENCH_ISA::io {

/// A number, truth value, string, or an array of one of these. Held as the file's own bytes (a string without
/// its length), so that reading and writing is exact and takes no more memory than the file.
class gguf_value {
 public:
  gguf_value() = default;
  template <class T>
  requires std::is_arithmetic_v<T> gguf_value(T x) : type_(gguf_type_of<T>()) {
    append(x);
  }  // NOLINT(google-explicit-constructor)
  gguf_value(std::string_view s)
      : type_(gguf_type::string), bytes_(s) {}                    // NOLINT(google-explicit-constructor)
  gguf_value(const char* s) : gguf_value(std::string_view(s)) {}  // NOLINT(google-explicit-constructor)
  gguf_value(const std::string& s)
      : gguf_value(std::string_view(s)) {}  // NOLINT(google-explicit-constructor)
  template <class T>
  requires std::is_arithmetic_v<T> &&(!std::is_same_v<T, bool>)static gguf_value
      array(std::span<const T> values) {
    gguf_value out(gguf_type::array, gguf_type_of<T>(), values.size(), {});
    for (const T x : values) out.append(x);
    return out;
  }
  static gguf_value array(std::span<const std::string> values) {
    gguf_value out(gguf_type::array, gguf_type::string, values.size(), {});
    for (const auto& s : values) out.append(static_cast<std::uint64_t>(s.size())), out.bytes_ += s;
    return out;
  }
  /// From the bytes of a file, already validated.
  gguf_value(gguf_type type, gguf_type element, std::uint64_t count, std::string_view bytes)
      : type_(type), element_(element), count_(count), bytes_(bytes) {}

  gguf_type type() const { return type_; }
  gguf_type element() const { return element_; }  ///< of an array
  std::uint64_t size() const { return count_; }   ///< elements of an array; 1 for the rest
  std::string_view bytes() const { return bytes_; }
  bool is_string() const { return type_ == gguf_type::string; }

  /// The string. \throws error when it is none
  const std::string& string() const {
    expects(is_string(), "gguf_value::string: value must be a string, has type {}", static_cast<int>(type_));
    return bytes_;
  }
  /// The number (or truth value), converted. \throws error when it is none, or T cannot hold it
  template <class T>
  T number() const {
    T out{};
    expects(gguf_size(type_) > 0 && convert(type_, 0, &out),
            "gguf_value::number: value of type {} must be a number that fits", static_cast<int>(type_));
    return out;
  }
  /// The numbers of an array, converted. \throws error as `number`
  template <class T>
  std::vector<T> numbers() const {
    expects(type_ == gguf_type::array && gguf_size(element_) > 0,
            "gguf_value::numbers: value must be an array of numbers");
    std::vector<T> out(static_cast<std::size_t>(count_));
    for (std::size_t i = 0; i < out.size(); ++i)
      expects(convert(element_, i, &out[i]), "gguf_value::numbers: element {} must fit", i);
    return out;
  }
  /// The strings of an array. \throws error when it is none
  std::vector<std::string> strings() const {
    expects(type_ == gguf_type::array && element_ == gguf_type::string,
            "gguf_value::strings: value must be an array of strings");
    std::vector<std::string> out;
    for (std::size_t at = 0; at < bytes_.size();) {
      std::uint64_t length = 0;
      std::memcpy(&length, bytes_.data() + at, 8);
      out.emplace_back(bytes_, at + 8, static_cast<std::size_t>(length));
      at += 8 + static_cast<std::size_t>(length);
    }
    return out;
  }

  friend bool operator==(const gguf_value& a, const gguf_value& b) {
    return a.type_ == b.type_ && a.element_ == b.element_ && a.count_ == b.count_ && a.bytes_ == b.bytes_;
  }

 private:
  template <class T>
  void append(T x) {
    char raw[sizeof(T)];
    std::memcpy(raw, &x, sizeof x);
    bytes_.append(raw, sizeof x);
  }
  template <class T>
  bool convert(gguf_type t, std::size_t i, T* out) const {
    if constexpr (std::is_same_v<T, bool>) return *out = bytes_[i] != 0, t == gguf_type::boolean;
    const auto as = [&]<class Raw>(Raw raw) {
      std::memcpy(&raw, bytes_.data() + i * sizeof raw, sizeof raw);
      if constexpr (std::is_floating_point_v<T>)
        return *out = static_cast<T>(raw), true;
      else if constexpr (std::is_integral_v<Raw> && !std::is_same_v<T, bool>)
        return *out = static_cast<T>(raw), std::in_range<T>(raw);
      else
        return false;
    };
    switch (t) {
      case gguf_type::u8:
        return as(std::uint8_t{});
      case gguf_type::i8:
        return as(std::int8_t{});
      case gguf_type::u16:
        return as(std::uint16_t{});
      case gguf_type::i16:
        return as(std::int16_t{});
      case gguf_type::u32:
        return as(std::uint32_t{});
      case gguf_type::i32:
        return as(std::int32_t{});
      case gguf_type::u64:
        return as(std::uint64_t{});
      case gguf_type::i64:
        return as(std::int64_t{});
      case gguf_type::boolean:
        return as(std::uint8_t{});
      case gguf_type::f32:
        return as(float{});
      case gguf_type::f64:
        return as(double{});
      default:
        return false;
    }
  }

  gguf_type type_ = gguf_type::u8, element_ = gguf_type::u8;
  std::uint64_t count_ = 1;
  std::string bytes_;
};

}  // namespace quench::inline QUENCH_ISA::io
