#pragma once
/// \file  ggml's one- and two-bit blocks: Q1_0, Q2_0 (Bonsai-style), TQ1_0, TQ2_0 (BitNet b1.58, TriLMs);
/// ggml-quants.c, d99724f2. No search: the scale is the mean (Q1_0) or the maximum (others) of |x|.
#include <quench/block/ggml_k_affine.hpp>

#include <algorithm>

namespace quench::inline QUENCH_ISA::ggml {

/// The sign of 128 values: bit 1 for x >= 0, scale the mean |x|.
struct q1_0 {
  static constexpr std::string_view name = "q1_0";
  static constexpr index elements = 128, bytes = 18;
  static constexpr int ggml_type = 41;

  static void encode(const float* x, std::byte* out) {
    float sum = 0;
    for (int j = 0; j < 128; ++j) sum += std::fabs(x[j]);
    quench::detail::put_fp16(out, sum / 128);
    for (int i = 0; i < 16; ++i) {
      int byte = 0;
      for (int k = 0; k < 8; ++k) byte |= int(x[8 * i + k] >= 0) << k;
      out[2 + i] = std::byte(byte);
    }
  }
  static void decode(const std::byte* in, float* x) {
    const float d = quench::detail::get_fp16(in);
    std::uint8_t q[128];  // 0 or 2, less one
    for (int i = 0; i < 16; ++i)
      for (int k = 0; k < 8; ++k) q[8 * i + k] = std::uint8_t((int(in[2 + i]) >> k & 1) * 2);
    detail::scaled_out(q, 128, d, 1, x);
  }
};

/// Codes 0 .. 3 for -1, 0, 1, 2 times max |x|, four consecutive to a byte.
struct q2_0 {
  static constexpr std::string_view name = "q2_0";
  static constexpr index elements = 64, bytes = 18;
  static constexpr int ggml_type = 42;

  static void encode(const float* x, std::byte* out) {
    const float d = quench::detail::largest_magnitude(x, 64), inverse = d > 0 ? 1 / d : 0.f;
    quench::detail::put_fp16(out, d);
    for (int i = 0; i < 16; ++i) {
      int byte = 0;
      for (int k = 0; k < 4; ++k)
        byte |= std::clamp(quench::detail::round_away(x[4 * i + k] * inverse) + 1, 0, 3) << (2 * k);
      out[2 + i] = std::byte(byte);
    }
  }
  static void decode(const std::byte* in, float* x) {
    const float d = quench::detail::get_fp16(in);
    std::uint8_t q[64];
    for (int i = 0; i < 16; ++i)
      for (int k = 0; k < 4; ++k) q[4 * i + k] = std::uint8_t(int(in[2 + i]) >> (2 * k) & 3);
    detail::scaled_out(q, 64, d, 1, x);
  }
};

namespace detail {

/// Trits 0, 1, 2 of x / max |x| rounded half away from zero; returns the maximum.
inline float trits(const float* x, std::uint8_t* t) {
  float most[16] = {}, d = 0;
  for (int j = 0; j < 256; ++j) most[j % 16] = std::max(most[j % 16], std::fabs(x[j]));
  for (const float m : most) d = std::max(d, m);
  const float inverse = d != 0 ? 1 / d : 0.f;
  for (int j = 0; j < 256; ++j) {
    const float v = x[j] * inverse;  // within -1 .. 1, unless 1/d overflowed: then every trit is 0
    t[j] = std::uint8_t(inverse <= FLT_MAX ? 1 + int(v >= 0.5f) - int(v <= -0.5f) : 1);
  }
  return d;
}
/// Five trits, the first most significant, as a fraction of 3^5 in 256ths rounded up, so that a
/// multiplication by three carries the next trit out at the top.
constexpr std::uint8_t pack_trits(int a, int b, int c, int d, int e) {
  return std::uint8_t(((((a * 3 + b) * 3 + c) * 3 + d) * 3 + e) * 256 / 243 +
                      (((((a * 3 + b) * 3 + c) * 3 + d) * 3 + e) * 256 % 243 != 0));
}
/// n trits of each of m bytes, trit by trit: q[m k + j] is trit k of byte j.
template <int m, int n>
void unpack_trits(const std::byte* in, std::uint8_t* q) {
  std::uint8_t left[std::size_t(m)];
  std::memcpy(left, in, std::size_t(m));
  for (int k = 0; k < n; ++k, q += m)
    for (int j = 0; j < m; ++j) {
      const unsigned three = left[j] * 3u;
      q[j] = std::uint8_t(three >> 8);
      left[j] = std::uint8_t(three);
    }
}

}  // namespace detail

/// Ternary, five to a byte: byte m of the first 32 holds elements m + 32 n, of the next 16 elements 160 + m +
/// 16 n (n < 5), of the last 4 elements 240 + m + 4 n (n < 4).
struct tq1_0 {
  static constexpr std::string_view name = "tq1_0";
  static constexpr index elements = 256, bytes = 54;
  static constexpr int ggml_type = 34;

  static void encode(const float* x, std::byte* out) {
    std::uint8_t t[256];
    quench::detail::put_fp16(out + 52, detail::trits(x, t));
    const auto pack = [&](const std::uint8_t* p, int step, bool five) {
      return std::byte(detail::pack_trits(p[0], p[step], p[2 * step], p[3 * step], five ? p[4 * step] : 0));
    };
    for (int m = 0; m < 32; ++m) out[m] = pack(t + m, 32, true);
    for (int m = 0; m < 16; ++m) out[32 + m] = pack(t + 160 + m, 16, true);
    for (int m = 0; m < 4; ++m) out[48 + m] = pack(t + 240 + m, 4, false);
  }
  static void decode(const std::byte* in, float* x) {
    const float d = quench::detail::get_fp16(in + 52);
    std::uint8_t q[256];
    detail::unpack_trits<32, 5>(in, q);
    detail::unpack_trits<16, 5>(in + 32, q + 160);
    detail::unpack_trits<4, 4>(in + 48, q + 240);
    detail::scaled_out(q, 256, d, 1, x);
  }
};

/// Ternary, four to a byte: byte l of each half of 128 holds elements l + 32 k in bits 2 k.
struct tq2_0 {
  static constexpr std::string_view name = "tq2_0";
  static constexpr index elements = 256, bytes = 66;
  static constexpr int ggml_type = 35;

  static void encode(const float* x, std::byte* out) {
    std::uint8_t t[256];
    quench::detail::put_fp16(out + 64, detail::trits(x, t));
    for (int i = 0; i < 64; ++i) {
      const std::uint8_t* p = t + i / 32 * 128 + i % 32;
      out[i] = std::byte(p[0] | p[32] << 2 | p[64] << 4 | p[96] << 6);
    }
  }
  static void decode(const std::byte* in, float* x) {
    const float d = quench::detail::get_fp16(in + 64);
    std::uint8_t q[256];
    detail::get_twos(in, q);
    detail::scaled_out(q, 256, d, 1, x);
  }
};

}  // namespace quench::inline QUENCH_ISA::ggml
