#pragma once
/// \file  The Llama block (Touvron et al. 2023): y = x + attention(norm(x)), z = y + W_down(silu(W_gate n) *
/// W_up n), n = norm(y).
#include <quench/nn/activation.hpp>
#include <quench/nn/heads.hpp>
#include <quench/nn/linear.hpp>
#include <quench/nn/rms_norm.hpp>

namespace quench::inline QUENCH_ISA::nn::detail {

template <class T>
struct llama_block {
  static constexpr std::size_t linears = 7, parameters = 9;
  enum site : std::size_t { wq, wk, wv, wo, w_gate, w_up, w_down };
  enum param : std::size_t { norm1, p_wq, p_wk, p_wv, p_wo, norm2, p_gate, p_up, p_down };

  const pass<T>& p;
  index block;
  std::size_t s(site i) const { return static_cast<std::size_t>(block) * linears + i; }
  std::size_t w(param i) const { return 1 + static_cast<std::size_t>(block) * parameters + i; }

  void attention_branch(const T* x, T* y) const {
    const model_config& c = p.config;
    block_state<T>& st = p.state(block);
    const index n = p.rows();
    T *q = st.q.reshape(n, c.d), *k = st.k.reshape(n, c.kv_dim()), *v = st.v.reshape(n, c.kv_dim());
    T *norm = st.norm1.reshape(n, c.d), *out = p.own.da.reshape(n, c.d);
    rms_norm(x, n, c.d, p.param(w(norm1)), T(c.norm_eps), st.inv1.reshape(n, 1), norm);
    p.report(block, "attn_norm.out", false, norm, n, c.d);
    linear_forward(p, s(wq), norm, q);
    linear_forward(p, s(wk), norm, k);
    linear_forward(p, s(wv), norm, v);
    p.report(block, "attn.q", false, q, n, c.d);
    p.report(block, "attn.k", false, k, n, c.kv_dim());
    p.report(block, "attn.v", false, v, n, c.kv_dim());
    heads_forward<T>(p, block, st, separate_qkv(c, q, k, v), nullptr);
    linear_forward(p, s(wo), st.heads.data(), out);
    p.report(block, "attn.out", false, out, n, c.d);
    for_row<T>(n * c.d, [&]<class V>(index j, V) { put(y + j, get<V>(x + j) + get<V>(out + j)); });
    p.report(block, "resid_mid", false, y, n, c.d);
  }
  void mlp_branch(const T* y, T* z) const {
    const model_config& c = p.config;
    block_state<T>& st = p.state(block);
    const index n = p.rows();
    T *norm = st.norm2.reshape(n, c.d), *mlp = p.own.da.reshape(n, c.d);
    T *gate = st.gate.reshape(n, c.hidden), *up = st.pre.reshape(n, c.hidden),
      *act = st.act.reshape(n, c.hidden);
    rms_norm(y, n, c.d, p.param(w(norm2)), T(c.norm_eps), st.inv2.reshape(n, 1), norm);
    p.report(block, "mlp_norm.out", false, norm, n, c.d);
    linear_forward(p, s(w_gate), norm, gate);
    linear_forward(p, s(w_up), norm, up);
    swiglu(gate, up, n * c.hidden, act);
    linear_forward(p, s(w_down), act, mlp);
    p.report(block, "mlp.gate", false, gate, n, c.hidden);
    p.report(block, "mlp.up", false, up, n, c.hidden);
    p.report(block, "mlp.act", false, act, n, c.hidden);
    p.report(block, "mlp.out", false, mlp, n, c.d);
    for_row<T>(n * c.d, [&]<class V>(index j, V) { put(z + j, get<V>(y + j) + get<V>(mlp + j)); });
    p.report(block, "resid_out", false, z, n, c.d);
  }
  void forward(const T* x, T* z) const {
    T* mid = p.state(block).mid.reshape(p.rows(), p.config.d);
    attention_branch(x, mid);
    mlp_branch(mid, z);
  }

  /// g [rows, d]: d loss / dz becomes d loss / dx.
  void backward(const T* x, T* g) const {
    const model_config& c = p.config;
    block_state<T>& st = p.state(block);
    const index n = p.rows();
    T *d1 = p.own.da.reshape(n, c.d), *dact = p.own.dh.reshape(n, c.hidden),
      *dup = p.own.dg.reshape(n, c.hidden);
    p.report(block, "resid_out", true, g, n, c.d);
    p.report(block, "mlp.out", true, g, n, c.d);
    linear_backward(p, s(w_down), st.act.data(), g, dact, false);
    p.report(block, "mlp.act", true, dact, n, c.hidden);
    swiglu_backward(st.gate.data(), st.pre.data(), n * c.hidden, dact, dact, dup);
    p.report(block, "mlp.gate", true, dact, n, c.hidden);
    p.report(block, "mlp.up", true, dup, n, c.hidden);
    linear_backward(p, s(w_gate), st.norm2.data(), dact, d1, false);
    linear_backward(p, s(w_up), st.norm2.data(), dup, d1, true);
    p.report(block, "mlp_norm.out", true, d1, n, c.d);
    rms_norm_backward<T>(st.mid.data(), n, c.d, p.param(w(norm2)), st.inv2.data(), d1, p.grad(w(norm2)), g,
                         true);
    p.report(block, "resid_mid", true, g, n, c.d);
    p.report(block, "attn.out", true, g, n, c.d);
    T* dheads = p.own.db.reshape(n, c.d);
    linear_backward(p, s(wo), st.heads.data(), g, dheads, false);
    T *dq = p.own.dq.reshape(n, c.d), *dk = p.own.dk.reshape(n, c.kv_dim()),
      *dv = p.own.dv.reshape(n, c.kv_dim());
    heads_backward<T>(p, block, st, separate_qkv(c, st.q.data(), st.k.data(), st.v.data()), nullptr, dheads,
                      separate_qkv(c, dq, dk, dv), nullptr);
    p.report(block, "attn.q", true, dq, n, c.d);
    p.report(block, "attn.k", true, dk, n, c.kv_dim());
    p.report(block, "attn.v", true, dv, n, c.kv_dim());
    linear_backward(p, s(wq), st.norm1.data(), dq, d1, false);
    linear_backward(p, s(wk), st.norm1.data(), dk, d1, true);
    linear_backward(p, s(wv), st.norm1.data(), dv, d1, true);
    p.report(block, "attn_norm.out", true, d1, n, c.d);
    rms_norm_backward<T>(x, n, c.d, p.param(w(norm1)), st.inv1.data(), d1, p.grad(w(norm1)), g, true);
  }
};

}  // namespace quench::inline QUENCH_ISA::nn::detail
