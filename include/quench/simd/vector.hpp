#pragma once
/// \file  Native-width vectors by the compilers' own extension (`vector_size`, GCC manual 6.52): the lanes of kernels
/// that shuffle, mix integers with floats, or run one group a lane, on every ISA and without xsimd.
#include <quench/core/config.hpp>

#include <cstring>
#include <type_traits>
#include <utility>

namespace quench::inline QUENCH_ISA::simd {

#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
inline constexpr int vector_bytes = 64, vector_registers = 32;
#elif defined(__AVX2__)
inline constexpr int vector_bytes = 32, vector_registers = 16;
#elif defined(__aarch64__)
inline constexpr int vector_bytes = 16, vector_registers = 32;
#else
inline constexpr int vector_bytes = 16, vector_registers = 16;
#endif

template <class T, int N>
struct vector_type {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
/// N lanes of T; `+ - * /`, comparisons (0 or -1 per lane), `& | ^ ~ << >>` and `?:` work lane by lane.
template <class T, int N>
using vec = typename vector_type<T, N>::type;

/// Lanes of T in one register.
template <class T>
inline constexpr int lanes_of = vector_bytes / int(sizeof(T));

template <class V>
QUENCH_INLINE V load_vec(const void* p) {
  V v;
  std::memcpy(&v, p, sizeof(V));
  return v;
}
template <class V>
QUENCH_INLINE void store_vec(void* p, const V& v) {
  std::memcpy(p, &v, sizeof(V));
}

namespace detail {
template <class V, int Xor, int... I>
QUENCH_INLINE V swap_lanes(V v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (I ^ Xor)...);
}
}  // namespace detail

/// Lane i of the result is lane i ^ Xor of v.
template <int Xor, class V>
QUENCH_INLINE V swap_lanes(V v) {
  return detail::swap_lanes<V, Xor>(v, std::make_integer_sequence<int, int(sizeof(V) / sizeof(v[0]))>{});
}

}  // namespace quench::simd
