#pragma once
/// \file  One chunk of sequences through the whole model: tokens to logits, and gradients back to the
/// embedding.
#include <quench/nn/sites.hpp>

namespace quench::inline QUENCH_ISA::nn::detail {

/// The residual stream in front of block i: kept for every block, or two that take turns.
template <class T>
T* stream(const pass<T>& p, index i) {
  return p.own.stream[static_cast<std::size_t>(p.keep ? i : i % 2)].reshape(p.rows(), p.config.d);
}

/// Where the token of row r lies: input r % length of sequence r / length, `stride` apart.
template <class T>
index token_of(const pass<T>& p, const std::int32_t* tokens, index stride, index r) {
  return tokens[r / p.length * stride + r % p.length];
}

/// Leaves the logits [rows, vocab] in p.own.logits. `table` is the embedding as the lookup reads it.
template <class T>
void chunk_forward(const pass<T>& p, const matrix<T>& table, const std::int32_t* tokens, index stride) {
  const index d = p.config.d, vocab = p.config.vocab;
  T* x = stream(p, 0);
  for (index r = 0; r < p.rows(); ++r)
    std::copy_n(table.data() + token_of(p, tokens, stride, r) * d, d, x + r * d);
  p.report(-1, "embed.out", false, x, p.rows(), d);
  for (index i = 0; i < p.config.blocks; ++i) {
    T* z = stream(p, i + 1);
    with_block(p, i, [&](const auto& block) { block.forward(x, z); });
    x = z;
  }
  T* norm = p.own.final_norm.reshape(p.rows(), d);
  T* logits = p.own.logits.reshape(p.rows(), vocab);
  final_norm(p, x, norm);
  p.report(-1, "final_norm.out", false, norm, p.rows(), d);
  linear_forward(p, p.sites.size() - 1, norm, logits);
  p.report(-1, "logits", false, logits, p.rows(), vocab);
}

/// Adds every gradient of the chunk, from p.own.logits = d loss / d logits, after a forward that kept its
/// states.
template <class T>
void chunk_backward(const pass<T>& p, const std::int32_t* tokens, index stride) {
  const index d = p.config.d;
  T *g = p.own.dstream.reshape(p.rows(), d), *dnorm = p.own.da.reshape(p.rows(), d);
  p.report(-1, "logits", true, p.own.logits.data(), p.rows(), p.config.vocab);
  linear_backward(p, p.sites.size() - 1, p.own.final_norm.data(), p.own.logits.data(), dnorm, false);
  p.report(-1, "final_norm.out", true, dnorm, p.rows(), d);
  final_norm_backward(p, p.own.stream.back().data(), dnorm, g);
  for (index i = p.config.blocks; i-- > 0;)
    with_block(p, i, [&](const auto& block) {
      block.backward(p.own.stream[static_cast<std::size_t>(i)].data(), g);
    });
  p.report(-1, "embed.out", true, g, p.rows(), d);
  for (index r = 0; r < p.rows(); ++r) {
    T* to = p.grad(0) + token_of(p, tokens, stride, r) * d;
    const T* from = g + r * d;
    for_row<T>(d, [&]<class V>(index j, V) { put(to + j, get<V>(to + j) + get<V>(from + j)); });
  }
}

}  // namespace quench::inline QUENCH_ISA::nn::detail
