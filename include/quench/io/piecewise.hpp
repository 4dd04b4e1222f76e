#pragma once
/// \file  A file whose header is written first and whose tensors then arrive in any order and in any pieces.
#include <quench/io/atomic_file.hpp>

#include <map>

namespace quench::inline QUENCH_ISA::io {

/// Where each tensor goes, and how much of it has arrived. Shared by the safetensors and GGUF writers.
class piecewise_file {
 public:
  explicit piecewise_file(const path& file) : out_(file) {}

  atomic_file& header() { return out_; }
  const path& file() const { return out_.file(); }

  /// Reserves [begin, begin + bytes), counted from `start_data`. Returns false when the name is taken.
  bool reserve(const std::string& name, std::uint64_t begin, std::uint64_t bytes) {
    return places_.emplace(name, place{begin, bytes, 0}).second;
  }
  /// The header is complete: data begin here.
  void start_data() { data_offset_ = out_.position(); }

  /// Adds `piece` behind what has arrived of tensor `name`. \throws error when there is no such tensor or it
  /// is full
  void write(const std::string& name, std::span<const std::byte> piece) {
    const auto it = places_.find(name);
    expects(it != places_.end(), "write: tensor must be one of those in the header, is {}", printable(name));
    place& p = it->second;
    expects(piece.size() <= p.bytes - p.done, "write: tensor {} must have {} bytes, got {}", printable(name),
            p.bytes, p.done + piece.size());
    out_.write_at(data_offset_ + p.begin + p.done, piece);
    p.done += piece.size();
  }

  /// Gives the file its name, at the length `data_bytes` after the header. \throws io_error when bytes are
  /// missing
  void commit(std::uint64_t data_bytes) {
    for (const auto& [name, p] : places_)
      require(p.done == p.bytes, file(), data_offset_ + p.begin + p.done,
              "tensor \"{}\" must have {} bytes, {} were written", printable(name), p.bytes, p.done);
    out_.commit(data_offset_ + data_bytes);
  }

 private:
  struct place {
    std::uint64_t begin, bytes, done;
  };
  atomic_file out_;
  std::map<std::string, place> places_;
  std::uint64_t data_offset_ = 0;
};

}  // namespace quench::inline QUENCH_ISA::io
