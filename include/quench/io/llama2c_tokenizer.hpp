#pragma once
/// \file  The tokenizer file of llama2.c (Karpathy 2023): scored pieces, merged greedily by best score
/// (SentencePiece BPE).
#include <quench/io/file.hpp>

#include <cstring>
#include <limits>
#include <unordered_map>
#include <vector>

namespace quench::inline QUENCH_ISA::io {

/// Pieces and scores; id 0 is <unk>, 1 <s>, 2 </s>, then 256 byte pieces <0xNN>. Layout: u32 longest piece,
/// then for each piece f32 score, i32 length, bytes. \throws io_error: truncated, a length outside [0,
/// longest], more or fewer pieces than `vocabulary` (when given), fewer than the 259 special pieces
class llama2c_tokenizer {
 public:
  static constexpr int unknown = 0, bos = 1, eos = 2, first_byte = 3;

  explicit llama2c_tokenizer(const path& file, std::size_t vocabulary = 0) {
    const mapped_file source(file);
    std::uint64_t at = 0;
    const auto number = [&]<class T>(T value) {
      std::memcpy(&value, source.bytes(at, sizeof value).data(), sizeof value);
      at += sizeof value;
      return value;
    };
    const auto longest = number(std::uint32_t{});
    while (at < source.size()) {
      require(vocabulary == 0 || pieces_.size() < vocabulary, file, at, "tokenizer has more than {} pieces",
              vocabulary);
      scores_.push_back(number(float{}));
      const auto length = number(std::int32_t{});
      require(length >= 0 && static_cast<std::uint32_t>(length) <= longest, file, at - 4,
              "tokenizer piece {}: length must be 0 to {}, is {}", pieces_.size(), longest, length);
      const auto bytes = source.bytes(at, static_cast<std::uint64_t>(length));
      pieces_.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      at += bytes.size();
    }
    require(vocabulary == 0 || pieces_.size() == vocabulary, file, at,
            "tokenizer must have {} pieces, has {}", vocabulary, pieces_.size());
    require(pieces_.size() >= first_byte + 256, file, at, "tokenizer must have at least 259 pieces, has {}",
            pieces_.size());
    for (std::size_t i = 0; i < pieces_.size(); ++i) ids_.emplace(pieces_[i], static_cast<int>(i));
  }

  std::size_t size() const { return pieces_.size(); }
  const std::string& piece(int id) const {
    expects(id >= 0 && static_cast<std::size_t>(id) < size(),
            "llama2c_tokenizer::piece: id must be in [0, {}), is {}", size(), id);
    return pieces_[static_cast<std::size_t>(id)];
  }

  /// The text of `id` after `previous`: a space that starts the piece after <s> is dropped, byte pieces
  /// become bytes.
  std::string decode(int previous, int id) const {
    if (id >= first_byte && id < first_byte + 256) return std::string(1, static_cast<char>(id - first_byte));
    const std::string& p = piece(id);
    return previous == bos && p.starts_with(' ') ? p.substr(1) : p;
  }
  /// The text of a sequence; <s> and </s> are silent.
  std::string decode(std::span<const int> ids) const {
    std::string out;
    int previous = 0;
    for (const int id : ids) {
      if (id != bos && id != eos) out += decode(previous, id);
      previous = id;
    }
    return out;
  }

  /// The ids of UTF-8 `text`: a leading space is added, code points (or their bytes when there is no such
  /// piece) are merged pair by pair, best score first, leftmost on ties. O(length^2). Bytes that are not
  /// UTF-8 become byte pieces.
  std::vector<int> encode(std::string_view text, bool with_bos = true, bool with_eos = false) const {
    std::vector<int> out;
    if (with_bos) out.push_back(bos);
    if (!text.empty()) push_code_points(" ", out), push_code_points(text, out);
    for (;;) {
      float best = -std::numeric_limits<float>::infinity();
      std::size_t where = out.size();
      int merged = 0;
      for (std::size_t i = with_bos ? 1 : 0; i + 1 < out.size(); ++i) {
        const auto it = ids_.find(piece(out[i]) + piece(out[i + 1]));
        if (it == ids_.end()) continue;
        if (const float s = scores_[static_cast<std::size_t>(it->second)]; s > best)
          best = s, where = i, merged = it->second;
      }
      if (where == out.size()) break;
      out[where] = merged;
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(where) + 1);
    }
    if (with_eos) out.push_back(eos);
    return out;
  }

 private:
  void push_code_points(std::string_view text, std::vector<int>& out) const {
    while (!text.empty()) {
      std::size_t n = 1;
      while (n < 4 && n < text.size() && (text[n] & 0xC0) == 0x80) ++n;
      if (const auto it = ids_.find(std::string(text.substr(0, n))); it != ids_.end())
        out.push_back(it->second);
      else
        for (const char c : text.substr(0, n)) out.push_back(first_byte + static_cast<unsigned char>(c));
      text.remove_prefix(n);
    }
  }

  std::vector<std::string> pieces_;
  std::vector<float> scores_;
  std::unordered_map<std::string, int> ids_;
};

}  // namespace quench::inline QUENCH_ISA::io
