#pragma once
/// \file  The GPT-NeoX block (Black et al. 2022): z = x + attention(ln1(x)) + fc2(gelu(fc1(ln2(x)))), biases
/// everywhere.
#include <quench/nn/activation.hpp>
#include <quench/nn/heads.hpp>
#include <quench/nn/layer_norm.hpp>
#include <quench/nn/linear.hpp>

namespace quench::inline QUENCH_ISA::nn::detail {

template <class T>
struct gptneox_block {
  static constexpr std::size_t linears = 4, parameters = 12;
  enum site : std::size_t { qkv, dense, fc1, fc2 };
  enum param : std::size_t {
    gain1,
    bias1,
    p_qkv,
    b_qkv,
    p_dense,
    b_dense,
    gain2,
    bias2,
    p_fc1,
    b_fc1,
    p_fc2,
    b_fc2
  };

  const pass<T>& p;
  index block;
  std::size_t s(site i) const { return static_cast<std::size_t>(block) * linears + i; }
  std::size_t w(param i) const { return 1 + static_cast<std::size_t>(block) * parameters + i; }

  void forward(const T* x, T* z) const {
    const model_config& c = p.config;
    block_state<T>& st = p.state(block);
    const index n = p.rows();
    T *n1 = st.norm1.reshape(n, c.d), *n2 = st.norm2.reshape(n, c.d), *f = st.q.reshape(n, 3 * c.d);
    T *pre = st.pre.reshape(n, c.hidden), *act = st.act.reshape(n, c.hidden);
    T *a = p.own.da.reshape(n, c.d), *m = p.own.db.reshape(n, c.d);
    layer_norm(x, n, c.d, p.param(w(gain1)), p.param(w(bias1)), T(c.norm_eps), st.mean1.reshape(n, 1),
               st.inv1.reshape(n, 1), n1);
    p.report(block, "ln1.out", false, n1, n, c.d);
    linear_forward(p, s(qkv), n1, f);
    p.report(block, "attn.qkv", false, f, n, 3 * c.d);
    heads_forward<T>(p, block, st, fused_qkv(c, f), nullptr);
    linear_forward(p, s(dense), st.heads.data(), a);
    p.report(block, "attn.out", false, a, n, c.d);
    layer_norm(x, n, c.d, p.param(w(gain2)), p.param(w(bias2)), T(c.norm_eps), st.mean2.reshape(n, 1),
               st.inv2.reshape(n, 1), n2);
    p.report(block, "ln2.out", false, n2, n, c.d);
    linear_forward(p, s(fc1), n2, pre);
    gelu(pre, n * c.hidden, act);
    linear_forward(p, s(fc2), act, m);
    p.report(block, "mlp.pre", false, pre, n, c.hidden);
    p.report(block, "mlp.act", false, act, n, c.hidden);
    p.report(block, "mlp.out", false, m, n, c.d);
    for_row<T>(n * c.d,
               [&]<class V>(index j, V) { put(z + j, get<V>(x + j) + get<V>(a + j) + get<V>(m + j)); });
    p.report(block, "resid_out", false, z, n, c.d);
  }

  /// g [rows, d]: d loss / dz becomes d loss / dx.
  void backward(const T* x, T* g) const {
    const model_config& c = p.config;
    block_state<T>& st = p.state(block);
    const index n = p.rows();
    T *d1 = p.own.da.reshape(n, c.d), *d2 = p.own.db.reshape(n, c.d), *dh = p.own.dh.reshape(n, c.hidden);
    T* df = p.own.dq.reshape(n, 3 * c.d);
    for (const auto name : {"resid_out", "attn.out", "mlp.out"}) p.report(block, name, true, g, n, c.d);
    linear_backward(p, s(fc2), st.act.data(), g, dh, false);
    p.report(block, "mlp.act", true, dh, n, c.hidden);
    gelu_backward(st.pre.data(), n * c.hidden, dh);
    p.report(block, "mlp.pre", true, dh, n, c.hidden);
    linear_backward(p, s(fc1), st.norm2.data(), dh, d2, false);
    p.report(block, "ln2.out", true, d2, n, c.d);
    linear_backward(p, s(dense), st.heads.data(), g, d1, false);
    heads_backward<T>(p, block, st, fused_qkv(c, st.q.data()), nullptr, d1, fused_qkv(c, df), nullptr);
    p.report(block, "attn.qkv", true, df, n, 3 * c.d);
    linear_backward(p, s(qkv), st.norm1.data(), df, d1, false);
    p.report(block, "ln1.out", true, d1, n, c.d);
    layer_norm_backward<T>(x, n, c.d, p.param(w(gain2)), st.mean2.data(), st.inv2.data(), d2,
                           p.grad(w(gain2)), p.grad(w(bias2)), g, true);
    layer_norm_backward<T>(x, n, c.d, p.param(w(gain1)), st.mean1.data(), st.inv1.data(), d1,
                           p.grad(w(gain1)), p.grad(w(bias1)), g, true);
  }
};

}  // namespace quench::inline QUENCH_ISA::nn::detail
