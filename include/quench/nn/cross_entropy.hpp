#pragma once
/// \file  loss = -log softmax(logits)[target] and its gradient softmax - onehot.
#include <quench/nn/wide.hpp>

#include <cmath>
#include <limits>

namespace quench::inline QUENCH_ISA::nn::detail {

/// The loss of one row of logits [vocab] in nats, in double. `dlogits` (may equal z, may be null) becomes
/// weight * (softmax - onehot). NaN logits give a NaN loss.
template <class T>
double cross_entropy_row(const T* z, index vocab, std::int32_t target, T* dlogits, T weight) {
  wide<T> top = wide<T>{} - std::numeric_limits<T>::infinity();
  T most = -std::numeric_limits<T>::infinity();
  for_row<T>(vocab, [&]<class V>(index j, V) {
    const V a = get<V>(z + j);
    if constexpr (std::is_same_v<V, T>)
      most = a > most ? a : most;
    else
      top = a > top ? a : top;
  });
  if (const T m = max_lanes<T>(top); m > most) most = m;
  const double at_target = double(z[target]);
  const T sum = sum_row<T>(vocab, [&]<class V>(index j, V) {
    const V e = exp_of<V>(get<V>(z + j) - most);
    if (dlogits) put(dlogits + j, e);
    return e;
  });
  if (dlogits) {
    const T s = weight / sum;
    for_row<T>(vocab, [&]<class V>(index j, V) { put(dlogits + j, get<V>(dlogits + j) * s); });
    dlogits[target] -= weight;
  }
  return double(most) + std::log(double(sum)) - at_target;
}

}  // namespace quench::inline QUENCH_ISA::nn::detail
