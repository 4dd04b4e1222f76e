#pragma once
/// \file  The dozen operations kernels are written in, for a scalar T and for xsimd::batch<T>.
/// This is the only header that includes xsimd; version differences are absorbed here.
#include <quench/core/config.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <numeric>

#if QUENCH_HAS_XSIMD
#include <xsimd/xsimd.hpp>
#endif

namespace quench::inline QUENCH_ISA::simd {

template <class T>
struct lane_traits;

template <std::floating_point T>
struct lane_traits<T> {
  using scalar = T;
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr int size = 1;
};

template <std::floating_point T> QUENCH_INLINE T load(const T* p, T) { return *p; }
template <std::floating_point T> QUENCH_INLINE void store(T* p, T x) { *p = x; }
template <std::floating_point T> QUENCH_INLINE T abs(T x) { return std::abs(x); }
template <std::floating_point T> QUENCH_INLINE T min(T a, T b) { return a < b ? a : b; }
template <std::floating_point T> QUENCH_INLINE T max(T a, T b) { return a > b ? a : b; }
template <std::floating_point T> QUENCH_INLINE T floor(T x) { return std::floor(x); }
template <std::floating_point T> QUENCH_INLINE T round_even(T x) { return std::nearbyint(x); }
template <std::floating_point T> QUENCH_INLINE T reduce_max(T x) { return x; }
template <std::floating_point T> QUENCH_INLINE T pow2_floor(T x) {
  using B = typename lane_traits<T>::bits;
  constexpr B mask = sizeof(T) == 4 ? B(0x7F800000u) : B(0x7FF0000000000000ull);
  return std::bit_cast<T>(B(std::bit_cast<B>(x) & mask));
}
template <std::floating_point T> QUENCH_INLINE T uniform(std::uint32_t key, std::uint32_t i, T) {
  std::uint32_t h = (key ^ i) * 0x9E3779B9u;
  h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
  h = (h ^ (h >> 13)) * 0xC2B2AE35u;
  h ^= h >> 16;
  return static_cast<T>(h >> 8) * T(0x1p-24);
}

#if QUENCH_HAS_XSIMD
template <class T, class A>
struct lane_traits<xsimd::batch<T, A>> {
  using scalar = T;
  static constexpr int size = int(xsimd::batch<T, A>::size);
};
template <class T, class A> using pack_ = xsimd::batch<T, A>;
template <class T, class A> QUENCH_INLINE pack_<T, A> load(const T* p, pack_<T, A>) { return pack_<T, A>::load_unaligned(p); }
template <class T, class A> QUENCH_INLINE void store(T* p, pack_<T, A> x) { x.store_unaligned(p); }
template <class T, class A> QUENCH_INLINE pack_<T, A> abs(pack_<T, A> x) { return xsimd::abs(x); }
template <class T, class A> QUENCH_INLINE pack_<T, A> min(pack_<T, A> a, pack_<T, A> b) { return xsimd::min(a, b); }
template <class T, class A> QUENCH_INLINE pack_<T, A> max(pack_<T, A> a, pack_<T, A> b) { return xsimd::max(a, b); }
template <class T, class A> QUENCH_INLINE pack_<T, A> floor(pack_<T, A> x) { return xsimd::floor(x); }
template <class T, class A> QUENCH_INLINE pack_<T, A> round_even(pack_<T, A> x) { return xsimd::nearbyint(x); }
template <class T, class A> QUENCH_INLINE T reduce_max(pack_<T, A> x) {
  alignas(A::alignment()) std::array<T, pack_<T, A>::size> lanes;
  x.store_aligned(lanes.data());
  return *std::max_element(lanes.begin(), lanes.end());
}
template <class A> QUENCH_INLINE pack_<float, A> pow2_floor(pack_<float, A> x) {
  using I = xsimd::batch<std::int32_t, A>;
  return xsimd::bitwise_cast<pack_<float, A>>(xsimd::bitwise_cast<I>(x) & I(0x7F800000));
}
template <class A> QUENCH_INLINE pack_<float, A> uniform(std::uint32_t key, std::uint32_t i, pack_<float, A>) {
  using U = xsimd::batch<std::uint32_t, A>;
  alignas(A::alignment()) static constexpr auto iota = [] {
    std::array<std::uint32_t, U::size> a{};
    std::iota(a.begin(), a.end(), 0u);
    return a;
  }();
  U h = (U(key) ^ (U::load_aligned(iota.data()) + U(i))) * U(0x9E3779B9u);
  h = (h ^ (h >> 16)) * U(0x85EBCA6Bu);
  h = (h ^ (h >> 13)) * U(0xC2B2AE35u);
  h = h ^ (h >> 16);
  using I = xsimd::batch<std::int32_t, A>;
  return xsimd::to_float(xsimd::bitwise_cast<I>(h >> 8)) * pack_<float, A>(0x1p-24f);
}
template <class T> struct widest { using type = T; };
template <> struct widest<float> { using type = xsimd::batch<float>; };
#else
template <class T> struct widest { using type = T; };
#endif

/// The widest lane type for T on this build: xsimd::batch<T>, or T itself.
template <class T>
using widest_t = typename widest<T>::type;

/// dst[i] = op(src[i], i). `op` must accept both lane types; src may equal dst.
template <class T, class Op>
void transform(const T* src, T* dst, std::ptrdiff_t n, Op op) {
  using V = widest_t<T>;
  constexpr std::ptrdiff_t N = lane_traits<V>::size;
  std::ptrdiff_t i = 0;
  for (; i + N <= n; i += N) simd::store(dst + i, op(simd::load(src + i, V{}), i));
  if constexpr (N > 1)
    for (; i < n; ++i) dst[i] = op(src[i], i);
}

/// max |x[i]|, 0 for n == 0.
template <class T>
T abs_max(const T* x, std::ptrdiff_t n) {
  using V = widest_t<T>;
  constexpr std::ptrdiff_t N = lane_traits<V>::size;
  V wide = V(T(0));
  std::ptrdiff_t i = 0;
  for (; i + N <= n; i += N) wide = simd::max(simd::abs(simd::load(x + i, V{})), wide);
  T m = simd::reduce_max(wide);
  for (; i < n; ++i) m = simd::max(simd::abs(x[i]), m);
  return m;
}

}  // namespace quench::simd
