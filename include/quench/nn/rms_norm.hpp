#pragma once
/// \file  y = x / sqrt(mean(x^2) + eps) * gain (Zhang and Sennrich 2019), forward and backward.
#include <quench/nn/wide.hpp>

#include <cmath>

namespace quench::inline QUENCH_ISA::nn::detail {

/// y[n, d] = norm(x) * gain, or base + that when `base` is given (y may equal base). inv[n] keeps 1/sqrt(mean
/// + eps).
template <class T>
void rms_norm(const T* x, index n, index d, const T* gain, T eps, T* inv, T* y, const T* base = nullptr) {
  for (index r = 0; r < n; ++r, x += d, y += d) {
    const T squares = sum_row<T>(d, [&]<class V>(index j, V) {
      const V a = get<V>(x + j);
      return a * a;
    });
    const T s = inv[r] = T(1) / std::sqrt(squares / T(d) + eps);
    const T* b = base ? base + r * d : nullptr;
    for_row<T>(d, [&]<class V>(index j, V) {
      const V u = get<V>(x + j) * s * get<V>(gain + j);
      put(y + j, b ? get<V>(b + j) + u : u);
    });
  }
}

/// Adds d gain; writes dx, or adds to it. With s = inv, g = dy * gain: dx = s g - x s^3 mean(g x).
template <class T>
void rms_norm_backward(const T* x, index n, index d, const T* gain, const T* inv, const T* dy, T* dgain,
                       T* dx, bool add) {
  for (index r = 0; r < n; ++r, x += d, dy += d, dx += d) {
    const T s = inv[r];
    const T gx =
        sum_row<T>(d, [&]<class V>(index j, V) { return get<V>(dy + j) * get<V>(gain + j) * get<V>(x + j); });
    const T c = s * s * s * (gx / T(d));
    for_row<T>(d, [&]<class V>(index j, V) {
      const V a = get<V>(x + j), g = get<V>(dy + j);
      const V out = g * get<V>(gain + j) * s - a * c;
      put(dgain + j, get<V>(dgain + j) + g * a * s);
      put(dx + j, add ? get<V>(dx + j) + out : out);
    });
  }
}

}  // namespace quench::inline QUENCH_ISA::nn::detail
