#pragma once
/// \file  Checkpoints of llama2.c, version 0 (Karpathy 2023): 7 ints, then float32 matrices in a fixed order.
#include <quench/io/dtype.hpp>
#include <quench/io/file.hpp>

#include <vector>

namespace quench::inline QUENCH_ISA::io {

/// The header. `tied`: the output matrix is the embedding (stored as a positive vocabulary size).
struct llama2c_config {
  index dim = 0, hidden_dim = 0, layers = 0, heads = 0, kv_heads = 0, vocabulary = 0, context = 0;
  bool tied = true;
  index head_dim() const { return dim / heads; }
  index kv_dim() const { return head_dim() * kv_heads; }
};

/// One tensor of the file: row-major [out, in], or a vector as one row. The data live in the mapped file.
struct llama2c_tensor {
  std::string name;  ///< Meta's: tok_embeddings.weight, layers.N.attention.wq.weight, norm.weight, ...
  index rows = 0, cols = 0;
  const float* data = nullptr;
  Eigen::Map<const matrix<float>> map() const { return {data, rows, cols}; }
};

/// A mapped checkpoint: config and tensors, validated against the file's size. RoPE tables in the file are
/// skipped. \throws io_error: dimensions out of range or inconsistent, file shorter or longer than the config
/// says, or a newer version ("ak42" magic)
class llama2c_file {
 public:
  explicit llama2c_file(const path& file) : source_(file) {
    std::int32_t raw[7];
    std::memcpy(raw, source_.bytes(0, sizeof raw).data(), sizeof raw);
    require(raw[0] != 0x616b3432, file, 0, "is a llama2.c checkpoint of version {}, only version 0 is read",
            raw[1]);
    constexpr std::string_view names[] = {"dim",        "hidden_dim", "n_layers",   "n_heads",
                                          "n_kv_heads", "vocab_size", "max_seq_len"};
    for (std::uint64_t i = 0; i < 7; ++i) {
      const std::int64_t v = i == 5 ? std::abs(std::int64_t{raw[i]}) : raw[i];
      require(v >= 1 && v <= 1 << 24, file, 4 * i, "llama2.c header: {} must be 1 to 2^24, is {}", names[i],
              raw[i]);
    }
    config_ = {raw[0], raw[1], raw[2], raw[3], raw[4], std::abs(raw[5]), raw[6], raw[5] > 0};
    const llama2c_config& c = config_;
    require(c.dim % c.heads == 0 && c.head_dim() % 2 == 0, file, 12,
            "llama2.c header: dim {} must be an even multiple of n_heads {}", c.dim, c.heads);
    require(c.heads % c.kv_heads == 0, file, 16,
            "llama2.c header: n_heads {} must be a multiple of n_kv_heads {}", c.heads, c.kv_heads);
    // Each layer takes at least one float per head and matrix row: bounds the list of tensors by the file's
    // size.
    require(static_cast<std::uint64_t>(c.layers) <= source_.size() / 4, file, 8,
            "llama2.c header: {} layers do not fit in {} bytes", c.layers, source_.size());
    add(1, "tok_embeddings.weight", c.vocabulary, c.dim);
    add(c.layers, "attention_norm.weight", 1, c.dim);
    add(c.layers, "attention.wq.weight", c.dim, c.dim);
    add(c.layers, "attention.wk.weight", c.kv_dim(), c.dim);
    add(c.layers, "attention.wv.weight", c.kv_dim(), c.dim);
    add(c.layers, "attention.wo.weight", c.dim, c.dim);
    add(c.layers, "ffn_norm.weight", 1, c.dim);
    add(c.layers, "feed_forward.w1.weight", c.hidden_dim, c.dim);
    add(c.layers, "feed_forward.w2.weight", c.dim, c.hidden_dim);
    add(c.layers, "feed_forward.w3.weight", c.hidden_dim, c.dim);
    add(1, "norm.weight", 1, c.dim);
    take(static_cast<std::uint64_t>(c.context) * static_cast<std::uint64_t>(c.head_dim()) * 4, "rope tables");
    if (!c.tied) add(1, "output.weight", c.vocabulary, c.dim);
    require(at_ == source_.size(), file, at_, "llama2.c checkpoint has {} bytes after its last tensor",
            source_.size() - at_);
  }

  const llama2c_config& config() const { return config_; }
  const std::vector<llama2c_tensor>& tensors() const { return tensors_; }
  const path& file() const { return source_.file(); }
  /// \throws io_error when there is no tensor of that name
  const llama2c_tensor& at(std::string_view name) const {
    for (const auto& t : tensors_)
      if (t.name == name) return t;
    fail(file(), 0, "has no tensor \"{}\"", printable(name));
  }

 private:
  const float* take(std::uint64_t bytes, std::string_view what) {
    require(bytes <= source_.size() - at_, file(), at_, "ends inside {}: {} bytes wanted, {} left", what,
            bytes, source_.size() - at_);
    return reinterpret_cast<const float*>(source_.bytes().data() + std::exchange(at_, at_ + bytes));
  }
  void add(index copies, std::string_view name, index rows, index cols) {
    const bool per_layer = name.starts_with("att") || name.starts_with("ff") || name.starts_with("feed");
    for (index l = 0; l < copies; ++l) {
      std::string full = per_layer ? "layers." + std::to_string(l) + "." : std::string();
      full += name;
      // Each factor is at most 2^24, so 4 rows cols fits in 64 bits.
      const float* data = take(static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(cols) * 4, full);
      tensors_.push_back({std::move(full), rows, cols, data});
    }
  }

  mapped_file source_;
  llama2c_config config_;
  std::vector<llama2c_tensor> tensors_;
  std::uint64_t at_ = 28;
};

}  // namespace quench::inline QUENCH_ISA::io
