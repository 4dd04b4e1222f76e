#pragma once
/// \file  ggml's FP4 blocks: MXFP4 (32 values, E8M0 scale) and NVFP4 (64 values, one unsigned E4M3 scale per
/// 16). The elements are E2M1, nearest with halves to the smaller magnitude and never -0; OCP's rule is in
/// mx.hpp.
#include <quench/block/ggml_many.hpp>

#include <array>

namespace quench::inline QUENCH_ISA::ggml {
namespace detail {

/// Twice the E2M1 values, in code order; code 8 is a second zero.
alignas(64) inline constexpr float twice_e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// The first code whose value times d/2 is nearest to x.
QUENCH_INLINE std::uint8_t nearest_e2m1(float x, float half_d) {
  int best = 0;
  float error = std::fabs(x);
  for (int c = 1; c < 16; ++c) {
    const float e = std::fabs(simd::rounded(twice_e2m1[c] * half_d) - x);
    if (e < error) {
      error = e;
      best = c;
    }
  }
  return std::uint8_t(best);
}

/// floor(log2f(x)) as single-precision arithmetic gives it: within a rounding below 2^k it already says k. x
/// > 0.
QUENCH_INLINE int floor_log2_float(float x) {
  const auto u = std::bit_cast<std::uint32_t>(x);
  if (u <
      0x00800000u) {  // subnormal: exact, since its mantissa never comes within a rounding of the next power
    return int(std::bit_width(u)) - 150;
  }
  const int k = int(u >> 23) - 126,
            below = int(0x00800000u - (u & 0x007FFFFFu));  // x = 2^k (1 - below 2^-24)
  const unsigned reach = k > 0 ? unsigned(k - 1) : unsigned(-k);
  const float limit = reach == 0 ? 0.f : float(std::bit_floor(reach)) * 0.6931471805599453f;
  return float(below) < limit ? k : k - 1;
}

/// 2^(e - 128) for the E8M0 byte e: half the scale.
QUENCH_INLINE float half_e8m0(std::uint8_t e) {
  return std::bit_cast<float>(e < 2 ? 0x00200000u << e : std::uint32_t(e - 1) << 23);
}

/// Unsigned E4M3 from a float >= 0: the next bit alone decides (half up), 448 at most. Below 2^-6 multiples
/// of 2^-9, never rounded up to the first normal number.
QUENCH_INLINE std::uint8_t to_ue4m3(float x) {
  if (!(x > 0)) return 0;
  if (x >= 448) return 0x7E;
  const auto u = std::bit_cast<std::uint32_t>(x);
  const int e = int(u >> 23) - 127 + 7;
  if (e <= 0) {
    const int q = int(simd::rounded(x * 512) + 0.5f);
    return std::uint8_t(std::min(q, 7));
  }
  const int code = (e << 3 | int(u >> 20 & 7)) + int(u >> 19 & 1);
  return std::uint8_t(std::min(code, 0x7E));
}
/// Half the value of every unsigned E4M3 code; 0x7F counts as 0.
inline constexpr std::array<float, 128> half_ue4m3_values = [] {
  std::array<float, 128> v{};
  for (unsigned c = 0; c < 127; ++c)
    v[c] = c < 8 ? float(c) * 0x1p-10f : std::bit_cast<float>((c / 8 - 8 + 127) << 23 | (c % 8) << 20);
  return v;
}();
QUENCH_INLINE float half_ue4m3(std::uint8_t code) { return half_ue4m3_values[code & 127]; }

/// to_ue4m3 in lanes, for x >= 0.
QUENCH_INLINE wide_ints to_ue4m3_wide(const wide& x) {
  const wide_ints u = bits_of(x);
  const wide_ints small =
      simd::truncate_lanes(wide(rounded(wide(choose(x < 1.f, x, wide{}) * 512.f)) + 0.5f));
  const wide_ints normal = (u >> 20) - (120 << 3) + ((u >> 19) & 1);
  const wide_ints code =
      choose(u < (121 << 23), choose(small < 7, small, wide_ints(wide_ints{} + 7)), normal);
  return choose(code < 0x7E, code, wide_ints(wide_ints{} + 0x7E));
}

/// floor_log2_float in lanes, for normal x.
QUENCH_INLINE wide_ints floor_log2_wide(const wide& x) {
  const wide_ints u = bits_of(x), k = (u >> 23) - 126, below = 0x00800000 - (u & 0x007FFFFF);
  const wide reach = to_float<wide>(choose(k > 0, wide_ints(k - 1), wide_ints(-k)));
  const wide power = simd::float_of_bits<wide>(bits_of(reach) & 0x7F800000);  // 0 stays 0
  return choose(to_float<wide>(below) < power * 0.6931471805599453f, k, wide_ints(k - 1));
}

/// Values of split nibbles times half_d.
template <int n>
QUENCH_INLINE void get_e2m1(const std::byte* in, float half_d, float* x) {
  get_nibbles_wide<n>(in, x,
                      [&](const wide_ints& q) { return wide(simd::lookup16<wide>(twice_e2m1, q) * half_d); });
}

template <class C>
void encode_mxfp4(const float* x, index blocks, std::byte* out) {
  encode_batches<C>(x, blocks, out, [](const float* v, std::byte* to) {
    const wide largest = block_peaks<32>(v);
    const wide_ints e = floor_log2_wide(largest) + 125;
    const wide quarters = simd::float_of_bits<wide>((256 - e) << 23);  // 4 / scale = 2^(129 - e)
    alignas(64) float factor[std::size_t(lanes)];
    simd::store_vec(factor, quarters);
    for (int b = 0; b < lanes; ++b) {
      const float s = factor[b];
      to[b * C::bytes] = std::byte(e[b]);
      put_nibbles_wide(v + 32 * b, to + b * C::bytes + 1, [&](const wide& w) {
        const wide_ints n = simd::ceil_to_int(simd::lesser(wide(magnitude(w) * s), wide(wide{} + 31.f)));
        return with_sign(simd::lookup32<wide>(e2m1_of_quarters, n), w);
      });
    }
    encode_marked<C>(wide_ints((e < 3) | (e > 252)), v, to);
  });
}

/// Four groups of 16 fill a block; `lanes` groups share one shuffle tree. Codes come from x times the inverse
/// of the scale; where that product falls so near a midpoint that its rounding could matter, the group is
/// searched instead.
template <class C>
void encode_nvfp4(const float* x, index blocks, std::byte* out) {
  constexpr index per_batch = lanes / 4;  // blocks whose groups fill the lanes
  index b = 0;
  for (; b + per_batch <= blocks; b += per_batch) {
    const float* v = x + b * 64;
    std::byte* to = out + b * 36;
    const wide sixth = block_peaks<16>(v) / 6.f;
    const wide_ints scale = to_ue4m3_wide(sixth);
    for (int g = 0; g < lanes; ++g, v += 16) {
      std::byte* block = to + g / 4 * 36;
      const auto code = std::uint8_t(scale[g]);
      const float half_d = half_ue4m3(code), quarters = 2.f / half_d;
      alignas(16) std::uint8_t q[16];
      wide_ints doubtful{};
      for (int j = 0; j < 16; j += lanes) {
        const wide w = simd::load_vec<wide>(v + j), y = magnitude(w) * quarters,
                   near = wide(y + 12582912.f) - 12582912.f;
        const wide_ints n = simd::ceil_to_int(simd::lesser(y, wide(wide{} + 31.f)));
        doubtful |= wide_ints(magnitude(wide(y - near)) < 1e-4f);
        simd::store_bytes<wide>(q + j, with_sign(simd::lookup32<wide>(e2m1_of_quarters, n), w));
      }
      if (code == 0 || code == 0x7E || any_lane(doubtful)) [[unlikely]]
        for (int j = 0; j < 16; ++j) q[j] = nearest_e2m1(v[j], half_d);
      block[g % 4] = std::byte(code);
      const auto low = quench::detail::get<std::uint64_t>(reinterpret_cast<std::byte*>(q));
      const auto high = quench::detail::get<std::uint64_t>(reinterpret_cast<std::byte*>(q + 8));
      quench::detail::put(block + 4 + 8 * (g % 4), low | high << 4);
    }
  }
  for (; b < blocks; ++b) C::encode(x + b * 64, out + b * 36);
}

}  // namespace detail

/// Scale exponent floor(log2 max |x|) - 2 with single-precision log2, as ggml computes it; below 2^-125 it is
/// 0 (where ggml's byte wraps round).
struct mxfp4 {
  static constexpr std::string_view name = "mxfp4";
  static constexpr index elements = 32, bytes = 17;
  static constexpr int ggml_type = 39;

  static void encode(const float* x, std::byte* out) {
    const float largest = quench::detail::largest_magnitude(x, 32);
    const int e = largest > 0 ? std::max(0, detail::floor_log2_float(largest) - 2 + 127) : 0;
    const float half_d = detail::half_e8m0(std::uint8_t(e));
    std::uint8_t q[32];
    for (int j = 0; j < 32; ++j) q[j] = detail::nearest_e2m1(x[j], half_d);
    out[0] = std::byte(e);
    quench::detail::put_nibbles(out + 1, q, 32);
  }
  static void decode(const std::byte* in, float* x) {
    detail::get_e2m1<32>(in + 1, detail::half_e8m0(std::uint8_t(in[0])), x);
  }
  static void encode_many(const float* x, index blocks, std::byte* out) {
    detail::encode_mxfp4<mxfp4>(x, blocks, out);
  }
};

/// Scale = unsigned E4M3 of max |x| / 6 for each 16. A scale of the whole tensor is not part of the block:
/// GGUF keeps it as a tensor `<name>.scale` of one float.
struct nvfp4 {
  static constexpr std::string_view name = "nvfp4";
  static constexpr index elements = 64, bytes = 36;
  static constexpr int ggml_type = 40;

  static void encode(const float* x, std::byte* out) {
    for (int s = 0; s < 4; ++s, x += 16) {
      const std::uint8_t scale = detail::to_ue4m3(quench::detail::largest_magnitude(x, 16) / 6);
      const float half_d = detail::half_ue4m3(scale);
      std::uint8_t q[16];
      for (int j = 0; j < 16; ++j) q[j] = detail::nearest_e2m1(x[j], half_d);
      out[s] = std::byte(scale);
      quench::detail::put_nibbles(out + 4 + 8 * s, q, 16);
    }
  }
  static void decode(const std::byte* in, float* x) {
    for (int s = 0; s < 4; ++s)
      detail::get_e2m1<16>(in + 4 + 8 * s, detail::half_ue4m3(std::uint8_t(in[s])), x + 16 * s);
  }
  static void encode_many(const float* x, index blocks, std::byte* out) {
    detail::encode_nvfp4<nvfp4>(x, blocks, out);
  }
};

}  // namespace quench::inline QUENCH_ISA::ggml
