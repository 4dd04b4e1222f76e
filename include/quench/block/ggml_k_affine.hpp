#pragma once
/// \file  ggml's affine super-blocks of 256: Q2_K, Q4_K, Q5_K (ggml-quants.c, d99724f2). Groups of 16 or 32
/// hold x ~ (d s) q - (dmin m) with small integers s, m per group and fp16 d, dmin per super-block.
#include <quench/block/ggml_search.hpp>

namespace quench::inline QUENCH_ISA::ggml {
namespace detail {

/// Six-bit scales and minima of eight groups in 12 bytes.
inline void put_scales_6(const std::uint8_t* s, const std::uint8_t* m, std::byte* out) {
  for (int j = 0; j < 4; ++j) {
    out[j] = std::byte(s[j] | (s[j + 4] >> 4) << 6);
    out[j + 4] = std::byte(m[j] | (m[j + 4] >> 4) << 6);
    out[j + 8] = std::byte((s[j + 4] & 15) | (m[j + 4] & 15) << 4);
  }
}
inline void get_scales_6(const std::byte* in, std::uint8_t* s, std::uint8_t* m) {
  const auto b = [&](int j) { return int(in[j]); };
  for (int j = 0; j < 4; ++j) {
    s[j] = std::uint8_t(b(j) & 63);
    m[j] = std::uint8_t(b(j + 4) & 63);
    s[j + 4] = std::uint8_t((b(j + 8) & 15) | (b(j) >> 6) << 4);
    m[j + 4] = std::uint8_t(b(j + 8) >> 4 | (b(j + 4) >> 6) << 4);
  }
}
/// Two-bit codes: byte l of each half of 128 holds elements l, l + 32, l + 64, l + 96.
inline void put_twos(const std::uint8_t* q, std::byte* out) {
  for (int h = 0; h < 2; ++h, q += 128, out += 32)
    for (int l = 0; l < 32; ++l)
      out[l] = std::byte((q[l] & 3) | (q[l + 32] & 3) << 2 | (q[l + 64] & 3) << 4 | (q[l + 96] & 3) << 6);
}
inline void get_twos(const std::byte* in, std::uint8_t* q) {
  for (int h = 0; h < 2; ++h, q += 128, in += 32)
    for (int k = 0; k < 4; ++k)
      for (int l = 0; l < 32; ++l) q[32 * k + l] = std::uint8_t(int(in[l]) >> (2 * k) & 3);
}

/// Everything the three formats share. Format: group, top (largest code), super_top (largest s, m), fans,
/// layout.
template <class Format>
struct affine_k {
  static constexpr index elements = 256;

  static void encode(const float* x, std::byte* out) { encode_run<1>(x, nullptr, 1, out); }
  static void encode_many(const float* x, index blocks, std::byte* out) {
    encode_run<simd::lanes_of<float>>(x, nullptr, blocks, out);
  }
  static void encode_weighted(const float* x, index cols, const float* importance, std::byte* out) {
    encode_run<simd::lanes_of<float>>(x, importance, cols / 256, out);
  }
  static void decode(const std::byte* in, float* x) {
    constexpr int groups = 256 / Format::group;
    std::uint8_t q[256], s[16], m[16];
    Format::get_codes(in, q, s, m);
    const float d = quench::detail::get_fp16(in + Format::at_d),
                dmin = quench::detail::get_fp16(in + Format::at_d + 2);
    for (int g = 0; g < groups; ++g)
      affine_out(q + g * Format::group, Format::group, d * float(s[g]), dmin * float(m[g]),
                 x + g * Format::group);
  }

  /// importance may be null; else it holds one weight an element of x.
  template <int Lanes>
  static void encode_run(const float* x, const float* importance, index blocks, std::byte* out) {
    constexpr int group = Format::group, groups = 256 / group;
    for (index b = 0; b < blocks; b += 2) {  // two super-blocks fill 16 lanes with groups of 32
      const int here = int(std::min<index>(2, blocks - b)), all = here * groups;
      float scale[32], minus[32], inverse[32], base[32], weight[32], sigma2[32];
      for (int k = 0; importance && k < here; ++k)
        std::fill_n(sigma2 + k * groups, groups, Format::spread * square_sum(x + 256 * k, 256) / 256);
      for_lanes<Lanes>(all, [&]<class V>(V, int g) {
        V v[std::size_t(group)], w[std::size_t(group)];
        load_groups(x + g * group, group, v);
        if (importance) {
          V total = load_weights(importance + g * group, simd::load_vec<V>(sigma2 + g), v, group, w);
          simd::store_vec(weight + g, total);
        } else {
          Format::weights(v, w);
        }
        const auto fit = fit_affine(v, w, group, Format::top,
                                    importance ? fan{-0.9f, 0.05f, 36, false, true} : Format::plain);
        simd::store_vec(scale + g, fit.scale);
        simd::store_vec(minus + g, fit.minus);
        simd::store_vec(inverse + g, fit.inverse);
        simd::store_vec(base + g, fit.base);
      });
      for (int k = 0; k < here; ++k, x += 256, out += Format::bytes) {
        const int g0 = k * groups;
        std::uint8_t s[16], m[16], q[256];
        float d, dmin;
        if (importance) {
          d = fit_positive(scale + g0, weight + g0, groups, Format::super_top, s);
          dmin = fit_positive(minus + g0, weight + g0, groups, Format::super_top, m);
        } else {
          d = super_scale(scale + g0, s);
          dmin = super_scale(minus + g0, m);
        }
        Format::join(s, m);
        const std::uint16_t dh = to_fp16(d), mh = to_fp16(dmin);
        d = from_fp16(dh);
        dmin = from_fp16(mh);
        for (int g = 0; g < groups; ++g) {
          const float dg = d * float(s[g]);
          const float* v = x + g * group;
          if (dg != 0)
            requantize(v, group, dg, dmin * float(m[g]), 0, Format::top, q + g * group);
          else
            for (int j = 0; j < group; ++j)
              q[g * group + j] = affine_code(inverse[g0 + g], base[g0 + g], v[j], Format::top);
        }
        Format::put_codes(q, s, m, out);
        quench::detail::put(out + Format::at_d, dh);
        quench::detail::put(out + Format::at_d + 2, mh);
      }
      if (importance) importance += 256 * here;
    }
  }

 private:
  /// Largest value over super_top; l = nearest multiples.
  static float super_scale(const float* v, std::uint8_t* l) {
    constexpr int groups = 256 / Format::group;
    float largest = 0;
    for (int g = 0; g < groups; ++g) largest = v[g] > largest ? v[g] : largest;
    const float inverse = largest > 0 ? float(Format::super_top) / largest : 0.f;
    for (int g = 0; g < groups; ++g) l[g] = std::uint8_t(nearest_int(inverse * v[g]));
    return largest / float(Format::super_top);
  }
};

/// Weights sqrt(mean x^2) + |x| of the formats with groups of 32.
template <class V>
QUENCH_INLINE void rms_weights(const V* x, V* w) {
  V s{};
  for (int i = 0; i < 32; ++i) s += rounded(V(x[i] * x[i]));
  const V rms = simd::square_root(V(s / 32.f));
  for (int i = 0; i < 32; ++i) w[i] = rms + magnitude(x[i]);
}

}  // namespace detail

struct q2_k : detail::affine_k<q2_k> {
  static constexpr std::string_view name = "q2_K";
  static constexpr index bytes = 84;
  static constexpr int ggml_type = 10;
  static constexpr int group = 16, top = 3, super_top = 15, at_d = 80;
  static constexpr float spread = 1;
  static constexpr detail::fan plain{-0.5f, 0.1f, 15, true, false};

  template <class V>
  static void weights(const V* x, V* w) {
    for (int i = 0; i < 16; ++i) w[i] = detail::magnitude(x[i]);
  }
  /// s and m share a byte, as they do in the file.
  static void join(std::uint8_t* s, std::uint8_t* m) {
    for (int g = 0; g < 16; ++g) {
      const auto both = std::uint8_t(s[g] | m[g] << 4);
      s[g] = both & 15;
      m[g] = both >> 4;
    }
  }
  static void put_codes(const std::uint8_t* q, const std::uint8_t* s, const std::uint8_t* m, std::byte* out) {
    for (int g = 0; g < 16; ++g) out[g] = std::byte(s[g] | m[g] << 4);
    detail::put_twos(q, out + 16);
  }
  static void get_codes(const std::byte* in, std::uint8_t* q, std::uint8_t* s, std::uint8_t* m) {
    for (int g = 0; g < 16; ++g) {
      s[g] = std::uint8_t(in[g] & std::byte{15});
      m[g] = std::uint8_t(in[g] >> 4);
    }
    detail::get_twos(in + 16, q);
  }
};

struct q4_k : detail::affine_k<q4_k> {
  static constexpr std::string_view name = "q4_K";
  static constexpr index bytes = 144;
  static constexpr int ggml_type = 12;
  static constexpr int group = 32, top = 15, super_top = 63, at_d = 0;
  static constexpr float spread = 2;
  static constexpr detail::fan plain{-1.f, 0.1f, 20, false, false};

  template <class V>
  static void weights(const V* x, V* w) {
    detail::rms_weights(x, w);
  }
  static void join(std::uint8_t* s, std::uint8_t* m) {
    for (int g = 0; g < 8; ++g) {
      s[g] = std::min<std::uint8_t>(s[g], 63);
      m[g] = std::min<std::uint8_t>(m[g], 63);
    }
  }
  static void put_codes(const std::uint8_t* q, const std::uint8_t* s, const std::uint8_t* m, std::byte* out) {
    detail::put_scales_6(s, m, out + 4);
    for (int j = 0; j < 4; ++j) quench::detail::put_nibbles(out + 16 + 32 * j, q + 64 * j, 64);
  }
  static void get_codes(const std::byte* in, std::uint8_t* q, std::uint8_t* s, std::uint8_t* m) {
    detail::get_scales_6(in + 4, s, m);
    for (int j = 0; j < 4; ++j) quench::detail::get_nibbles(in + 16 + 32 * j, q + 64 * j, 64);
  }
};

struct q5_k : detail::affine_k<q5_k> {
  static constexpr std::string_view name = "q5_K";
  static constexpr index bytes = 176;
  static constexpr int ggml_type = 13;
  static constexpr int group = 32, top = 31, super_top = 63, at_d = 0;
  static constexpr float spread = 2;
  static constexpr detail::fan plain{-0.5f, 0.1f, 15, false, false};

  template <class V>
  static void weights(const V* x, V* w) {
    detail::rms_weights(x, w);
  }
  static void join(std::uint8_t* s, std::uint8_t* m) { q4_k::join(s, m); }
  /// Byte l of the 32 at offset 16 holds, in bit k, the fifth bit of element l + 32 k.
  static void put_codes(const std::uint8_t* q, const std::uint8_t* s, const std::uint8_t* m, std::byte* out) {
    detail::put_scales_6(s, m, out + 4);
    for (int l = 0; l < 32; ++l) {
      int top_bits = 0;
      for (int k = 0; k < 8; ++k) top_bits |= (q[32 * k + l] >> 4) << k;
      out[16 + l] = std::byte(top_bits);
    }
    for (int j = 0; j < 4; ++j) quench::detail::put_nibbles(out + 48 + 32 * j, q + 64 * j, 64);
  }
  static void get_codes(const std::byte* in, std::uint8_t* q, std::uint8_t* s, std::uint8_t* m) {
    detail::get_scales_6(in + 4, s, m);
    for (int j = 0; j < 4; ++j) quench::detail::get_nibbles(in + 48 + 32 * j, q + 64 * j, 64);
    for (int k = 0; k < 8; ++k)
      for (int l = 0; l < 32; ++l)
        q[32 * k + l] = std::uint8_t(q[32 * k + l] | (int(in[16 + l]) >> k & 1) << 4);
  }
};

}  // namespace quench::inline QUENCH_ISA::ggml
