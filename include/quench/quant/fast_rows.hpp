#pragma once
/// \file  The common case at the speed of memory: rows or blocks of a contiguous row, scale from max |x| (absmax or a
/// power of two), nearest even. While one row is rounded the next is scanned, so arithmetic hides behind loads; blocks
/// are reduced and divided one vector at a time. Anything out of the ordinary is left to the general path.
#include <quench/quant/choose.hpp>

namespace quench::inline QUENCH_ISA::detail {

/// Whether options and grid are the common case.
template <class T>
bool is_common(const value_grid& g, const quant_options& o) {
  const bool rule = std::holds_alternative<absmax>(o.scale) || std::holds_alternative<power_of_two>(o.scale);
  return sizeof(T) == 4 && rule && o.convention == convention::restricted && o.round.mode == round_mode::nearest_even &&
         o.overflow == overflow::saturate && g.kind != grid_kind::codebook && g.low == -g.high && !is_upper_half<T>(g);
}

/// Scales of several tiles from the bits of their largest magnitudes; NaN where the general path must decide.
template <class T>
class common_scale {
  using B = simd::bits_t<T>;

 public:
  common_scale(const value_grid& g, const quant_options& o) : top_(T(g.top())), limit_(scale_limit<T>(g.top())) {
    const auto* p = std::get_if<power_of_two>(&o.scale);
    if (p == nullptr) return;
    const bool integer = g.kind == grid_kind::integer;
    const float element_max = integer ? g.high / float(1 << (g.bits - 2)) : g.top();
    const int bits = integer ? g.bits - 2 : g.mantissa;
    pow2_ = true;
    factor_ = p->rule == pow2_rule::rceil ? T(1.0f / element_max) : T(1);
    carry_ = p->rule == pow2_rule::floor ? 0 : p->rule == pow2_rule::even ? B(1) << (23 - bits - 1) : B(0x7FFFFF);
    drop_ = B((p->rule == pow2_rule::rceil ? 0 : exponent_of(element_max)) + (integer ? bits : 0)) << 23;
  }
  template <class V>
  QUENCH_INLINE V operator()(V largest) const {
    using W = simd::bits_t<V>;
    if (!pow2_) return simd::min(V(limit_), largest / V(top_));
    const W field = simd::wrap_add(simd::as_bits(largest * V(factor_)), W(carry_)) & W(simd::ieee<T>::exponent);
    return simd::from_bits(simd::wrap_sub(field, W(drop_)), V{});
  }
  bool clamps() const { return pow2_; }
  /// True when max |x| and its scale are plain: finite, and inside quotient()'s range.
  static bool plain(B largest, T scale) {
    return largest < simd::ieee<T>::exponent && scale >= T(0x1p-100) && scale <= T(0x1p100);
  }

 private:
  T top_, limit_, factor_ = T(1);
  B carry_ = 0, drop_ = 0;
  bool pow2_ = false;
};

/// Rounds n elements of one tile and returns the bits of max |next[i]|, i < n (0 when next is null).
template <bool Integer, bool Clamp, class T>
simd::bits_t<T> snap_and_scan(const T* x, T* out, index n, T s, T inverse, T top, const T* next, const value_grid& g) {
  using V = simd::widest_t<T>;
  using B = simd::bits_t<V>;
  constexpr index N = simd::lane_count<T>;
  const minifloat_bits<T> k(g);
  const V S(s), I(inverse), L(-top * s), H(top * s);
  simd::bits_t<T> most = 0;
  index i = 0;
  if (next != nullptr) {
    B m0(simd::bits_t<T>(0)), m1 = m0;
    for (; i + 2 * N <= n; i += 2 * N) {
      m0 = simd::bits_max(m0, simd::magnitude_bits(simd::load(next + i, V{})));
      simd::store(out + i, snap_lanes<Integer, Clamp>(simd::load(x + i, V{}), S, I, L, H, S, k));
      m1 = simd::bits_max(m1, simd::magnitude_bits(simd::load(next + i + N, V{})));
      simd::store(out + i + N, snap_lanes<Integer, Clamp>(simd::load(x + i + N, V{}), S, I, L, H, S, k));
    }
    most = simd::bits_max(simd::reduce_max(simd::bits_max(m0, m1)), simd::abs_max_bits(next + i, n - i));
  } else {
    for (; i + N <= n; i += N) simd::store(out + i, snap_lanes<Integer, Clamp>(simd::load(x + i, V{}), S, I, L, H, S, k));
  }
  simd::transform(x + i, out + i, n - i, [&](auto v, index) QUENCH_INLINE_LAMBDA {
    using W = decltype(v);
    return snap_lanes<Integer, Clamp>(v, W(s), W(inverse), W(-top * s), W(top * s), W(s), k);
  });
  return most;
}

/// Blocks of `width` (a multiple of the lanes) in a row of n, one vector of blocks at a time: while one is rounded,
/// the scales of the next are divided and the one after that is scanned, so that latencies hide. Returns how many elements from the
/// start were done; stops early at blocks the general path must treat.
template <bool Integer, bool Clamp, class T>
index snap_blocks(const T* x, T* out, index n, index width, const common_scale<T>& rule, const value_grid& g) {
  using V = simd::widest_t<T>;
  constexpr index N = simd::lane_count<T>;
  constexpr std::size_t lanes = std::size_t(N);
  const minifloat_bits<T> k(g);
  const T top = T(g.top());
  alignas(64) T scale[2][lanes], inverse[2][lanes];
  using B = simd::bits_t<V>;
  const auto scan = [&](const T* p) QUENCH_INLINE_LAMBDA {
    B m = simd::magnitude_bits(simd::load(p, V{}));
    for (index i = N; i < width; i += N) m = simd::bits_max(m, simd::magnitude_bits(simd::load(p + i, V{})));
    return m;
  };
  B m[lanes];
  const auto choose = [&](std::size_t slot) QUENCH_INLINE_LAMBDA {
    const V s = rule(simd::from_bits(simd::max_of_each(m), V{}));
    simd::store(scale[slot], s);
    simd::store(inverse[slot], V(T(1)) / s);
    return simd::all((s >= V(T(0x1p-100))) & (s <= V(T(0x1p100))));   // false for NaN and Inf too
  };
  const index span = N * width;
  if (span > n) return 0;
  for (std::size_t b = 0; b < lanes; ++b) m[b] = scan(x + index(b) * width);
  bool ready = choose(0);
  if (2 * span <= n)
    for (std::size_t b = 0; b < lanes; ++b) m[b] = scan(x + span + index(b) * width);
  index at = 0;
  for (std::size_t slot = 0; ready; at += span, slot ^= 1) {
    ready = at + 2 * span <= n && choose(slot ^ 1);
    const bool more = at + 3 * span <= n;
    const T* from = x + at;
    T* to = out + at;
    for (std::size_t b = 0; b < lanes; ++b) {
      const V S(scale[slot][b]), I(inverse[slot][b]), H(T(top * scale[slot][b])), L(T(-top * scale[slot][b]));
      if (more) m[b] = scan(from + 2 * span);
      for (index i = 0; i < width; i += N, from += N, to += N)
        simd::store(to, snap_lanes<Integer, Clamp>(simd::load(from, V{}), S, I, L, H, S, k));
    }
  }
  return at;
}

}  // namespace quench::detail
