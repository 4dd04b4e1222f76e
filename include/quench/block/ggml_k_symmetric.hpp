#pragma once
/// \file  ggml's symmetric super-blocks of 256: Q3_K and Q6_K (ggml-quants.c, d99724f2). Groups of 16 hold
/// x ~ (d s) q with a signed integer s per group and an fp16 d per super-block.
#include <quench/block/ggml_k_affine.hpp>

namespace quench::inline QUENCH_ISA::ggml {
namespace detail {

/// The first value of largest magnitude among 16 scales.
inline float super_peak(const float* scale) { return quench::detail::first_largest(scale, 16); }

/// Codes of one vector of groups, group by group.
template <class V>
QUENCH_INLINE void put_groups(const ints_of<V>* l, std::uint8_t* q) {
  if constexpr (std::is_arithmetic_v<V>) {
    for (int i = 0; i < 16; ++i) q[i] = std::uint8_t(l[i]);
  } else {
    constexpr int N = simd::lane_types<V>::size;
    for (int j = 0; j < 16; j += N) {
      V a[std::size_t(N)];
      for (int k = 0; k < N; ++k) a[k] = simd::float_of_bits<V>(l[j + k]);
      simd::transpose(a);
      for (int g = 0; g < N; ++g) simd::store_bytes<V>(q + 16 * g + j, bits_of(a[g]));
    }
  }
}

/// Searches the 16 groups of one super-block: their scales, and codes 0 .. 2 top - 1.
template <int Lanes, class Fit>
QUENCH_INLINE void fit_groups(const float* x, Fit&& fit, float* scale, std::uint8_t* q) {
  for_lanes<Lanes>(16, [&]<class V>(V, int g) {
    V v[16];
    load_groups(x + g * 16, 16, v);
    ints_of<V> l[16];
    simd::store_vec(scale + g, fit(v, g, l));
    put_groups<V>(l, q + g * 16);
  });
}

/// fit_by_moves on `blocks` super-blocks, four sets of lanes at a time.
template <int Lanes>
void move_groups(const float* x, int blocks, float* scale, std::uint8_t* q) {
  constexpr int K = Lanes > 1 ? 4 : 1;
  using V = std::conditional_t<(Lanes > 1), simd::vec<float, Lanes>, float>;
  for (int g = 0; g < 16 * blocks; g += K * Lanes) {
    V v[std::size_t(K)][16], s[std::size_t(K)];
    ints_of<V> l[std::size_t(K)][16];
    for (int k = 0; k < K; ++k) load_groups(x + 16 * std::min(g + k * Lanes, 16 * blocks - Lanes), 16, v[k]);
    fit_by_moves<K>(v, 4, l, s);
    for (int k = 0; k < K && g + k * Lanes < 16 * blocks; ++k) {
      simd::store_vec(scale + g + k * Lanes, s[k]);
      put_groups<V>(l[k], q + 16 * (g + k * Lanes));
    }
  }
}

/// fit_symmetric with its codes, 0 for a group without peak.
template <class V>
V fit_with_codes(const V* x, const V* w, int n, int top, ints_of<V>* l) {
  const auto fit = fit_symmetric(x, w, n, top);
  const auto dead = all_zero(x, n);
  for (int i = 0; i < n; ++i) l[i] = choose(dead, ints_of<V>{}, ints_of<V>(fit.code(x[i], top) + top));
  return fit.scale;
}

/// Twelve bytes of sixteen 6-bit scales: low nibbles first, then the top two bits of scale j in byte 8 + j
/// % 4.
inline void put_scales_3(const std::uint8_t* s, std::byte* out) {
  for (int j = 0; j < 8; ++j) out[j] = std::byte((s[j] & 15) | (s[j + 8] & 15) << 4);
  for (int j = 0; j < 4; ++j)
    out[8 + j] = std::byte(s[j] >> 4 | (s[j + 4] >> 4) << 2 | (s[j + 8] >> 4) << 4 | (s[j + 12] >> 4) << 6);
}
inline void get_scales_3(const std::byte* in, std::uint8_t* s) {
  for (int j = 0; j < 16; ++j)
    s[j] = std::uint8_t((int(in[j % 8]) >> (j / 8 * 4) & 15) | (int(in[8 + j % 4]) >> (j / 4 * 2) & 3) << 4);
}

}  // namespace detail

struct q3_k {
  static constexpr std::string_view name = "q3_K";
  static constexpr index elements = 256, bytes = 110;
  static constexpr int ggml_type = 11;

  static void encode(const float* x, std::byte* out) { encode_run<1>(x, 1, out); }
  static void encode_many(const float* x, index blocks, std::byte* out) {
    encode_run<simd::lanes_of<float>>(x, blocks, out);
  }
  static void encode_weighted(const float* x, index cols, const float* importance, std::byte* out) {
    for (index c = 0; c < cols; c += elements, out += bytes)
      encode_block<simd::lanes_of<float>>(x + c, importance + c, out);
  }
  static void decode(const std::byte* in, float* x) {
    std::uint8_t q[256], s[16];
    detail::get_twos(in + 32, q);
    for (int k = 0; k < 8; ++k)
      for (int l = 0; l < 32; ++l) q[32 * k + l] = std::uint8_t(q[32 * k + l] | (int(in[l]) >> k & 1) << 2);
    detail::get_scales_3(in + 96, s);
    const float d = quench::detail::get_fp16(in + 108);
    for (int g = 0; g < 16; ++g) detail::scaled_out(q + 16 * g, 16, d * float(int(s[g]) - 32), 4, x + 16 * g);
  }

 private:
  template <int Lanes>
  static void encode_run(const float* x, index blocks, std::byte* out) {
    for (index b = 0; b < blocks; b += 4) {
      const int here = int(std::min<index>(4, blocks - b));
      float scale[64];
      std::uint8_t q[1024];
      detail::move_groups<Lanes>(x, here, scale, q);
      for (int k = 0; k < here; ++k, x += 256, out += bytes) {
        std::uint8_t s[16] = {};
        float d = 0;
        if (const float peak = detail::super_peak(scale + 16 * k); peak != 0) {
          const float inverse = -32.f / peak;
          for (int g = 0; g < 16; ++g)
            s[g] = std::uint8_t(
                detail::clamp(int(std::int8_t(detail::nearest_int(inverse * scale[16 * k + g]))), -32, 31) +
                32);
          d = 1 / inverse;
        }
        finish(x, d, s, q + 256 * k, out);
      }
    }
  }
  template <int Lanes>
  static void encode_block(const float* x, const float* importance, std::byte* out) {
    float scale[16], weight[16];
    std::uint8_t q[256], s[16];
    const float sigma2 = 2 * detail::square_sum(x, 256) / 256;
    detail::fit_groups<Lanes>(
        x,
        [&]<class V>(const V* v, int g, simd::ints_of<V>* l) {
          V w[16];
          const V total = detail::load_weights(importance + 16 * g, simd::splat<V>(sigma2), v, 16, w);
          simd::store_vec(weight + g, total);
          return detail::fit_with_codes(v, w, 16, 4, l);
        },
        scale, q);
    std::int32_t l[16];
    const float d = detail::fit_with_codes(scale, weight, 16, 32, l);
    std::copy(l, l + 16, s);
    finish(x, d, s, q, out);
  }
  /// Requantizes with the stored scales (groups whose scale is 0 keep their codes q) and writes the block.
  static void finish(const float* x, float d, const std::uint8_t* s, std::uint8_t* q, std::byte* out) {
    const std::uint16_t dh = to_fp16(d);
    for (int g = 0; g < 16; ++g)
      if (const float dg = from_fp16(dh) * float(int(s[g]) - 32); dg != 0)
        detail::requantize(x + 16 * g, 16, dg, 0.f, -4, 3, q + 16 * g);
    for (int l = 0; l < 32; ++l) {
      int top_bits = 0;
      for (int k = 0; k < 8; ++k) top_bits |= (q[32 * k + l] >> 2) << k;
      out[l] = std::byte(top_bits);
    }
    detail::put_twos(q, out + 32);
    detail::put_scales_3(s, out + 96);
    quench::detail::put(out + 108, dh);
  }
};

struct q6_k {
  static constexpr std::string_view name = "q6_K";
  static constexpr index elements = 256, bytes = 210;
  static constexpr int ggml_type = 14;

  static void encode(const float* x, std::byte* out) { encode_block<1>(x, nullptr, out); }
  static void encode_many(const float* x, index blocks, std::byte* out) {
    for (index b = 0; b < blocks; ++b)
      encode_block<simd::lanes_of<float>>(x + b * elements, nullptr, out + b * bytes);
  }
  static void encode_weighted(const float* x, index cols, const float* importance, std::byte* out) {
    for (index c = 0; c < cols; c += elements, out += bytes)
      encode_block<simd::lanes_of<float>>(x + c, importance + c, out);
  }
  /// Each half of 128: low nibbles of elements l and l + 64 in byte l (l < 64), top two bits of l, l + 32, l
  /// + 64, l + 96 in byte 128 + l (l < 32).
  static void decode(const std::byte* in, float* x) {
    std::uint8_t q[256];
    for (int h = 0; h < 2; ++h) {
      quench::detail::get_nibbles(in + 64 * h, q + 128 * h, 128);
      for (int k = 0; k < 4; ++k)
        for (int l = 0; l < 32; ++l)
          q[128 * h + 32 * k + l] =
              std::uint8_t(q[128 * h + 32 * k + l] | (int(in[128 + 32 * h + l]) >> (2 * k) & 3) << 4);
    }
    const float d = quench::detail::get_fp16(in + 208);
    for (int g = 0; g < 16; ++g)
      detail::scaled_out(q + 16 * g, 16, d * float(std::int8_t(in[192 + g])), 32, x + 16 * g);
  }

 private:
  template <int Lanes>
  static void encode_block(const float* x, const float* importance, std::byte* out) {
    float scale[16];
    std::uint8_t q[256];
    detail::fit_groups<Lanes>(
        x,
        [&]<class V>(const V* v, int g, simd::ints_of<V>* l) {
          V w[16];
          if (importance)
            detail::load_groups(importance + 16 * g, 16, w);
          else
            for (int i = 0; i < 16; ++i) w[i] = v[i] * v[i];
          return detail::fit_with_codes(v, w, 16, 32, l);
        },
        scale, q);
    const float peak = detail::super_peak(scale);
    if (std::fabs(peak) < detail::nothing) {
      std::fill(out, out + bytes, std::byte{0});
      return;
    }
    const float inverse = -128.f / peak;
    const std::uint16_t dh = to_fp16(1 / inverse);
    for (int g = 0; g < 16; ++g) {
      const auto s = std::int8_t(std::min(127, detail::nearest_int(inverse * scale[g])));
      out[192 + g] = std::byte(s);
      if (const float dg = from_fp16(dh) * float(s); dg != 0)
        detail::requantize(x + 16 * g, 16, dg, 0.f, -32, 31, q + 16 * g);
    }
    for (int h = 0; h < 2; ++h) {
      quench::detail::put_nibbles(out + 64 * h, q + 128 * h, 128);
      const std::uint8_t* p = q + 128 * h;
      for (int l = 0; l < 32; ++l)
        out[128 + 32 * h + l] =
            std::byte(p[l] >> 4 | (p[l + 32] >> 4) << 2 | (p[l + 64] >> 4) << 4 | (p[l + 96] >> 4) << 6);
    }
    quench::detail::put(out + 208, dh);
  }
};

}  // namespace quench::inline QUENCH_ISA::ggml
