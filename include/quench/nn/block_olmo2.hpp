#pragma once
/// \file  The OLMo2-like block (paper 2509.23500 section 2): Y = x + norm(attention(x)), Z = Y + norm(W2
/// relu(W1 Y)^2).
#include <quench/nn/activation.hpp>
#include <quench/nn/heads.hpp>
#include <quench/nn/linear.hpp>
#include <quench/nn/rms_norm.hpp>

namespace quench::inline QUENCH_ISA::nn::detail {

template <class T>
struct olmo2_block {
  static constexpr std::size_t linears = 6, parameters = 9;
  enum site : std::size_t { wq, wk, wv, wo, w1, w2 };
  enum param : std::size_t { p_wq, p_wk, p_wv, p_wo, scale, norm1, p_w1, p_w2, norm2 };

  const pass<T>& p;
  index block;
  std::size_t s(site i) const { return static_cast<std::size_t>(block) * linears + i; }
  std::size_t w(param i) const { return 1 + static_cast<std::size_t>(block) * parameters + i; }

  /// y = x + rmsnorm(out) gain.
  void attention_branch(const T* x, T* y) const {
    const model_config& c = p.config;
    block_state<T>& st = p.state(block);
    const index n = p.rows();
    T *q = st.q.reshape(n, c.d), *k = st.k.reshape(n, c.kv_dim()), *v = st.v.reshape(n, c.kv_dim()),
      *out = st.out.reshape(n, c.d);
    linear_forward(p, s(wq), x, q);
    linear_forward(p, s(wk), x, k);
    linear_forward(p, s(wv), x, v);
    p.report(block, "attn.q", false, q, n, c.d);
    p.report(block, "attn.k", false, k, n, c.kv_dim());
    p.report(block, "attn.v", false, v, n, c.kv_dim());
    heads_forward(p, block, st, separate_qkv(c, q, k, v), p.param(w(scale)));
    linear_forward(p, s(wo), st.heads.data(), out);
    p.report(block, "attn.out", false, out, n, c.d);
    add_norm(norm1, st.inv1, x, out, y, "attn_norm.out");
    p.report(block, "resid_mid", false, y, n, c.d);
  }
  /// z = y + rmsnorm(mlp) gain.
  void mlp_branch(const T* y, T* z) const {
    const model_config& c = p.config;
    block_state<T>& st = p.state(block);
    const index n = p.rows();
    T *pre = st.pre.reshape(n, c.hidden), *act = st.act.reshape(n, c.hidden), *mlp = st.mlp.reshape(n, c.d);
    linear_forward(p, s(w1), y, pre);
    squared_relu(pre, n * c.hidden, act);
    linear_forward(p, s(w2), act, mlp);
    p.report(block, "mlp.pre", false, pre, n, c.hidden);
    p.report(block, "mlp.act", false, act, n, c.hidden);
    p.report(block, "mlp.out", false, mlp, n, c.d);
    add_norm(norm2, st.inv2, y, mlp, z, "mlp_norm.out");
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
    T *d1 = p.own.da.reshape(n, c.d), *dh = p.own.dh.reshape(n, c.hidden);
    p.report(block, "resid_out", true, g, n, c.d);
    p.report(block, "mlp_norm.out", true, g, n, c.d);
    rms_norm_backward<T>(st.mlp.data(), n, c.d, p.param(w(norm2)), st.inv2.data(), g, p.grad(w(norm2)), d1,
                         false);
    p.report(block, "mlp.out", true, d1, n, c.d);
    linear_backward(p, s(w2), st.act.data(), d1, dh, false);
    p.report(block, "mlp.act", true, dh, n, c.hidden);
    squared_relu_backward(st.pre.data(), n * c.hidden, dh);
    p.report(block, "mlp.pre", true, dh, n, c.hidden);
    linear_backward(p, s(w1), st.mid.data(), dh, g, true);
    p.report(block, "resid_mid", true, g, n, c.d);
    p.report(block, "attn_norm.out", true, g, n, c.d);
    rms_norm_backward<T>(st.out.data(), n, c.d, p.param(w(norm1)), st.inv1.data(), g, p.grad(w(norm1)), d1,
                         false);
    p.report(block, "attn.out", true, d1, n, c.d);
    T* dheads = p.own.db.reshape(n, c.d);
    linear_backward(p, s(wo), st.heads.data(), d1, dheads, false);
    T *dq = p.own.dq.reshape(n, c.d), *dk = p.own.dk.reshape(n, c.kv_dim()),
      *dv = p.own.dv.reshape(n, c.kv_dim());
    heads_backward(p, block, st, separate_qkv(c, st.q.data(), st.k.data(), st.v.data()), p.param(w(scale)),
                   dheads, separate_qkv(c, dq, dk, dv), p.grad(w(scale)));
    p.report(block, "attn.q", true, dq, n, c.d);
    p.report(block, "attn.k", true, dk, n, c.kv_dim());
    p.report(block, "attn.v", true, dv, n, c.kv_dim());
    linear_backward(p, s(wq), x, dq, g, true);
    linear_backward(p, s(wk), x, dk, g, true);
    linear_backward(p, s(wv), x, dv, g, true);
  }

 private:
  void add_norm(param gain, buffer<T>& inv, const T* base, const T* u, T* y, std::string_view name) const {
    const index n = p.rows(), d = p.config.d;
    const T eps = T(p.config.norm_eps);
    if (p.modules) {
      rms_norm(u, n, d, p.param(w(gain)), eps, inv.reshape(n, 1), p.own.da.reshape(n, d));
      p.report(block, name, false, p.own.da.data(), n, d);
    }
    rms_norm(u, n, d, p.param(w(gain)), eps, inv.reshape(n, 1), y, base);
  }
};

}  // namespace quench::inline QUENCH_ISA::nn::detail
