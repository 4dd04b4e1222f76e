#pragma once
/// \file  ggml's FP4 blocks: MXFP4 (32 values, E8M0 scale) and NVFP4 (64 values, one unsigned E4M3 scale per 16). The
/// elements are E2M1, nearest with halves to the smaller magnitude and never -0; OCP's rule is in mx.hpp.
#include <quench/block/codec.hpp>

#include <algorithm>

namespace quench::inline QUENCH_ISA::ggml {
namespace detail {

/// Twice the E2M1 values, in code order; code 8 is a second zero.
inline constexpr float twice_e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

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

/// floor(log2f(x)) as single-precision arithmetic gives it: within a rounding below 2^k it already says k. x > 0.
QUENCH_INLINE int floor_log2_float(float x) {
  const auto u = std::bit_cast<std::uint32_t>(x);
  if (u < 0x00800000u) {  // subnormal: exact, since its mantissa never comes within a rounding of the next power
    return int(std::bit_width(u)) - 150;
  }
  const int k = int(u >> 23) - 126, below = int(0x00800000u - (u & 0x007FFFFFu));  // x = 2^k (1 - below 2^-24)
  const unsigned reach = k > 0 ? unsigned(k - 1) : unsigned(-k);
  const float limit = reach == 0 ? 0.f : float(std::bit_floor(reach)) * 0.6931471805599453f;
  return float(below) < limit ? k : k - 1;
}

/// 2^(e - 128) for the E8M0 byte e: half the scale.
QUENCH_INLINE float half_e8m0(std::uint8_t e) {
  return std::bit_cast<float>(e < 2 ? 0x00200000u << e : std::uint32_t(e - 1) << 23);
}

/// Unsigned E4M3 from a float >= 0: the next bit alone decides (half up), 448 at most. Below 2^-6 multiples of 2^-9,
/// never rounded up to the first normal number.
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
/// Half the value of an unsigned E4M3 code; 0x7F counts as 0.
QUENCH_INLINE float half_ue4m3(std::uint8_t code) {
  if (code == 0 || code == 0x7F) return 0;
  const int e = code >> 3, m = code & 7;
  if (e == 0) return float(m) * 0x1p-10f;
  return std::bit_cast<float>(std::uint32_t(e - 8 + 127) << 23 | std::uint32_t(m) << 20);
}

}  // namespace detail

/// Scale exponent floor(log2 max |x|) - 2 with single-precision log2, as ggml computes it; below 2^-125 it is 0 (where
/// ggml's byte wraps round).
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
    std::uint8_t q[32];
    quench::detail::get_nibbles(in + 1, q, 32);
    const float half_d = detail::half_e8m0(std::uint8_t(in[0]));
    for (int j = 0; j < 32; ++j) x[j] = detail::twice_e2m1[q[j]] * half_d;
  }
};

/// Scale = unsigned E4M3 of max |x| / 6 for each 16. A scale of the whole tensor is not part of the block: GGUF keeps
/// it as a tensor `<name>.scale` of one float.
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
    for (int s = 0; s < 4; ++s, x += 16) {
      std::uint8_t q[16];
      quench::detail::get_nibbles(in + 4 + 8 * s, q, 16);
      const float half_d = detail::half_ue4m3(std::uint8_t(in[s]));
      for (int j = 0; j < 16; ++j) x[j] = detail::twice_e2m1[q[j]] * half_d;
    }
  }
};

}  // namespace quench::ggml
