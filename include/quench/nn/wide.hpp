#pragma once
/// \file  Rows in native-width lanes: one body for vectors and for the scalar tail, sums, and exp.
#include <quench/core/matrix.hpp>
#include <quench/simd/vector.hpp>

#include <bit>
#include <cstdint>

namespace quench::inline QUENCH_ISA::nn::detail {

template <class T>
inline constexpr index lanes = simd::lanes_of<T>;
template <class T>
using wide = simd::vec<T, simd::lanes_of<T>>;

template <class V, class T>
QUENCH_INLINE V get(const T* p) {
  return simd::load_vec<V>(p);
}
template <class V, class T>
QUENCH_INLINE void put(T* p, V v) {
  simd::store_vec(p, v);
}

/// Calls body(i, V{}) for whole vectors V, then for single T.
template <class T, class Body>
QUENCH_INLINE void for_row(index n, Body&& body) {
  index i = 0;
  for (; i + lanes<T> <= n; i += lanes<T>) body(i, wide<T>{});
  for (; i < n; ++i) body(i, T{});
}

template <class T>
QUENCH_INLINE T sum_lanes(wide<T> v) {
  T part[lanes<T>];
  put(part, v);
  for (index w = lanes<T> / 2; w > 0; w /= 2)
    for (index i = 0; i < w; ++i) part[i] += part[i + w];
  return part[0];
}
template <class T>
QUENCH_INLINE T max_lanes(wide<T> v) {
  T part[lanes<T>];
  put(part, v);
  for (index w = lanes<T> / 2; w > 0; w /= 2)
    for (index i = 0; i < w; ++i) part[i] = part[i] > part[i + w] ? part[i] : part[i + w];
  return part[0];
}

/// sum of body(i, V{}) over a row, lane by lane and then across lanes: a fixed order for a given n.
template <class T, class Body>
QUENCH_INLINE T sum_row(index n, Body&& body) {
  wide<T> a{}, b{};
  T tail{};
  index i = 0;
  for (; i + 2 * lanes<T> <= n; i += 2 * lanes<T>) {
    a += body(i, wide<T>{});
    b += body(i + lanes<T>, wide<T>{});
  }
  if (i + lanes<T> <= n) {
    a += body(i, wide<T>{});
    i += lanes<T>;
  }
  for (; i < n; ++i) tail += body(i, T{});
  return sum_lanes<T>(a + b) + tail;
}

template <class V>
struct lane_of {
  using type = std::remove_cvref_t<decltype(V{}[0])>;
};
template <std::floating_point T>
struct lane_of<T> {
  using type = T;
};

/// e^x to 2 ulp for x <= 88 (float) or 709 (double); 0 below -87 and -708; NaN stays NaN. Cody and Waite
/// 1980: x = n ln 2 + r, |r| <= ln 2 / 2, Taylor in r, 2^n from the low bits of n + a large number that
/// carries the exponent's bias.
template <class V>
QUENCH_INLINE V exp_of(V x) {
  using T = typename lane_of<V>::type;
  using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr bool single = sizeof(T) == 4;
  constexpr T lowest = single ? T(-87) : T(-708), magic = single ? T(0x1.8p23 + 127) : T(0x1.8p52 + 1023);
  const V y = x < lowest ? V{} + lowest : x;
  const V shifted = y * T(1.4426950408889634) + magic;
  const V n = shifted - magic;
  const V r = single ? (y - n * T(0x1.62e4p-1)) - n * T(0x1.7f7d1cf79abcap-20)
                     : (y - n * T(0x1.62e42feep-1)) - n * T(0x1.a39ef35793c76p-33);
  V p{};
  if constexpr (single) {
    p = V{} + T(1.0 / 5040);
    for (const double k : {1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0}) p = p * r + T(k);
  } else {
    p = V{} + T(1.0 / 6227020800);
    for (const double k : {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                           1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0})
      p = p * r + T(k);
  }
  constexpr int exponent = single ? 23 : 52;
  if constexpr (std::is_same_v<V, T>) {
    return x < lowest ? T(0) : p * std::bit_cast<T>(static_cast<U>(std::bit_cast<U>(shifted) << exponent));
  } else {
    const auto two_n = simd::load_vec<simd::vec<U, int(sizeof(V) / sizeof(T))>>(&shifted) << exponent;
    return x < lowest ? V{} : p * simd::load_vec<V>(&two_n);
  }
}

}  // namespace quench::inline QUENCH_ISA::nn::detail
