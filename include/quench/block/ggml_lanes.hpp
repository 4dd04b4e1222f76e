#pragma once
/// \file  One group a lane: how the searches behind ggml's blocks run on 16 groups at once and still add
/// every sum in ggml's order, so that the bytes stay the same. All of it also runs on a plain float, its own
/// scalar twin.
#include <quench/block/codec.hpp>

#include <algorithm>
#include <cfloat>

namespace quench::inline QUENCH_ISA::ggml::detail {

using simd::any_lane;
using simd::bits_of;
using simd::choose;
using simd::ints_of;
using simd::magnitude;
using simd::mask_of;
using simd::rounded;
using simd::to_float;

/// Below this a group counts as all zero.
inline constexpr float nothing = 1e-15f;

/// v to the nearest integer, halves to even, through the low mantissa bits of v + 1.5 2^23; |v| < 2^22, else
/// whatever those bits say, as in ggml.
template <class V>
QUENCH_INLINE ints_of<V> nearest_int(const V& v) {
  return (bits_of(V(rounded(v) + 12582912.f)) & 0x007FFFFF) - 0x00400000;
}
template <class I>
QUENCH_INLINE I clamp(const I& i, int low, int high) {
  const I l = I{} + low, h = I{} + high, down = choose(i < h, i, h);
  return choose(down > l, down, l);
}

/// Calls body(V{}, g) for runs of `lanes(V)` groups, widest first; the rest in eights, then one by one.
template <int MostLanes, class Body>
QUENCH_INLINE void for_lanes(int groups, Body&& body) {
  int g = 0;
  if constexpr (MostLanes > 1) {
    for (; g + MostLanes <= groups; g += MostLanes) body(simd::vec<float, MostLanes>{}, g);
    if constexpr (MostLanes > 8)
      for (; g + 8 <= groups; g += 8) body(simd::vec<float, 8>{}, g);
  }
  for (; g < groups; ++g) body(float{}, g);
}

/// out[j] = element j of `lanes(V)` consecutive groups of n elements.
template <class V>
QUENCH_INLINE void load_groups(const float* x, int n, V* out) {
  if constexpr (std::is_arithmetic_v<V>)
    std::copy(x, x + n, out);
  else {
    constexpr int N = simd::lane_types<V>::size;
    for (int j = 0; j < n; j += N) {
      V a[std::size_t(N)];
      for (int g = 0; g < N; ++g) a[g] = simd::load_vec<V>(x + g * n + j);
      simd::transpose(a);
      for (int k = 0; k < N; ++k) out[j + k] = a[k];
    }
  }
}

/// The first element of largest magnitude and that magnitude.
template <class V>
struct peak {
  V value{}, size{};
  QUENCH_INLINE peak(const V* x, int n) {
    for (int i = 0; i < n; ++i) {
      const V a = magnitude(x[i]);
      const auto larger = a > size;
      size = choose(larger, a, size);
      value = choose(larger, x[i], value);
    }
  }
};

/// sum of x^2, in order.
inline float square_sum(const float* x, index n) {
  float s = 0;
  for (index i = 0; i < n; ++i) s += rounded(x[i] * x[i]);
  return s;
}
/// importance * sqrt(sigma2 + x^2): what an error at x weighs under an importance matrix.
template <class V>
QUENCH_INLINE V error_weight(const V& importance, const V& sigma2, const V& x) {
  return importance * simd::square_root(V(sigma2 + rounded(V(x * x))));
}
/// Importance of `lanes(V)` consecutive groups as weights w; also their sum. `sigma2` has one value a group.
template <class V>
QUENCH_INLINE V load_weights(const float* importance, const V& sigma2, const V* x, int n, V* w) {
  load_groups(importance, n, w);
  V sum{};
  for (int i = 0; i < n; ++i) sum += w[i] = error_weight(w[i], sigma2, x[i]);
  return sum;
}

/// x[j] = d q[j] - m, each product rounded.
QUENCH_INLINE void affine_out(const std::uint8_t* q, int n, float d, float m, float* x) {
  using V = simd::vec<float, simd::lanes_of<float>>;
  constexpr int N = simd::lanes_of<float>;
  for (int j = 0; j < n; j += N)
    simd::store_vec(x + j, V(rounded(V(to_float<V>(simd::load_bytes<V>(q + j)) * d)) - m));
}
/// x[j] = d (q[j] - zero).
QUENCH_INLINE void scaled_out(const std::uint8_t* q, int n, float d, int zero, float* x) {
  using V = simd::vec<float, simd::lanes_of<float>>;
  constexpr int N = simd::lanes_of<float>;
  for (int j = 0; j < n; j += N)
    simd::store_vec(x + j, V(to_float<V>(ints_of<V>(simd::load_bytes<V>(q + j) - zero)) * d));
}
/// q[j] = clamp(nearest((x[j] + m) / d), low, high) - low.
QUENCH_INLINE void requantize(const float* x, int n, float d, float m, int low, int high, std::uint8_t* q) {
  using V = simd::vec<float, simd::lanes_of<float>>;
  constexpr int N = simd::lanes_of<float>;
  for (int j = 0; j < n; j += N)
    simd::store_bytes<V>(
        q + j, ints_of<V>(clamp(nearest_int(V((simd::load_vec<V>(x + j) + m) / d)), low, high) - low));
}

}  // namespace quench::inline QUENCH_ISA::ggml::detail
