#pragma once
/// \file  y = (x - mean) / sqrt(var + eps) * gain + bias (Ba, Kiros and Hinton 2016), forward and backward.
#include <quench/nn/wide.hpp>

#include <cmath>

namespace quench::inline QUENCH_ISA::nn::detail {

/// y[n, d]; mean[n] and inv[n] = 1/sqrt(mean((x - mean)^2) + eps) are kept for backward.
template <class T>
void layer_norm(const T* x, index n, index d, const T* gain, const T* bias, T eps, T* mean, T* inv, T* y) {
  for (index r = 0; r < n; ++r, x += d, y += d) {
    const T m = mean[r] = sum_row<T>(d, [&]<class V>(index j, V) { return get<V>(x + j); }) / T(d);
    const T squares = sum_row<T>(d, [&]<class V>(index j, V) {
      const V a = get<V>(x + j) - m;
      return a * a;
    });
    const T s = inv[r] = T(1) / std::sqrt(squares / T(d) + eps);
    for_row<T>(d, [&]<class V>(index j, V) {
      put(y + j, (get<V>(x + j) - m) * s * get<V>(gain + j) + get<V>(bias + j));
    });
  }
}

/// Adds d gain and d bias; writes dx, or adds to it. With u = (x - mean) inv, g = dy * gain:
/// dx = inv (g - mean(g) - u mean(g u)).
template <class T>
void layer_norm_backward(const T* x, index n, index d, const T* gain, const T* mean, const T* inv,
                         const T* dy, T* dgain, T* dbias, T* dx, bool add) {
  for (index r = 0; r < n; ++r, x += d, dy += d, dx += d) {
    const T m = mean[r], s = inv[r];
    const T g1 = sum_row<T>(d, [&]<class V>(index j, V) { return get<V>(dy + j) * get<V>(gain + j); }) / T(d);
    const T gu = sum_row<T>(d,
                            [&]<class V>(index j, V) {
                              return get<V>(dy + j) * get<V>(gain + j) * ((get<V>(x + j) - m) * s);
                            }) /
                 T(d);
    for_row<T>(d, [&]<class V>(index j, V) {
      const V u = (get<V>(x + j) - m) * s, g = get<V>(dy + j);
      const V out = (g * get<V>(gain + j) - g1 - u * gu) * s;
      put(dgain + j, get<V>(dgain + j) + g * u);
      put(dbias + j, get<V>(dbias + j) + g);
      put(dx + j, add ? get<V>(dx + j) + out : out);
    });
  }
}

}  // namespace quench::inline QUENCH_ISA::nn::detail
