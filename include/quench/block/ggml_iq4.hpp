#pragma once
/// \file  ggml's non-linear 4-bit blocks: IQ4_NL (32 values, fp16 scale) and IQ4_XS (256 values, a 6-bit
/// scale per 32 under one fp16), as ggml_quantize_chunk writes them (ggml-quants.c, d99724f2).
#include <quench/block/ggml_many.hpp>
#include <quench/block/ggml_search.hpp>

namespace quench::inline QUENCH_ISA::ggml {
namespace detail {

inline constexpr float iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};
/// value[j - 1] + value[j]: twice the midpoint below code j. Entry 0 is never asked for.
inline constexpr float iq4_borders[16] = {-1e9f, -231, -187, -148, -114, -84, -57, -32,
                                          -9,    14,   38,   63,   91,   122, 158, 202};

/// Code of the nearest value; a midpoint takes the upper one.
template <class V>
QUENCH_INLINE ints_of<V> iq4_code(const V& x) {
  const V twice = x + x;
  ints_of<V> code{};
  for (int step = 8; step > 0; step /= 2) {
    const ints_of<V> next = code + step;
    code = choose(twice >= simd::lookup16<V>(iq4_borders, next), next, code);
  }
  return code;
}

/// Least-squares scale over 16 trial inverses (k - 127) / peak, k = -7 .. 7, and -(-127) / peak first; n
/// = 32.
template <class V>
V iq4_fit(const V* x, const V* w) {
  const peak<V> p(x, 32);
  V xq, q2;
  const auto sums = [&](const V& inverse) {
    xq = q2 = V{};
    for (int i = 0; i < 32; ++i) {
      const V q = simd::lookup16<V>(iq4_values, iq4_code(V(inverse * x[i]))), wq = w[i] * q;
      xq += rounded(V(wq * x[i]));
      q2 += rounded(V(wq * q));
    }
  };
  sums(V(1.f / V(-p.value / iq4_values[0])));
  V d = choose(q2 > 0, V(xq / q2), V{}), best = d * xq;
  for (int k = -7; k <= 7; ++k) {
    sums(V((float(k) + iq4_values[0]) / p.value));
    const auto better = mask_of<V>((q2 > 0) & (V(xq * xq) > V(best * q2)));
    d = choose(better, V(xq / q2), d);
    best = choose(better, V(d * xq), best);
  }
  return choose(p.size < nothing, V{}, d);
}

/// Scales of `groups` consecutive groups of 32. `sigma2` has one value a group; importance may be null.
template <int Lanes>
void iq4_scales(const float* x, const float* importance, const float* sigma2, int groups, float* scale) {
  for_lanes<Lanes>(groups, [&]<class V>(V, int g) {
    V v[32], w[32];
    load_groups(x + 32 * g, 32, v);
    if (importance)
      load_weights(importance + 32 * g, simd::load_vec<V>(sigma2 + g), v, 32, w);
    else
      for (int i = 0; i < 32; ++i) w[i] = v[i] * v[i];
    simd::store_vec(scale + g, iq4_fit(v, w));
  });
}

/// Split nibbles of the codes of inverse * x, 32 values.
inline void iq4_put(const float* x, float inverse, std::byte* out) {
  using V = simd::vec<float, simd::lanes_of<float>>;
  std::uint8_t q[32];
  for (int j = 0; j < 32; j += simd::lanes_of<float>)
    simd::store_bytes<V>(q + j, iq4_code(V(inverse * simd::load_vec<V>(x + j))));
  quench::detail::put_nibbles(out, q, 32);
}
inline void iq4_get(const std::byte* in, float d, float* x) {
  get_nibbles_wide<32>(in, x,
                       [&](const wide_ints& q) { return wide(simd::lookup16<wide>(iq4_values, q) * d); });
}

}  // namespace detail

struct iq4_nl {
  static constexpr std::string_view name = "iq4_nl";
  static constexpr index elements = 32, bytes = 18;
  static constexpr int ggml_type = 20;

  static void encode(const float* x, std::byte* out) { encode_run<1>(x, nullptr, 1, out); }
  static void encode_many(const float* x, index blocks, std::byte* out) {
    encode_run<simd::lanes_of<float>>(x, nullptr, blocks, out);
  }
  static void encode_weighted(const float* x, index cols, const float* importance, std::byte* out) {
    encode_run<simd::lanes_of<float>>(x, importance, cols / 32, out);
  }
  static void decode(const std::byte* in, float* x) {
    detail::iq4_get(in + 2, quench::detail::get_fp16(in), x);
  }

 private:
  template <int Lanes>
  static void encode_run(const float* x, const float* importance, index blocks, std::byte* out) {
    for (index b = 0; b < blocks; b += 16) {
      const int here = int(std::min<index>(16, blocks - b));
      float scale[16], sigma2[16];
      for (int g = 0; importance && g < here; ++g)
        sigma2[g] = detail::square_sum(x + 32 * g, 32) * (2.f / 32);
      detail::iq4_scales<Lanes>(x, importance, sigma2, here, scale);
      for (int g = 0; g < here; ++g, x += 32, out += bytes) {
        quench::detail::put_fp16(out, scale[g]);
        detail::iq4_put(x, scale[g] != 0 ? 1 / scale[g] : 0.f, out + 2);
      }
      if (importance) importance += 32 * here;
    }
  }
};

struct iq4_xs {
  static constexpr std::string_view name = "iq4_xs";
  static constexpr index elements = 256, bytes = 136;
  static constexpr int ggml_type = 23;

  static void encode(const float* x, std::byte* out) { encode_run<1>(x, nullptr, 1, out); }
  static void encode_many(const float* x, index blocks, std::byte* out) {
    encode_run<simd::lanes_of<float>>(x, nullptr, blocks, out);
  }
  static void encode_weighted(const float* x, index cols, const float* importance, std::byte* out) {
    encode_run<simd::lanes_of<float>>(x, importance, cols / 256, out);
  }
  static void decode(const std::byte* in, float* x) {
    const float d = quench::detail::get_fp16(in);
    const int high = quench::detail::get<std::uint16_t>(in + 2);
    for (int g = 0; g < 8; ++g) {
      const int s = (int(in[4 + g / 2]) >> (g % 2 * 4) & 15) | (high >> (2 * g) & 3) << 4;
      detail::iq4_get(in + 8 + 16 * g, d * float(s - 32), x + 32 * g);
    }
  }

 private:
  template <int Lanes>
  static void encode_run(const float* x, const float* importance, index blocks, std::byte* out) {
    for (index b = 0; b < blocks; b += 2) {
      const int here = int(std::min<index>(2, blocks - b));
      float scale[16], sigma2[16];
      for (int k = 0; importance && k < here; ++k)
        std::fill_n(sigma2 + 8 * k, 8, detail::square_sum(x + 256 * k, 256) * (2.f / 256));
      detail::iq4_scales<Lanes>(x, importance, sigma2, 8 * here, scale);
      for (int k = 0; k < here; ++k, x += 256, out += bytes) {
        const float d = -quench::detail::first_largest(scale + 8 * k, 8) / 32, inverse = d != 0 ? 1 / d : 0.f;
        int high = 0, low[8];
        for (int g = 0; g < 8; ++g) {
          const int s = detail::clamp(detail::nearest_int(inverse * scale[8 * k + g]), -32, 31);
          const float dg = d * float(s);
          detail::iq4_put(x + 32 * g, dg != 0 ? 1 / dg : 0.f, out + 8 + 16 * g);
          low[g] = (s + 32) & 15;
          high |= ((s + 32) >> 4) << (2 * g);
        }
        quench::detail::put_fp16(out, d);
        quench::detail::put(out + 2, std::uint16_t(high));
        for (int g = 0; g < 4; ++g) out[4 + g] = std::byte(low[2 * g] | low[2 * g + 1] << 4);
      }
      if (importance) importance += 256 * here;
    }
  }
};

}  // namespace quench::inline QUENCH_ISA::ggml
