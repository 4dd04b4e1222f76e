#pragma once
/// \file  What one pass over a chunk of sequences works with: the model's parts, and the buffers of one
/// worker.
#include <quench/nn/config.hpp>
#include <quench/nn/gemm.hpp>
#include <quench/nn/slot.hpp>
#include <quench/optim/param.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace quench::inline QUENCH_ISA::nn {

/// One linear y = x W^T + b of the model, with a slot for a quantizer on W and one on x.
template <class T>
struct linear_site {
  std::string name;       ///< as the parameter's, without ".weight": blocks.0.attn.wq, blocks.1.mlp.fc1, head
  std::size_t parameter;  ///< W in params(); the embedding for a tied head
  std::ptrdiff_t bias = -1;  ///< b in params(), -1 for none
  bool head = false;         ///< the output matrix
  slot<T> weight, input;
};

/// Called with every linear's name and its input [tokens, in], before the input slot.
template <class T>
using input_observer = std::function<void(std::string_view name, matrix_view<const T> input)>;
/// Called with the name of a module (as in "blocks.0.attn.out") and its output, or in backward (`gradient`)
/// with d loss / d output of one chunk of sequences.
template <class T>
using module_observer = std::function<void(std::string_view name, bool gradient, matrix_view<const T> value)>;

namespace detail {

/// A linear made ready for a step: W (or what its slot made of it) packed for x W^T and for dy W.
template <class T>
struct ready_linear {
  buffer<T> forward, backward;
  matrix<T> quantized;
  std::unique_ptr<typename slot<T>::tape> tape;
};

/// What a block keeps from forward for backward, and what attention needs. One a block.
template <class T>
struct block_state {
  buffer<T> norm1, norm2;           // outputs of norms in front of branches
  buffer<T> q, k, v, probs, heads;  // q, k after rotation and norm; probs [sequence, head, query, key]
  buffer<T> out, mid, pre, gate, act, mlp;
  buffer<T> inv1, inv2, mean1, mean2, inv_q, inv_k;  // one number a row (and head)
};

/// Everything one worker writes.
template <class T>
struct shard {
  std::vector<buffer<T>> grads;   // one a parameter, and one more for a tied head that is quantized
  std::vector<buffer<T>> stream;  // the residual stream in front of each block, and behind the last
  std::vector<block_state<T>> blocks;
  struct input {
    matrix<T> raw, quantized, gradient;
    std::unique_ptr<typename slot<T>::tape> tape;
  };
  std::vector<input> inputs;  // one a linear
  buffer<T> final_norm, inv_final, mean_final, logits;
  buffer<T> dstream, da, db, dq, dk, dv, dh, dg;
  buffer<T> packed, packed2, packed3, scores, scales;  // scratch of products
  double loss = 0;
};

/// One chunk on its way: `sequences` sequences of `length` inputs each, row s * length + t.
template <class T>
struct pass {
  const model_config& config;
  const basic_param_list<T>& params;
  const std::vector<linear_site<T>>& sites;
  const std::vector<ready_linear<T>>& ready;
  const buffer<T>& cosines;  // [ctx, rotary/2]
  const buffer<T>& sines;
  shard<T>& own;
  index sequences = 0, length = 0;
  bool keep = false;  // states of all blocks are kept for backward
  const input_observer<T>* inputs = nullptr;
  const module_observer<T>* modules = nullptr;

  index rows() const { return sequences * length; }
  block_state<T>& state(index block) const { return own.blocks[static_cast<std::size_t>(keep ? block : 0)]; }
  const T* param(std::size_t i) const { return params[i].value.data(); }
  T* grad(std::size_t i) const { return own.grads[i].data(); }
  void report(index block, std::string_view name, bool gradient, const T* data, index rows, index cols,
              index stride = 0) const {
    if (!modules) return;
    std::string full = block < 0 ? std::string() : "blocks." + std::to_string(block) + ".";
    full += name;
    (*modules)(full, gradient, {data, rows, cols, stride > 0 ? stride : cols});
  }
};

}  // namespace detail
}  // namespace quench::inline QUENCH_ISA::nn
