#pragma once
/// \file  y = x W^T + b and its gradients dx = dy W, dW = dy^T x, db = sum dy, with quantizer slots on W and
/// x.
#include <quench/nn/pass.hpp>

namespace quench::inline QUENCH_ISA::nn::detail {

/// Applies the weight slot and packs W [out, in] both ways.
template <class T>
void prepare_linear(const linear_site<T>& site, const basic_param_list<T>& params, ready_linear<T>& r,
                    bool backward) {
  const matrix<T>* w = &params[site.parameter].value;
  if (site.weight) {
    site.weight.ready(r.tape);
    site.weight.forward(*w, r.quantized, *r.tape);
    expects(r.quantized.rows() == w->rows() && r.quantized.cols() == w->cols(),
            "transformer: the weight slot of {} must keep {} x {}, gave {} x {}", site.name, w->rows(),
            w->cols(), r.quantized.rows(), r.quantized.cols());
    w = &r.quantized;
  }
  const index out = w->rows(), in = w->cols();
  pack_panels(w->data(), 1, in, in, out, r.forward.reshape(1, packed_size<T>(in, out)));
  if (backward) pack_panels(w->data(), in, 1, out, in, r.backward.reshape(1, packed_size<T>(out, in)));
}

/// y[n, out] = x[n, in] W^T + b. Keeps what the input slot made of x.
template <class T>
void linear_forward(const pass<T>& p, std::size_t i, const T* x, T* y) {
  const linear_site<T>& site = p.sites[i];
  const index n = p.rows(), in = p.params[site.parameter].value.cols(),
              out = p.params[site.parameter].value.rows();
  if (p.inputs) (*p.inputs)(site.name, {x, n, in, in});
  if (site.input) {
    auto& q = p.own.inputs[i];
    site.input.ready(q.tape);
    q.raw = Eigen::Map<const matrix<T>>(x, n, in);
    site.input.forward(q.raw, q.quantized, *q.tape);
    expects(q.quantized.rows() == n && q.quantized.cols() == in,
            "transformer: the input slot of {} must keep {} x {}, gave {} x {}", site.name, n, in,
            q.quantized.rows(), q.quantized.cols());
    x = q.quantized.data();
  }
  multiply<T>({x, in, 1}, n, p.ready[i].forward.data(), in, out, y, out, false);
  if (site.bias >= 0) {
    const T* b = p.param(static_cast<std::size_t>(site.bias));
    for (index r = 0; r < n; ++r)
      for_row<T>(out,
                 [&]<class V>(index j, V) { put(y + r * out + j, get<V>(y + r * out + j) + get<V>(b + j)); });
  }
}

/// Adds the gradients of W and b; writes (or adds to) dx[n, in] unless it is null.
template <class T>
void linear_backward(const pass<T>& p, std::size_t i, const T* x, const T* dy, T* dx, bool add) {
  const linear_site<T>& site = p.sites[i];
  const index n = p.rows(), in = p.params[site.parameter].value.cols(),
              out = p.params[site.parameter].value.rows();
  auto& q = p.own.inputs[i];
  if (site.input) x = q.quantized.data();
  const std::size_t target =
      site.head && p.own.grads.size() > p.params.size() ? p.params.size() : site.parameter;
  T* packed = p.own.packed.reshape(1, packed_size<T>(n, in));
  pack_panels(x, in, 1, n, in, packed);
  multiply<T>({dy, 1, out}, out, packed, n, in, p.grad(target), in, true);
  if (site.bias >= 0) {
    T* db = p.grad(static_cast<std::size_t>(site.bias));
    for (index r = 0; r < n; ++r)
      for_row<T>(out, [&]<class V>(index j, V) { put(db + j, get<V>(db + j) + get<V>(dy + r * out + j)); });
  }
  if (!dx) return;
  if (!site.input) {
    multiply<T>({dy, out, 1}, n, p.ready[i].backward.data(), out, in, dx, in, add);
    return;
  }
  q.raw.resize(n, in);
  multiply<T>({dy, out, 1}, n, p.ready[i].backward.data(), out, in, q.raw.data(), in, false);
  site.input.backward(q.raw, q.gradient, *q.tape);
  expects(q.gradient.rows() == n && q.gradient.cols() == in,
          "transformer: the input slot of {} must give gradients {} x {}, gave {} x {}", site.name, n, in,
          q.gradient.rows(), q.gradient.cols());
  Eigen::Map<matrix<T>> target_dx(dx, n, in);
  if (add)
    target_dx += q.gradient;
  else
    target_dx = q.gradient;
}

}  // namespace quench::inline QUENCH_ISA::nn::detail
