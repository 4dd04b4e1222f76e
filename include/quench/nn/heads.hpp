#pragma once
/// \file  The attention of a block between its input and output matrices: rotation, unit norm or
/// 1/sqrt(head_dim), softmax.
#include <quench/nn/attention.hpp>
#include <quench/nn/pass.hpp>
#include <quench/nn/unit_norm.hpp>

namespace quench::inline QUENCH_ISA::nn::detail {

/// Where q, k, v (or their gradients) lie.
template <class T>
struct qkv_rows {
  head_rows<T> q, k, v;
};
/// Separate matrices [rows, d], [rows, kv_dim], [rows, kv_dim].
template <class T>
qkv_rows<T> separate_qkv(const model_config& c, T* q, T* k, T* v) {
  return {{q, c.d, c.head_dim()}, {k, c.kv_dim(), c.head_dim()}, {v, c.kv_dim(), c.head_dim()}};
}
/// One matrix [rows, 3 d], each head's q, k, v side by side.
template <class T>
qkv_rows<T> fused_qkv(const model_config& c, T* f) {
  const index w = c.head_dim();
  return {{f, 3 * c.d, 3 * w}, {f + w, 3 * c.d, 3 * w}, {f + 2 * w, 3 * c.d, 3 * w}};
}

/// Reports heads in the layout [head, position, width] for each sequence of the chunk.
template <class T>
void report_heads(const pass<T>& p, index block, std::string_view name, bool gradient, head_rows<const T> x,
                  index heads) {
  if (!p.modules) return;
  const index w = p.config.head_dim();
  matrix<T> out(heads * p.length, w);
  for (index s = 0; s < p.sequences; ++s) {
    for (index h = 0; h < heads; ++h)
      for (index t = 0; t < p.length; ++t)
        std::copy_n(x.at(s * p.length + t, h), w, out.row(h * p.length + t).data());
    p.report(block, name, gradient, out.data(), out.rows(), w);
  }
}
template <class T>
void report_probs(const pass<T>& p, index block, const attention_shape& a, const T* probs) {
  if (!p.modules) return;
  matrix<T> out(a.heads * a.length, a.length);
  for (index s = 0; s < a.sequences; ++s) {
    for (index r = 0; r < out.rows(); ++r)
      for (index j = 0; j < a.length; ++j)
        out(r, j) = j <= r % a.length ? probs[s * a.heads * a.head_size() + r * a.stride() + j] : T(0);
    p.report(block, "attn.probs", false, out.data(), out.rows(), a.length);
  }
}

template <class T>
attention_shape shape_of(const pass<T>& p) {
  return {p.sequences, p.length, p.config.heads, p.config.groups, p.config.head_dim()};
}

/// The factor of q.k a head: the learned ones, or 1/sqrt(head_dim) written to `scratch`.
template <class T>
const T* scales_of(const pass<T>& p, const T* learned, buffer<T>& scratch) {
  if (learned) return learned;
  T* s = scratch.reshape(1, p.config.heads);
  std::fill(s, s + p.config.heads, T(1) / std::sqrt(T(p.config.head_dim())));
  return s;
}

/// Turns q and k in place, makes them unit length when a scale is learned, and writes state.probs and
/// state.heads.
template <class T>
void heads_forward(const pass<T>& p, index block, block_state<T>& st, const qkv_rows<T>& x,
                   const T* learned_scale) {
  const model_config& c = p.config;
  const bool interleaved = c.arch != architecture::gptneox;
  rope(x.q, p.sequences, p.length, c.heads, p.cosines, p.sines, interleaved, false);
  rope(x.k, p.sequences, p.length, c.groups, p.cosines, p.sines, interleaved, false);
  report_heads<T>(p, block, "attn.q_rope", false, x.q, c.heads);
  report_heads<T>(p, block, "attn.k_rope", false, x.k, c.groups);
  if (learned_scale) {
    unit_norm(x.q, p.rows(), c.heads, c.head_dim(), st.inv_q.reshape(p.rows(), c.heads));
    unit_norm(x.k, p.rows(), c.groups, c.head_dim(), st.inv_k.reshape(p.rows(), c.groups));
    report_heads<T>(p, block, "attn.q_unit", false, x.q, c.heads);
    report_heads<T>(p, block, "attn.k_unit", false, x.k, c.groups);
  }
  const attention_shape a = shape_of(p);
  T* probs = st.probs.reshape(p.sequences * c.heads, a.head_size());
  T* out = st.heads.reshape(p.rows(), c.d);
  attention<T>(a, x.q, x.k, x.v, scales_of(p, learned_scale, p.own.scales), probs, {out, c.d, c.head_dim()},
               p.own.packed, p.own.packed2);
  report_probs(p, block, a, probs);
  p.report(block, "attn.heads", false, out, p.rows(), c.d);
}

/// From dheads [rows, d]: writes the gradients of q, k, v in front of rotation and norm; adds to dscale.
template <class T>
void heads_backward(const pass<T>& p, index block, block_state<T>& st, const qkv_rows<T>& x,
                    const T* learned_scale, const T* dheads, const qkv_rows<T>& g, T* dscale) {
  const model_config& c = p.config;
  const bool interleaved = c.arch != architecture::gptneox;
  p.report(block, "attn.heads", true, dheads, p.rows(), c.d);
  attention_backward<T>(shape_of(p), x.q, x.k, x.v, scales_of(p, learned_scale, p.own.scales),
                        st.probs.data(), {dheads, c.d, c.head_dim()}, g.q, g.k, g.v, dscale, p.own.packed,
                        p.own.packed2, p.own.packed3, p.own.scores);
  if (learned_scale) {
    report_heads<T>(p, block, "attn.q_unit", true, g.q, c.heads);
    report_heads<T>(p, block, "attn.k_unit", true, g.k, c.groups);
    unit_norm_backward<T>(x.q, p.rows(), c.heads, c.head_dim(), st.inv_q.data(), g.q);
    unit_norm_backward<T>(x.k, p.rows(), c.groups, c.head_dim(), st.inv_k.data(), g.k);
  }
  report_heads<T>(p, block, "attn.q_rope", true, g.q, c.heads);
  report_heads<T>(p, block, "attn.k_rope", true, g.k, c.groups);
  rope(g.q, p.sequences, p.length, c.heads, p.cosines, p.sines, interleaved, true);
  rope(g.k, p.sequences, p.length, c.groups, p.cosines, p.sines, interleaved, true);
}

}  // namespace quench::inline QUENCH_ISA::nn::detail
