#pragma once
/// \file  The scale searches of ggml's blocks (ggml-quants.c, d99724f2): weighted least squares over a fan of
/// trial scales, one group a lane. Each keeps ggml's order of operations; no sum of products is fused.
#include <quench/block/ggml_lanes.hpp>

namespace quench::inline QUENCH_ISA::ggml::detail {

/// Symmetric codes nearest(inverse * x) clamped to [-top, top - 1], as if x ~ scale * code.
template <class V>
struct symmetric_fit {
  V scale{}, inverse{};
  QUENCH_INLINE ints_of<V> code(const V& x, int top) const {
    return clamp(nearest_int(V(inverse * x)), -top, top - 1);
  }
};

/// v to the nearest whole number, halves to even, as a float; |v| < 2^22.
template <class V>
QUENCH_INLINE V nearest(const V& v) {
  return rounded(V(rounded(v) + 12582912.f)) - 12582912.f;
}
template <class V>
QUENCH_INLINE V between(const V& v, const V& low, const V& high) {
  return simd::greater(simd::lesser(v, high), low);
}

/// Maximises (sum w x l)^2 / sum w l^2 over inverse = -(top + k/10) / peak, k = 0, -9 .. 9 (make_qx_quants).
/// |inverse * x| stays below top + 1 wherever there is a peak, so codes are rounded as floats.
template <class V>
symmetric_fit<V> fit_symmetric(const V* x, const V* w, int n, int top) {
  const peak<V> p(x, n);
  const V low = simd::splat<V>(float(-top)), high = simd::splat<V>(float(top - 1));
  V wx[32];
  for (int i = 0; i < n; ++i) wx[i] = w[i] * x[i];
  const auto sums = [&](const V& inverse, V& xl, V& l2) {
    xl = l2 = V{};
    for (int i = 0; i < n; ++i) {
      const V l = between(nearest(V(inverse * x[i])), low, high);
      xl += rounded(V(wx[i] * l));
      l2 += rounded(V(w[i] * l * l));
    }
  };
  symmetric_fit<V> fit;
  V xl, l2;
  fit.inverse = float(-top) / p.value;
  sums(fit.inverse, xl, l2);
  fit.scale = choose(l2 != 0, V(xl / l2), V{});
  V best = fit.scale * xl;
  for (int k = -9; k <= 9; ++k) {
    if (k == 0) continue;
    const V inverse = -(float(top) + rounded(0.1f * float(k))) / p.value;
    sums(inverse, xl, l2);
    const auto better = mask_of<V>((l2 > 0) & (V(xl * xl) > V(best * l2)));
    fit.scale = choose(better, V(xl / l2), fit.scale);
    best = choose(better, V(fit.scale * xl), best);
    fit.inverse = choose(better, inverse, fit.inverse);
  }
  const auto dead = p.size < nothing;
  fit.scale = choose(dead, V{}, fit.scale);
  fit.inverse = choose(dead, V{}, fit.inverse);
  return fit;
}

/// Codes of a group without peak are 0 although 0 stands for -top; lanes where that holds.
template <class V>
QUENCH_INLINE mask_of<V> all_zero(const V* x, int n) {
  return peak<V>(x, n).size < nothing;
}

/// Affine codes l = clamp(nearest(inverse * (x - base)), 0, top), as if x ~ scale * l - minus.
template <class V>
struct affine_fit {
  V scale{}, minus{}, inverse{}, base{};
};
inline std::uint8_t affine_code(float inverse, float base, float x, int top) {
  return std::uint8_t(clamp(nearest_int(inverse * (x - base)), 0, top));
}

/// How wide the fan of an affine search is: inverse = (first + step k + top) / (max - min), k = 0 .. last.
struct fan {
  float first, step;
  int last;
  bool absolute;  ///< error sum w |e| instead of sum w e^2
  bool guarded;   ///< codes cut to [0, top] before they are rounded (make_qkx3_quants), not after
                  ///< (make_qkx2_quants)
};

/// Least squares for scale and minimum, kept when the weighted error falls (make_qkx2_quants,
/// make_qkx3_quants). The minimum is never above 0. As in ggml the fan is spread over max - (best minimum so
/// far).
template <class V>
affine_fit<V> fit_affine(const V* x, const V* w, int n, int top, const fan f) {
  V low = x[0], high = x[0], sum_w = w[0], sum_x = rounded(V(w[0] * x[0]));
  for (int i = 1; i < n; ++i) {
    low = choose(x[i] < low, x[i], low);
    high = choose(x[i] > high, x[i], high);
    sum_w += w[i];
    sum_x += rounded(V(w[i] * x[i]));
  }
  const V least = low;
  low = choose(low > 0, V{}, low);
  const V most = V{} + float(top);
  V l[32];
  // Codes of all elements into l. Rounded as floats where that is sure to be the same; else through integers,
  // whose low bits ggml takes even when they mean nothing.
  const auto code_all = [&](const V& inverse, const V& base, bool guarded) {
    const V reach = magnitude(V(inverse * (high - base))), down = magnitude(V(inverse * (least - base)));
    const V far = simd::splat<V>(4e6f);
    if (!any_lane(mask_of<V>((reach >= far) | (down >= far) | (reach != reach) | (down != down)))) {
      for (int i = 0; i < n; ++i) l[i] = between(nearest(V(inverse * (x[i] - base))), V{}, most);
      return;
    }
    for (int i = 0; i < n; ++i) {
      V t = inverse * (x[i] - base);
      if (guarded) {
        t = choose(t < most, t, most);
        l[i] = to_float<V>(choose(t > 0, nearest_int(t), ints_of<V>{}));
      } else
        l[i] = to_float<V>(clamp(nearest_int(t), 0, top));
    }
  };
  const auto error = [&](const V& scale, const V& minimum) {
    V sum{};
    for (int i = 0; i < n; ++i) {
      V e = rounded(V(scale * l[i])) + minimum - x[i];
      e = f.absolute ? magnitude(e) : V(e * e);
      sum += rounded(V(w[i] * e));
    }
    return sum;
  };
  affine_fit<V> fit;
  const auto flat = f.guarded ? mask_of<V>(high <= low) : mask_of<V>(high == low);
  const V untouched = low;
  fit.base = low;
  fit.inverse = float(top) / (high - low);
  fit.scale = 1.f / fit.inverse;
  code_all(fit.inverse, low, false);
  V best = error(fit.scale, low);
  for (int k = 0; k <= f.last; ++k) {
    const V inverse = (f.first + rounded(f.step * float(k)) + float(top)) / (high - low);
    code_all(inverse, low, f.guarded);
    V l1{}, l2{}, xl{};
    for (int i = 0; i < n; ++i) {
      const V wl = rounded(V(w[i] * l[i]));
      l1 += wl;
      l2 += rounded(V(wl * l[i]));
      xl += rounded(V(wl * x[i]));
    }
    const V det = rounded(V(sum_w * l2)) - rounded(V(l1 * l1));
    V scale = (rounded(V(sum_w * xl)) - rounded(V(sum_x * l1))) / det;
    V minimum = (rounded(V(l2 * sum_x)) - rounded(V(l1 * xl))) / det;
    const auto above = minimum > 0;
    minimum = choose(above, V{}, minimum);
    scale = choose(above, V(xl / l2), scale);
    const V e = error(scale, minimum);
    const auto better = mask_of<V>((det > 0) & (e < best));
    best = choose(better, e, best);
    fit.inverse = choose(better, inverse, fit.inverse);
    fit.base = choose(better, low, fit.base);
    fit.scale = choose(better, scale, fit.scale);
    low = choose(better, minimum, low);
  }
  fit.minus = -choose(flat, untouched, low);
  fit.scale = choose(flat, V{}, fit.scale);
  fit.inverse = choose(flat, V{}, fit.inverse);
  fit.base = choose(flat, V{}, fit.base);
  return fit;
}

/// Codes 0 .. top for the n non-negative x: best of nine scales by weighted square error, then up to five
/// sweeps that move one code at a time while (sum w x l)^2 / sum w l^2 grows (make_qp_quants). Returns the
/// scale.
inline float fit_positive(const float* x, const float* w, int n, int top, std::uint8_t* l) {
  const float largest = std::max(0.f, *std::max_element(x, x + n));
  std::fill(l, l + n, std::uint8_t(0));
  if (largest < nothing) return 0;
  float inverse = float(top) / largest, best = 0;
  for (int k : {0, -4, -3, -2, -1, 1, 2, 3, 4}) {
    const float trial = k == 0 ? inverse : (rounded(0.1f * float(k)) + float(top)) / largest,
                scale = 1 / trial;
    float error = 0;
    for (int i = 0; i < n; ++i) {
      const int code =
          k == 0 ? std::uint8_t(nearest_int(trial * x[i])) : std::min(top, nearest_int(trial * x[i]));
      const float e = x[i] - rounded(scale * float(code));
      error += rounded(w[i] * e * e);
    }
    if (k == 0 || error < best) {
      best = error;
      inverse = trial;
    }
  }
  float xl = 0, l2 = 0;
  for (int i = 0; i < n; ++i) {
    const int code = std::min(top, nearest_int(inverse * x[i]));
    l[i] = std::uint8_t(code);
    xl += rounded(w[i] * x[i] * float(code));
    l2 += rounded(w[i] * float(code) * float(code));
  }
  for (int sweep = 0, moved = 1; sweep < 5 && moved > 0; ++sweep) {
    moved = 0;
    for (int i = 0; i < n; ++i) {
      const float now = float(l[i]);
      float rest_xl = xl - rounded(w[i] * x[i] * now), rest_l2 = l2 - rounded(w[i] * now * now);
      if (!(rest_xl > 0 && rest_l2 > 0)) continue;
      const int code = std::min(top, nearest_int(x[i] * rest_l2 / rest_xl));
      if (code == l[i]) continue;
      rest_xl += rounded(w[i] * x[i] * float(code));
      rest_l2 += rounded(w[i] * float(code) * float(code));
      if (rest_xl * rest_xl * l2 > xl * xl * rest_l2) {
        l[i] = std::uint8_t(code);
        xl = rest_xl;
        l2 = rest_l2;
        ++moved;
      }
    }
  }
  return l2 > 0 ? xl / l2 : 0;
}

/// Symmetric codes 0 .. 2 top - 1 by the same moves (make_q3_quants) for K sets of 16-element groups, one
/// group a lane. Each move waits for the one before it; K sets side by side fill the waiting.
template <int K, class V>
void fit_by_moves(const V (*x)[16], int top, ints_of<V> (*l)[16], V* scale) {
  constexpr auto sets = std::size_t(K);
  V xl[sets], l2[sets], low = simd::splat<V>(float(-top)), high = simd::splat<V>(float(top - 1)),
                        code[sets][16];
  mask_of<V> alive[sets];
  for (int k = 0; k < K; ++k) {
    const peak<V> p(x[k], 16);
    const V inverse = float(-top) / p.value;
    alive[k] = mask_of<V>(p.size >= nothing);
    xl[k] = l2[k] = V{};
    for (int i = 0; i < 16; ++i) {
      const V c = between(nearest(V(inverse * x[k][i])), low, high), w = x[k][i] * x[k][i];
      code[k][i] = c;
      xl[k] += rounded(V(w * x[k][i] * c));
      l2[k] += rounded(V(w * c * c));
    }
  }
  bool more = true;
  for (int sweep = 0; sweep < 5 && more; ++sweep) {
    mask_of<V> moved{};
    for (int i = 0; i < 16; ++i)
      for (int k = 0; k < K; ++k) {
        const V v = x[k][i], w = v * v, now = code[k][i];
        V rest_xl = xl[k] - rounded(V(w * v * now)), rest_l2 = l2[k] - rounded(V(w * now * now));
        const V c = to_float<V>(clamp(nearest_int(V(v * rest_l2 / rest_xl)), -top, top - 1));
        auto accept = mask_of<V>((rest_xl > 0) & (c != now) & alive[k]);
        rest_xl += rounded(V(w * v * c));
        rest_l2 += rounded(V(w * c * c));
        accept =
            mask_of<V>(accept & (rest_l2 > 0) & (V(rest_xl * rest_xl * l2[k]) > V(xl[k] * xl[k] * rest_l2)));
        code[k][i] = choose(accept, c, now);
        xl[k] = choose(accept, rest_xl, xl[k]);
        l2[k] = choose(accept, rest_l2, l2[k]);
        moved = mask_of<V>(moved | accept);
      }
    more = any_lane(moved);
  }
  for (int k = 0; k < K; ++k) {
    for (int i = 0; i < 16; ++i)
      l[k][i] = choose(alive[k], simd::truncate_lanes(V(code[k][i] + float(top))), ints_of<V>{});
    scale[k] = choose(mask_of<V>((l2[k] > 0) & alive[k]), V(xl[k] / l2[k]), V{});
  }
}

}  // namespace quench::inline QUENCH_ISA::ggml::detail
