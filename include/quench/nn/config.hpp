#pragma once
/// \file  Which small transformer: the numbers that fix parameters, shapes and cost (paper 2509.23500 section
/// 2 for OLMo2-like; Touvron et al. 2023 for Llama; Black et al. 2022 for GPT-NeoX).
#include <quench/core/error.hpp>
#include <quench/core/matrix.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>

namespace quench::inline QUENCH_ISA::nn {

enum class architecture {
  olmo2,   ///< norms behind the branches, squared ReLU, unit-length q and k, a learned scale a head
  llama,   ///< RMSNorm before the branches, SwiGLU
  gptneox  ///< LayerNorm, biases, fused q/k/v, partial rotary, both branches read the same input, exact GELU
};
constexpr auto names_of(std::type_identity<architecture>) {
  return std::array<std::string_view, 3>{"olmo2", "llama", "gptneox"};
}

/// The shape of a model. An aggregate; every model that is built from it calls check() first.
struct model_config {
  architecture arch = architecture::olmo2;
  index vocab = 256;   ///< tokens are 0 .. vocab-1
  index d = 96;        ///< width of the residual stream
  index heads = 6;     ///< query heads, each d/heads wide (even)
  index groups = 2;    ///< key/value heads; query head h reads group h / (heads/groups)
  index hidden = 384;  ///< width inside the MLP
  index blocks = 4;
  index ctx = 128;            ///< longest sequence of inputs
  double rope_base = 1024;    ///< theta_j = rope_base^(-2j/rotary), > 1
  double norm_eps = 0x1p-52;  ///< added to the mean square inside every norm; >= 0. Explicit, because
                              ///< "machine epsilon" names a different function in float and in double
  bool tied = true;           ///< the output matrix is the embedding
  index rotary = 0;           ///< rotated features of a head (gptneox); 0 = all. Even, at most d/heads

  constexpr bool operator==(const model_config&) const = default;
  constexpr index head_dim() const { return heads > 0 ? d / heads : 0; }
  constexpr index kv_dim() const { return groups * head_dim(); }
  constexpr index rotary_dim() const { return rotary > 0 ? rotary : head_dim(); }

  /// \throws error naming the field, the rule and the value
  void check() const {
    const auto positive = [](index x, std::string_view field) {
      expects(x >= 1 && x <= index{1} << 30, "model_config: {} must be 1 to 2^30, is {}", field, x);
    };
    positive(vocab, "vocab");
    positive(d, "d");
    positive(heads, "heads");
    positive(groups, "groups");
    positive(hidden, "hidden");
    positive(blocks, "blocks");
    positive(ctx, "ctx");
    expects(d % heads == 0 && head_dim() % 2 == 0,
            "model_config: d must be an even multiple of heads, is {} with {} heads", d, heads);
    expects(heads % groups == 0, "model_config: heads must be a multiple of groups, is {} with {} groups",
            heads, groups);
    expects(arch != architecture::gptneox || groups == heads,
            "model_config: gptneox needs groups equal to heads, has {} and {}", groups, heads);
    expects(rotary >= 0 && rotary % 2 == 0 && rotary <= head_dim(),
            "model_config: rotary must be even and at most d/heads = {}, is {}", head_dim(), rotary);
    expects(rotary == 0 || arch == architecture::gptneox,
            "model_config: rotary is an option of gptneox, is {}", rotary);
    expects(std::isfinite(rope_base) && rope_base > 1,
            "model_config: rope_base must be finite and above 1, is {}", rope_base);
    expects(std::isfinite(norm_eps) && norm_eps >= 0,
            "model_config: norm_eps must be finite and not negative, is {}", norm_eps);
  }

  /// Numbers in all parameters; a tied matrix counts once.
  constexpr index parameter_count() const {
    const index attention = 2 * d * d + 2 * d * kv_dim();
    index block = 0;
    switch (arch) {
      case architecture::olmo2:
        block = attention + 2 * d * hidden + heads + 2 * d;
        break;
      case architecture::llama:
        block = attention + 3 * d * hidden + 2 * d;
        break;
      case architecture::gptneox:
        block = 4 * d * d + 4 * d + 2 * d * hidden + hidden + d + 4 * d;
        break;
    }
    return vocab * d * (tied ? 1 : 2) + blocks * block + d * (arch == architecture::gptneox ? 2 : 1);
  }

  /// Model operations of training on one token of a sequence of `length` inputs: 6 for every number in a
  /// matrix that multiplies (2 forward, 4 backward; the output matrix counts, a lookup table that only
  /// fetches rows does not), and attention, 6 d (length + 1) a block: q.k and p.v, 2 each a feature and
  /// visible key, (length + 1)/2 keys visible on average under the causal mask, three times for forward and
  /// backward. Norms, softmax and rotations are not counted.
  constexpr double training_flops_per_token(index length) const {
    return 3 * forward_flops_per_token(length);
  }
  /// The forward third of training_flops_per_token.
  constexpr double forward_flops_per_token(index length) const {
    const double mlp = (arch == architecture::llama ? 3.0 : 2.0) * double(d) * double(hidden);
    const double matrices =
        double(blocks) * (2.0 * double(d) * double(d + kv_dim()) + mlp) + double(vocab) * double(d);
    return 2 * matrices + double(blocks) * 2.0 * double(d) * double(length + 1);
  }
};

/// The paper's model family: ratio 3 query heads a group, d = head_dim * heads, hidden = 4 d, rope base 1024,
/// tied. `heads` must be a multiple of 3. The paper's own sizes have head_dim 128, vocab 32000 and ctx 1024.
inline model_config olmo2(index heads, index blocks, index head_dim = 16, index vocab = 256,
                          index ctx = 128) {
  expects(heads >= 3 && heads % 3 == 0, "olmo2: heads must be a multiple of 3, is {}", heads);
  model_config c{.arch = architecture::olmo2,
                 .vocab = vocab,
                 .d = heads * head_dim,
                 .heads = heads,
                 .groups = heads / 3,
                 .hidden = 4 * heads * head_dim,
                 .blocks = blocks,
                 .ctx = ctx};
  c.check();
  return c;
}

/// Llama: rope base 1e4, norm_eps 1e-5, SwiGLU.
inline model_config llama(index d, index heads, index groups, index hidden, index blocks, index vocab,
                          index ctx, bool tied = true) {
  model_config c{.arch = architecture::llama,
                 .vocab = vocab,
                 .d = d,
                 .heads = heads,
                 .groups = groups,
                 .hidden = hidden,
                 .blocks = blocks,
                 .ctx = ctx,
                 .rope_base = 1e4,
                 .norm_eps = 1e-5,
                 .tied = tied};
  c.check();
  return c;
}

/// GPT-NeoX as in Pythia: a quarter of each head rotated (rounded down to even, at least 2) unless `rotary`
/// says more, rope base 1e4, norm_eps 1e-5, hidden = 4 d, untied.
inline model_config gptneox(index d, index heads, index blocks, index vocab, index ctx, index rotary = 0) {
  const index quarter = heads > 0 ? d / heads / 8 * 2 : 0;
  model_config c{.arch = architecture::gptneox,
                 .vocab = vocab,
                 .d = d,
                 .heads = heads,
                 .groups = heads,
                 .hidden = 4 * d,
                 .blocks = blocks,
                 .ctx = ctx,
                 .rope_base = 1e4,
                 .norm_eps = 1e-5,
                 .tied = false,
                 .rotary = rotary > 0    ? rotary
                           : quarter > 2 ? quarter
                                         : 2};
  c.check();
  return c;
}

/// Sequences of tokens in memory: sequence s is tokens[s * stride] .. tokens[s * stride + length - 1], and
/// gives length - 1 inputs and the length - 1 targets one place to the right. `stride` 0 means `length`.
struct batch_view {
  const std::int32_t* tokens = nullptr;
  index sequences = 0, length = 0, stride = 0;
  const std::int32_t* sequence(index s) const { return tokens + s * (stride > 0 ? stride : length); }
  index predictions() const { return sequences * (length - 1); }
};

}  // namespace quench::inline QUENCH_ISA::nn
