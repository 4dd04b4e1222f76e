#pragma once
/// \file  The per-element work: x -> s * round(x / s) on contiguous memory, for the three kinds of grid. Scales come in
/// arrays, one entry a tile; nothing here knows how they were chosen or which format is meant.
#include <quench/format/grid.hpp>
#include <quench/quant/options.hpp>
#include <quench/simd/codes.hpp>

namespace quench::inline QUENCH_ISA::detail {

/// Scales of consecutive tiles: x ~ scale * v with low <= v <= high on the grid; inverse = 1 / scale, rounded. What is
/// written is unit * v: unit = scale to fake-quantise, 1 to get grid values for encoding.
template <class T>
struct tile_scales {
  const T *scale, *inverse, *low, *high, *unit;
  tile_scales from(index k) const { return {scale + k, inverse + k, low + k, high + k, unit + k}; }
};

/// The numbers of a minifloat grid as bit patterns of T.
template <class T>
struct minifloat_bits {
  using B = simd::bits_t<T>;
  B smallest;   ///< exponent field of the smallest normal
  B to_magic;   ///< added to the exponent field of |x|: 1.5 * 2^(e + mantissa(T) - M), whose last place is one step
  B steps;      ///< field(2^(M - e)) = steps - field(2^e)
  B drop;       ///< field(2^(e - M)) = field(2^e) - drop
  explicit minifloat_bits(const value_grid& g) {
    constexpr int m = simd::ieee<T>::mantissa, bias = simd::ieee<T>::bias;
    const auto field = [](int e) { return B(B(e) << m); };
    smallest = field(g.min_exponent + bias);
    to_magic = field(m - g.mantissa) | field(1) >> 1;
    steps = field(2 * bias + g.mantissa);
    drop = field(g.mantissa);
  }
};

/// Mask of the bits bf16 keeps of a float's magnitude.
template <class T>
inline constexpr auto upper_half = simd::bits_t<T>(0x7FFF0000);

/// True for the one format whose steps leave the exponent range of T (bf16 in float); it is rounded as an integer.
template <class T>
bool is_upper_half(const value_grid& g) { return sizeof(T) == 4 && g.kind == grid_kind::minifloat && g.min_exponent == -126; }

/// Nearest-even on a minifloat grid, in grid units, |x| not beyond the top step; the sign, also of zero, is `signed_as`'s.
template <class V, class Bits>
QUENCH_INLINE V snap_minifloat(V x, const Bits& k, V signed_as) {
  using T = simd::scalar_t<V>;
  using B = simd::bits_t<V>;
  const B field = simd::bits_max(simd::as_bits(x) & B(simd::ieee<T>::exponent), B(k.smallest));
  const V magic = simd::from_bits(simd::wrap_add(field, B(k.to_magic)), V{});
  return simd::with_sign_of(simd::opaque(x + magic) - magic, signed_as);
}

/// One lane group onto the grid, nearest even.
template <bool Integer, bool Clamp, class V, class Bits>
QUENCH_INLINE V snap_lanes(V v, V s, V inverse, V low, V high, V unit, const Bits& k) {
  if constexpr (Clamp) v = simd::min(high, simd::max(low, v));
  const V q = simd::quotient(v, s, inverse);
  if constexpr (Integer) return simd::times(simd::round_even(q), unit);
  else return snap_minifloat(q, k, v) * unit;   // quotient() loses the sign of -0
}

/// Tiles of `width` columns with one scale each, rounded to nearest even: the fast path. The caller has made sure that
/// quotient()'s conditions hold. Clamp = false is for scales that map max|x| onto the top itself.
template <bool Integer, bool Clamp, class T>
void snap_tiles(const T* x, T* out, index n, index width, tile_scales<T> p, const value_grid& g) {
  const minifloat_bits<T> k(g);
  using W = simd::widest_t<T>;
  constexpr index N = simd::lane_count<T>;
  const auto wide = [&](index i, W s, W inverse, W low, W high, W unit) QUENCH_INLINE_LAMBDA {
    simd::store(out + i, snap_lanes<Integer, Clamp>(simd::load(x + i, W{}), s, inverse, low, high, unit, k));
  };
  for (index first = 0; first < n; first += width, p = p.from(1)) {
    const T s = *p.scale, inverse = *p.inverse, unit = *p.unit, low = *p.low * s, high = *p.high * s;
    const W S = W(s), I = W(inverse), L = W(low), H = W(high), U = W(unit);
    const index end = std::min(first + width, n);
    index i = first;
    for (; i + 2 * N <= end; i += 2 * N) wide(i, S, I, L, H, U), wide(i + N, S, I, L, H, U);
    if (i + N <= end) wide(i, S, I, L, H, U), i += N;
    if constexpr (N > 1)
      for (; i < end; ++i) out[i] = snap_lanes<Integer, Clamp>(x[i], s, inverse, low, high, unit, k);
  }
}

/// One lane group of the general path, in grid units: any mode, any overflow policy, integer and minifloat grids.
template <class V>
QUENCH_INLINE V snap_any(V x, const value_grid& g, const minifloat_bits<simd::scalar_t<V>>& k, round_mode mode, bool open, V threshold) {
  using T = simd::scalar_t<V>;
  using B = simd::bits_t<V>;
  if (g.kind == grid_kind::integer) return round_steps(x, mode, threshold) + V(T(0));   // -0 becomes +0
  V result;
  if (is_upper_half<T>(g)) {
    // Upper half of a float: the dropped half is the fraction, its neighbour bit the parity that ties look at.
    const B magnitude = simd::magnitude_bits(x);
    const V parity = simd::to_real(simd::shift_right<16>(magnitude) & B(1), V{});
    const V part = parity + simd::to_real(magnitude & B(0xFFFF), V{}) * V(T(0x1p-16));
    const V moved = simd::abs(round_steps(simd::with_sign_of(part, x), mode, threshold)) - parity;
    const B up = simd::shift_left<16>(simd::to_int(moved));
    const V grown = simd::from_bits(simd::wrap_add(magnitude & B(upper_half<T>), up), V{});
    result = simd::with_sign_of(simd::select(x == x, grown, x), x);
  } else {
    const B field = simd::bits_max(simd::as_bits(x) & B(simd::ieee<T>::exponent), B(k.smallest));
    const V steps = x * simd::from_bits(simd::wrap_sub(B(k.steps), field), V{});
    const V step = simd::from_bits(simd::wrap_sub(field, B(k.drop)), V{});
    result = simd::with_sign_of(simd::abs(round_steps(steps, mode, threshold)) * step, x);
  }
  if (open) {
    const T beyond = g.overflow == overflow_code::inf ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::quiet_NaN();
    const bool up = mode != round_mode::toward_zero && mode != round_mode::floor;
    const bool down = mode != round_mode::toward_zero && mode != round_mode::ceil;
    result = simd::select(result > V(T(g.high)), V(up ? beyond : T(g.high)), result);
    result = simd::select(result < V(T(g.low)), V(down ? -beyond : T(g.low)), result);
  }
  return result;
}

/// One number on a codebook, in grid units.
template <class T>
T snap_listed(T x, const codebook& b, round_mode mode, T threshold) {
  if (!(x == x)) return x;
  const bool nearest = mode == round_mode::nearest_even;
  const auto& edges = nearest ? b.thresholds : b.values;
  std::size_t j = 0;   // nearest: edges below x; else position of the last value <= x
  if (nearest) {
    for (std::size_t left = edges.size(); left > 0;) {
      const std::size_t half = left / 2;
      if (x > T(edges[j + half])) j += half + 1, left -= half + 1;
      else left = half;
    }
    return T(b.values[j]);
  }
  for (std::size_t left = edges.size(); left > 1;) {
    const std::size_t half = left / 2;
    if (T(edges[j + half]) <= x) j += half;
    left -= half;
  }
  const T lower = T(b.values[j]);
  if (x <= lower || j + 1 == b.values.size()) return lower;
  const T upper = T(b.values[j + 1]);
  switch (mode) {
    case round_mode::toward_zero: return x > T(0) ? lower : upper;
    case round_mode::floor: return lower;
    case round_mode::ceil: return upper;
    case round_mode::nearest_away: {
      const T middle = lower + (upper - lower) * T(0.5);
      return x > middle || (x == middle && x > T(0)) ? upper : lower;
    }
    default: return (x - lower) / (upper - lower) > threshold ? upper : lower;
  }
}

/// The general path: one scale per column, every mode and policy, true division. thresholds may be null unless random.
template <class T>
void snap_columns(const T* x, T* out, index n, const tile_scales<T>& p, const value_grid& g, const quant_options& o, const float* thresholds) {
  const round_mode mode = o.round.mode;
  const bool open = o.overflow == overflow::non_saturating && g.overflow != overflow_code::none && g.kind == grid_kind::minifloat;
  const minifloat_bits<T> k(g);
  const auto limits = [&]<class V>(V v, V s, index i) QUENCH_INLINE_LAMBDA {   // in units of x: nothing overflows on the way to the grid
    if (open) return v;
    return simd::min(simd::load(p.high + i, V{}) * s, simd::max(simd::load(p.low + i, V{}) * s, v));
  };
  if (g.kind == grid_kind::codebook) {
    const codebook& book = g.book();
    if (book.values.size() <= 16 && mode == round_mode::nearest_even) {   // NF4 and its like: compare with every threshold
      float edges[15], values[16];
      std::fill(edges, edges + 15, std::numeric_limits<float>::infinity());
      std::copy(book.thresholds.begin(), book.thresholds.end(), edges);
      std::fill(std::copy(book.values.begin(), book.values.end(), values), values + 16, book.values.back());
      simd::sweep<T>(n, [&]<class V>(std::type_identity<V>, index i) QUENCH_INLINE_LAMBDA {
        const V s = simd::load(p.scale + i, V{}), q = limits(simd::load(x + i, V{}), s, i) / s;
        simd::store(out + i, simd::select(q == q, simd::list_of_16(q, edges, values), q) * simd::load(p.unit + i, V{}));
      });
      return;
    }
    for (index i = 0; i < n; ++i) {
      const T s = p.scale[i];
      out[i] = snap_listed(limits(x[i], s, i) / s, book, mode, thresholds ? T(thresholds[i]) : T(0)) * p.unit[i];
    }
    return;
  }
  simd::sweep<T>(n, [&]<class V>(std::type_identity<V>, index i) QUENCH_INLINE_LAMBDA {
    const V s = simd::load(p.scale + i, V{});
    const V q = limits(simd::load(x + i, V{}), s, i) / s;
    V threshold = V(T(0));
    if (thresholds) threshold = simd::load_as(thresholds + i, V{});
    simd::store(out + i, snap_any(q, g, k, mode, open, threshold) * simd::load(p.unit + i, V{}));
  });
}

}  // namespace quench::detail
