#pragma once
/// \file  The header of a GGUF file (ggml, docs/gguf.md), versions 2 and 3, read strictly: every count,
/// length and offset is held against the file before it is used.
#include <quench/io/gguf_value.hpp>
#include <quench/io/utf8.hpp>

#include <algorithm>
#include <map>

namespace quench::inline QUENCH_ISA::io {

/// One tensor. `shape` is as numpy has it: the last axis is contiguous (GGUF's ne[] reversed).
struct gguf_tensor {
  std::string name;
  const ggml_type_facts* type = nullptr;
  std::vector<index> shape;
  std::uint64_t begin = 0;  ///< first byte, from the start of the file
  std::uint64_t bytes = 0;
  std::uint64_t count() const { return bytes / type->bytes * type->elements; }
};

struct gguf_header {
  std::uint32_t version = 3;
  std::vector<std::pair<std::string, gguf_value>> metadata;  ///< in the file's order
  std::vector<gguf_tensor> tensors;                          ///< in the file's order
  std::uint64_t alignment = 32, data_offset = 0;

  /// nullptr when there is no such key.
  const gguf_value* find(std::string_view key) const {
    for (const auto& [k, v] : metadata)
      if (k == key) return &v;
    return nullptr;
  }
};

namespace detail {

/// Walks the header; each take checks that the file goes on.
class gguf_cursor {
 public:
  gguf_cursor(std::span<const std::byte> bytes, const path& file) : bytes_(bytes), file_(file) {}

  std::uint64_t at() const { return at_; }
  std::uint64_t left() const { return bytes_.size() - at_; }
  template <class... Values>
  void require(bool ok, std::string_view pattern, const Values&... values) const {
    io::require(ok, file_, at_, pattern, values...);
  }
  std::string_view take(std::uint64_t n, std::string_view what) {
    require(n <= left(), "GGUF file ends inside {}: {} bytes wanted, {} left", what, n, left());
    const auto* from = reinterpret_cast<const char*>(bytes_.data()) + at_;
    at_ += n;
    return {from, static_cast<std::size_t>(n)};
  }
  template <class T>
  T number(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  std::string_view string(std::string_view what) {
    const auto length = number<std::uint64_t>(what);
    return take(length, what);
  }
  gguf_type type(std::string_view what) {
    const auto id = number<std::uint32_t>(what);
    require(id <= 12, "GGUF {} has the unknown type {}", what, id);
    return static_cast<gguf_type>(id);
  }
  gguf_value value(std::string_view key) {
    const std::string what = "the value of \"" + printable(key) + "\"";
    const gguf_type t = type(what);
    if (t == gguf_type::string) return {t, gguf_type::u8, 1, string(what)};
    if (t != gguf_type::array) return {t, gguf_type::u8, 1, fixed(t, 1, what)};
    const gguf_type e = type(what);
    require(e != gguf_type::array, "GGUF {} is an array of arrays", what);
    const auto n = number<std::uint64_t>(what);
    if (e != gguf_type::string) return {t, e, n, fixed(e, n, what)};
    require(n <= left() / 8, "GGUF {} cannot hold {} strings in {} bytes", what, n, left());
    const std::uint64_t from = at_;
    for (std::uint64_t i = 0; i < n; ++i) string(what);
    return {
        t, e, n, {reinterpret_cast<const char*>(bytes_.data()) + from, static_cast<std::size_t>(at_ - from)}};
  }

 private:
  std::string_view fixed(gguf_type t, std::uint64_t n, std::string_view what) {
    require(n <= left() / gguf_size(t), "GGUF file ends inside {}: {} values wanted, {} bytes left", what, n,
            left());
    const std::string_view raw = take(n * gguf_size(t), what);
    if (t == gguf_type::boolean)
      require(raw.find_first_not_of(std::string_view("\0\1", 2)) == raw.npos,
              "GGUF {}: a bool must be 0 or 1", what);
    return raw;
  }

  std::span<const std::byte> bytes_;
  const path& file_;
  std::uint64_t at_ = 0;
};

inline void read_gguf_start(gguf_cursor& c, gguf_header& h) {
  const auto magic = c.take(4, "the magic");
  c.require(magic != "FUGG", "is a GGUF file of the other byte order");
  c.require(magic == "GGUF", "is not a GGUF file");
  h.version = c.number<std::uint32_t>("the version");
  c.require((h.version & 0xffff) != 0 || h.version == 0,
            "is a GGUF file of the other byte order (version {})", __builtin_bswap32(h.version));
  c.require(h.version == 2 || h.version == 3, "is GGUF version {}, versions 2 and 3 are read", h.version);
}

inline gguf_tensor read_gguf_tensor(gguf_cursor& c) {
  gguf_tensor t;
  t.name = c.string("a tensor's name");
  const std::string name = printable(t.name);
  c.require(!t.name.empty() && is_utf8(t.name), "GGUF tensor name \"{}\" must be UTF-8 and not empty", name);
  const auto rank = c.number<std::uint32_t>("a tensor's rank");
  c.require(rank <= 4, "GGUF tensor \"{}\" has {} dimensions, at most 4", name, rank);
  for (std::uint32_t i = 0; i < rank; ++i) {
    const auto n = c.number<std::uint64_t>("a tensor's shape");
    c.require(n >> 62 == 0, "GGUF tensor \"{}\" has an impossible dimension {}", name, n);
    t.shape.insert(t.shape.begin(), static_cast<index>(n));
  }
  const auto id = c.number<std::uint32_t>("a tensor's type");
  t.type = ggml_type_of_id(id);
  c.require(t.type != nullptr, "GGUF tensor \"{}\" has the unknown type {}", name, id);
  const auto bytes = ggml_bytes(*t.type, t.shape);
  c.require(bytes.has_value(),
            "GGUF tensor \"{}\" of type {} has rows of {} elements (blocks of {}) or too many elements", name,
            t.type->name, t.shape.empty() ? 1 : t.shape.back(), t.type->elements);
  t.bytes = *bytes;
  t.begin = c.number<std::uint64_t>("a tensor's offset");
  return t;
}

/// Offsets become positions in the file; tensors must lie inside it and not on each other.
inline void place_gguf_tensors(gguf_header& h, const path& file, std::uint64_t file_size) {
  std::vector<const gguf_tensor*> order;
  const std::uint64_t room = file_size - std::min(file_size, h.data_offset);
  for (gguf_tensor& t : h.tensors) {
    require(t.begin <= room && t.bytes <= room - t.begin, file, std::min(file_size, h.data_offset),
            "GGUF tensor \"{}\" has {} bytes at offset {} of {} bytes of data", printable(t.name), t.bytes,
            t.begin, room);
    t.begin += h.data_offset;
    if (t.bytes > 0) order.push_back(&t);
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->begin < b->begin; });
  for (std::size_t i = 1; i < order.size(); ++i)
    require(order[i]->begin >= order[i - 1]->begin + order[i - 1]->bytes, file, order[i]->begin,
            "GGUF tensors \"{}\" and \"{}\" overlap", printable(order[i - 1]->name),
            printable(order[i]->name));
}

}  // namespace detail

/// Parses and validates the header of a whole file given as bytes. Tensor offsets are followed as they stand
/// (aligned or not, in any order), as long as they stay inside the file and apart from each other. \throws
/// io_error (file, byte, reason)
inline gguf_header parse_gguf(std::span<const std::byte> bytes, const path& file) {
  detail::gguf_cursor c(bytes, file);
  gguf_header h;
  detail::read_gguf_start(c, h);
  const auto tensors = c.number<std::uint64_t>("the tensor count"),
             pairs = c.number<std::uint64_t>("the metadata count");
  c.require(tensors <= c.left() / 24, "GGUF file of {} bytes cannot hold {} tensors", bytes.size(), tensors);
  c.require(pairs <= c.left() / 13, "GGUF file of {} bytes cannot hold {} metadata entries", bytes.size(),
            pairs);
  std::map<std::string_view, bool> seen;
  for (std::uint64_t i = 0; i < pairs; ++i) {
    const auto key = c.string("a metadata key");
    c.require(!key.empty() && is_utf8(key), "GGUF metadata key \"{}\" must be UTF-8 and not empty",
              printable(key));
    c.require(seen.emplace(key, true).second, "GGUF metadata has the key \"{}\" twice", printable(key));
    h.metadata.emplace_back(key, c.value(key));
  }
  if (const gguf_value* a = h.find("general.alignment")) {
    h.alignment = a->type() == gguf_type::u32 ? a->number<std::uint32_t>() : 0;
    c.require(h.alignment > 0 && (h.alignment & (h.alignment - 1)) == 0,
              "GGUF general.alignment must be a u32 power of two");
  }
  std::map<std::string, bool> names;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    h.tensors.push_back(detail::read_gguf_tensor(c));
    c.require(names.emplace(h.tensors.back().name, true).second, "GGUF file has the tensor \"{}\" twice",
              printable(h.tensors.back().name));
  }
  h.data_offset = (c.at() + h.alignment - 1) / h.alignment * h.alignment;
  detail::place_gguf_tensors(h, file, bytes.size());
  return h;
}

}  // namespace quench::inline QUENCH_ISA::io
