#pragma once
/// \file  The operations kernels are written in, for a scalar T and for xsimd::batch<T>: one text, two lane types.
/// This is the only header that includes xsimd; differences between its versions 8.1 .. 14 are absorbed here.
#include <quench/core/config.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <type_traits>

#if QUENCH_HAS_XSIMD
#include <xsimd/xsimd.hpp>
#endif

namespace quench::inline QUENCH_ISA::simd {

/// What a lane type holds: `scalar`, the signed and unsigned integers of the same width, and how many at once.
template <class V>
struct lane_traits;

template <std::floating_point T>
struct lane_traits<T> {
  using scalar = T;
  using bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  using words = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr int size = 1;
};
template <class V> using scalar_t = typename lane_traits<V>::scalar;
template <class V> using bits_t = typename lane_traits<V>::bits;
template <class V> using words_t = typename lane_traits<V>::words;

/// IEEE layout of a scalar: the numbers bit tricks are made of.
template <class T>
struct ieee {
  using bits = typename lane_traits<T>::bits;
  using words = typename lane_traits<T>::words;
  static constexpr int mantissa = sizeof(T) == 4 ? 23 : 52;
  static constexpr int bias = sizeof(T) == 4 ? 127 : 1023;
  static constexpr bits sign = bits(words(1) << (8 * sizeof(T) - 1));
  static constexpr bits magnitude = bits(words(~words(0)) >> 1);
  static constexpr bits exponent = bits(((words(1) << (sizeof(T) == 4 ? 8 : 11)) - 1) << mantissa);   // = +Inf
};

template <std::floating_point T> QUENCH_INLINE T load(const T* p, T) { return *p; }
template <std::floating_point T> QUENCH_INLINE void store(T* p, T x) { *p = x; }
template <std::floating_point T> QUENCH_INLINE T abs(T x) { return std::fabs(x); }
/// min and max: a NaN in the second operand comes through; a NaN in the first does not.
template <std::floating_point T> QUENCH_INLINE T min(T a, T b) { return a < b ? a : b; }
template <std::floating_point T> QUENCH_INLINE T max(T a, T b) { return a > b ? a : b; }
template <std::floating_point T> QUENCH_INLINE T floor(T x) { return std::floor(x); }
template <std::floating_point T> QUENCH_INLINE T ceil(T x) { return std::ceil(x); }
template <std::floating_point T> QUENCH_INLINE T trunc(T x) { return std::trunc(x); }
template <std::floating_point T> QUENCH_INLINE T sqrt(T x) { return std::sqrt(x); }
template <std::floating_point T> QUENCH_INLINE T select(bool c, T a, T b) { return c ? a : b; }
QUENCH_INLINE bool all(bool c) { return c; }
template <std::floating_point T> QUENCH_INLINE bits_t<T> as_bits(T x) { return std::bit_cast<bits_t<T>>(x); }
template <std::floating_point T> QUENCH_INLINE T from_bits(bits_t<T> b, T) { return std::bit_cast<T>(b); }
template <std::integral B> QUENCH_INLINE B load(const B* p, B) { return *p; }
template <std::integral B> QUENCH_INLINE void store(B* p, B x) { *p = x; }
template <std::signed_integral B> QUENCH_INLINE B bits_max(B a, B b) { return a > b ? a : b; }
template <std::signed_integral B> QUENCH_INLINE B bits_min(B a, B b) { return a < b ? a : b; }
template <int N, std::signed_integral B> QUENCH_INLINE B shift_right(B x) { return B(std::make_unsigned_t<B>(x) >> N); }
template <int N, std::signed_integral B> QUENCH_INLINE B shift_left(B x) { return B(std::make_unsigned_t<B>(x) << N); }
template <std::signed_integral B> QUENCH_INLINE B wrap_add(B a, B b) {
  using U = std::make_unsigned_t<B>;
  return B(U(a) + U(b));
}
template <std::signed_integral B> QUENCH_INLINE B wrap_sub(B a, B b) {
  using U = std::make_unsigned_t<B>;
  return B(U(a) - U(b));
}
/// Value conversion of integers that fit exactly.
template <std::floating_point T> QUENCH_INLINE bits_t<T> to_int(T x) { return bits_t<T>(x); }
template <std::floating_point T> QUENCH_INLINE T to_real(bits_t<T> b, T) { return T(b); }

template <class T> struct widest { using type = T; };

#if QUENCH_HAS_XSIMD
template <class T, class A> using batch = xsimd::batch<T, A>;

template <class T, class A>
struct lane_traits<xsimd::batch<T, A>> {
  using scalar = T;
  using bits = xsimd::batch<typename lane_traits<T>::bits, A>;
  using words = xsimd::batch<typename lane_traits<T>::words, A>;
  static constexpr int size = int(xsimd::batch<T, A>::size);
};

namespace detail {
template <class To, class A, class From>
QUENCH_INLINE batch<To, A> recast(const batch<From, A>& x) {
#if XSIMD_VERSION_MAJOR >= 11
  return xsimd::bitwise_cast<To>(x);
#else
  return xsimd::bitwise_cast<batch<To, A>>(x);
#endif
}
}  // namespace detail

template <class T, class A> QUENCH_INLINE batch<T, A> load(const T* p, batch<T, A>) { return batch<T, A>::load_unaligned(p); }
template <class T, class A> QUENCH_INLINE void store(T* p, batch<T, A> x) { x.store_unaligned(p); }
template <class T, class A> QUENCH_INLINE batch<T, A> abs(batch<T, A> x) { return xsimd::abs(x); }
#if XSIMD_VERSION_MAJOR >= 14   // follows std::min: first operand on NaN
template <class T, class A> QUENCH_INLINE batch<T, A> min(batch<T, A> a, batch<T, A> b) { return xsimd::min(b, a); }
template <class T, class A> QUENCH_INLINE batch<T, A> max(batch<T, A> a, batch<T, A> b) { return xsimd::max(b, a); }
#else                           // follows the x86 instruction: second operand on NaN
template <class T, class A> QUENCH_INLINE batch<T, A> min(batch<T, A> a, batch<T, A> b) { return xsimd::min(a, b); }
template <class T, class A> QUENCH_INLINE batch<T, A> max(batch<T, A> a, batch<T, A> b) { return xsimd::max(a, b); }
#endif
template <class T, class A> QUENCH_INLINE batch<T, A> floor(batch<T, A> x) { return xsimd::floor(x); }
template <class T, class A> QUENCH_INLINE batch<T, A> ceil(batch<T, A> x) { return xsimd::ceil(x); }
template <class T, class A> QUENCH_INLINE batch<T, A> trunc(batch<T, A> x) { return xsimd::trunc(x); }
template <class T, class A> QUENCH_INLINE batch<T, A> sqrt(batch<T, A> x) { return xsimd::sqrt(x); }
template <class T, class A> QUENCH_INLINE batch<T, A> select(xsimd::batch_bool<T, A> c, batch<T, A> a, batch<T, A> b) {
  return xsimd::select(c, a, b);
}
template <class T, class A> QUENCH_INLINE bool all(xsimd::batch_bool<T, A> c) { return xsimd::all(c); }
template <std::floating_point T, class A>
QUENCH_INLINE auto as_bits(batch<T, A> x) { return detail::recast<typename lane_traits<T>::bits, A>(x); }
template <std::floating_point T, class A, std::signed_integral B>
QUENCH_INLINE batch<T, A> from_bits(batch<B, A> b, batch<T, A>) { return detail::recast<T, A>(b); }
template <std::signed_integral B, class A> QUENCH_INLINE batch<B, A> bits_max(batch<B, A> a, batch<B, A> b) { return xsimd::max(a, b); }
template <std::signed_integral B, class A> QUENCH_INLINE batch<B, A> bits_min(batch<B, A> a, batch<B, A> b) { return xsimd::min(a, b); }
template <int N, std::signed_integral B, class A> QUENCH_INLINE batch<B, A> shift_right(batch<B, A> x) {
  return detail::recast<B, A>(detail::recast<std::make_unsigned_t<B>, A>(x) >> N);
}
template <int N, std::signed_integral B, class A> QUENCH_INLINE batch<B, A> shift_left(batch<B, A> x) { return x << N; }
template <std::signed_integral B, class A> QUENCH_INLINE batch<B, A> wrap_add(batch<B, A> a, batch<B, A> b) { return a + b; }
template <std::signed_integral B, class A> QUENCH_INLINE batch<B, A> wrap_sub(batch<B, A> a, batch<B, A> b) { return a - b; }
template <std::floating_point T, class A> QUENCH_INLINE auto to_int(batch<T, A> x) { return xsimd::to_int(x); }
template <std::floating_point T, class A, std::signed_integral B>
QUENCH_INLINE batch<T, A> to_real(batch<B, A> b, batch<T, A>) { return xsimd::to_float(b); }

template <> struct widest<float> { using type = xsimd::batch<float>; };
#if !defined(__arm__)   // 32-bit NEON has no double lanes
template <> struct widest<double> { using type = xsimd::batch<double>; };
#endif
#endif

/// The widest lane type for T on this build: xsimd::batch<T>, or T itself.
template <class T>
using widest_t = typename widest<T>::type;
template <class T>
inline constexpr std::ptrdiff_t lane_count = lane_traits<widest_t<T>>::size;

/// lane_count<T> floats, as T.
template <std::floating_point T> QUENCH_INLINE T load_as(const float* p, T) { return T(*p); }
#if QUENCH_HAS_XSIMD
template <class A> QUENCH_INLINE batch<float, A> load_as(const float* p, batch<float, A> like) { return load(p, like); }
template <class A> QUENCH_INLINE batch<double, A> load_as(const float* p, batch<double, A>) {
  alignas(64) std::array<double, batch<double, A>::size> lane;
  for (std::size_t i = 0; i < lane.size(); ++i) lane[i] = double(p[i]);
  return batch<double, A>::load_aligned(lane.data());
}
#endif

/// |x| with Inf and NaN kept, as an integer that orders the same way (NaN above Inf above every finite value).
template <class V> QUENCH_INLINE bits_t<V> magnitude_bits(V x) {
  return as_bits(x) & bits_t<V>(ieee<scalar_t<V>>::magnitude);
}
/// The sign bit of x alone.
template <class V> QUENCH_INLINE bits_t<V> sign_bits(V x) { return as_bits(x) & bits_t<V>(ieee<scalar_t<V>>::sign); }
/// Largest power of two <= |x|; 0 for zero and subnormal x; Inf for Inf and NaN. By bit field, never by log2.
template <class V> QUENCH_INLINE V pow2_floor(V x) {
  return from_bits(as_bits(x) & bits_t<V>(ieee<scalar_t<V>>::exponent), V{});
}
/// magnitude |m| with the sign of x.
template <class V> QUENCH_INLINE V with_sign_of(V m, V x) { return from_bits(as_bits(m) | sign_bits(x), V{}); }

}  // namespace quench::simd
