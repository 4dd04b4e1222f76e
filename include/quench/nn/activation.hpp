#pragma once
/// \file  Squared ReLU (So et al. 2021), SwiGLU (Shazeer 2020) and exact GELU (Hendrycks and Gimpel 2016),
/// with derivatives.
#include <quench/nn/wide.hpp>

#include <cmath>

namespace quench::inline QUENCH_ISA::nn::detail {

/// act = max(pre, 0)^2; NaN stays NaN.
template <class T>
void squared_relu(const T* pre, index n, T* act) {
  for_row<T>(n, [&]<class V>(index j, V) {
    const V x = get<V>(pre + j), r = x < T(0) ? V{} : x;
    put(act + j, r * r);
  });
}
/// g = g * 2 max(pre, 0), in place.
template <class T>
void squared_relu_backward(const T* pre, index n, T* g) {
  for_row<T>(n, [&]<class V>(index j, V) {
    const V x = get<V>(pre + j), r = x < T(0) ? V{} : x;
    put(g + j, get<V>(g + j) * (r + r));
  });
}

template <class V>
QUENCH_INLINE V sigmoid(V x) {
  using T = typename lane_of<V>::type;
  const V e = exp_of<V>(x < T(0) ? x : -x);  // e^-|x|
  return (x < T(0) ? e : V{} + T(1)) / (e + T(1));
}
/// act = gate sigmoid(gate) up.
template <class T>
void swiglu(const T* gate, const T* up, index n, T* act) {
  for_row<T>(n, [&]<class V>(index j, V) {
    const V g = get<V>(gate + j);
    put(act + j, g * sigmoid<V>(g) * get<V>(up + j));
  });
}
/// From g = d act: dup = g silu(gate), dgate = g up sigmoid(gate) (1 + gate (1 - sigmoid(gate))). dgate may
/// equal g.
template <class T>
void swiglu_backward(const T* gate, const T* up, index n, const T* g, T* dgate, T* dup) {
  for_row<T>(n, [&]<class V>(index j, V) {
    const V x = get<V>(gate + j), s = sigmoid<V>(x), d = get<V>(g + j), u = get<V>(up + j);
    put(dup + j, d * x * s);
    put(dgate + j, d * u * s * (x * (T(1) - s) + T(1)));
  });
}

/// act = pre/2 (1 + erf(pre / sqrt 2)).
template <class T>
void gelu(const T* pre, index n, T* act) {
  for (index j = 0; j < n; ++j) act[j] = T(0.5) * pre[j] * (T(1) + std::erf(pre[j] * T(0.7071067811865476)));
}
/// g = g (Phi(pre) + pre phi(pre)), in place; Phi and phi are the normal distribution and its density.
template <class T>
void gelu_backward(const T* pre, index n, T* g) {
  for (index j = 0; j < n; ++j) {
    const T x = pre[j], cdf = T(0.5) * (T(1) + std::erf(x * T(0.7071067811865476)));
    g[j] *= cdf + x * T(0.3989422804014327) * exp_of<T>(T(-0.5) * x * x);
  }
}

}  // namespace quench::inline QUENCH_ISA::nn::detail
