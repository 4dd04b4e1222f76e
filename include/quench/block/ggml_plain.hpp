#pragma once
/// \file  ggml's blocks of 32 with one fp16 scale: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 (ggml-quants.c, d99724f2),
/// and its casts F16 and BF16. Bytes equal those of ggml built without FMA, as its x86-64 releases are.
#include <quench/block/ggml_k_symmetric.hpp>
#include <quench/block/ggml_many.hpp>

namespace quench::inline QUENCH_ISA::ggml {

using quench::detail::get;
using quench::detail::get_fp16;
using quench::detail::put;
using quench::detail::put_fp16;

struct f16 {
  static constexpr std::string_view name = "f16";
  static constexpr index elements = 1, bytes = 2;
  static constexpr int ggml_type = 1;
  static constexpr bool any_input = true;
  static void encode(const float* x, std::byte* out) { put_fp16(out, *x); }
  static void decode(const std::byte* in, float* x) { *x = get_fp16(in); }
  static void encode_many(const float* x, index blocks, std::byte* out) { to_fp16_row(x, blocks, out); }
  static void decode_many(const std::byte* in, index blocks, float* x) { from_fp16_row(in, blocks, x); }
};

struct bf16 {
  static constexpr std::string_view name = "bf16";
  static constexpr index elements = 1, bytes = 2;
  static constexpr int ggml_type = 30;
  static constexpr bool any_input = true;
  static void encode(const float* x, std::byte* out) { put(out, to_bf16(*x)); }
  static void decode(const std::byte* in, float* x) { *x = from_bf16(get<std::uint16_t>(in)); }
  static void encode_many(const float* x, index blocks, std::byte* out) { to_bf16_row(x, blocks, out); }
  static void decode_many(const std::byte* in, index blocks, float* x) { from_bf16_row(in, blocks, x); }
};

namespace detail {

/// Where the parts of a block sit: fp16 d, fp16 m when affine, 32 fifth bits when Bits is 5, then 16 bytes of
/// nibbles.
template <int Bits, bool Affine>
struct plain_layout {
  static constexpr bool affine = Affine;
  static constexpr int fifth = Affine ? 4 : 2, nibbles = fifth + (Bits == 5 ? 4 : 0), size = nibbles + 16;

  static void put_codes(const std::uint8_t* q, std::byte* out) {
    if constexpr (Bits == 5) {
      std::uint32_t top = 0;
      for (int j = 0; j < 32; ++j) top |= std::uint32_t(q[j] >> 4) << j;
      put(out + fifth, top);
    }
    quench::detail::put_nibbles(out + nibbles, q, 32);
  }
};

/// Weighs a row by importance * sqrt(mean x^2 + x^2) and hands over its blocks of 32, one a lane: body(x, w,
/// count).
template <class Body>
void for_weighted(const float* x, index cols, const float* importance, Body&& body) {
  const float sigma2 = square_sum(x, cols) / float(cols);
  for (index c = 0; c < cols; c += 512)
    for_lanes<simd::lanes_of<float>>(int(std::min<index>(512, cols - c) / 32), [&]<class V>(V, int g) {
      V v[32], w[32];
      load_groups(x + c + 32 * g, 32, v);
      load_weights(importance + c + 32 * g, simd::splat<V>(sigma2), v, 32, w);
      body(static_cast<const V*>(v), static_cast<const V*>(w), simd::lane_types<V>::size);
    });
}
/// Lane k of x.
template <class X>
QUENCH_INLINE auto lane(const X& x, int k) {
  if constexpr (std::is_arithmetic_v<X>)
    return x;
  else
    return x[k];
}
/// Writes the block of each lane (scale d, minimum m when affine, codes l) and moves `out` on.
template <class Layout, class V>
void put_lanes(const V& d, const V& m, const simd::ints_of<V>* l, int count, std::byte*& out) {
  for (int k = 0; k < count; ++k, out += Layout::size) {
    std::uint8_t q[32];
    for (int j = 0; j < 32; ++j) q[j] = std::uint8_t(lane(l[j], k));
    put_fp16(out, lane(d, k));
    if constexpr (Layout::affine) put_fp16(out + 2, lane(m, k));
    Layout::put_codes(q, out);
  }
}

/// d = m / -2^(b-1) for the element m of largest magnitude; q = min(2^b - 1, trunc(x / d + 2^(b-1) + 0.5)).
template <int Bits>
struct symmetric {
  using layout = plain_layout<Bits, false>;
  static constexpr index elements = 32, bytes = layout::size;
  static constexpr int half = 1 << (Bits - 1);

  static void encode(const float* x, std::byte* out) {
    const float d = quench::detail::first_largest(x, 32) / float(-half), id = d != 0 ? 1 / d : 0.f;
    std::uint8_t q[32];
    for (int j = 0; j < 32; ++j)
      q[j] = std::uint8_t(
          std::min(2 * half - 1, quench::detail::cut(simd::rounded(x[j] * id) + (float(half) + 0.5f))));
    put_fp16(out, d);
    layout::put_codes(q, out);
  }
  static void encode_weighted(const float* x, index cols, const float* importance, std::byte* out) {
    for_weighted(x, cols, importance, [&]<class V>(const V* v, const V* w, int count) {
      simd::ints_of<V> l[32];
      const V d = fit_with_codes(v, w, 32, half, l);
      put_lanes<layout>(d, V{}, l, count, out);
    });
  }
  static void decode(const std::byte* in, float* x) {
    const float d = get_fp16(in);
    if constexpr (Bits == 4) {
      get_nibbles_wide<32>(in + layout::nibbles, x,
                           [&](const wide_ints& q) { return wide(to_float<wide>(wide_ints(q - half)) * d); });
    } else {
      get_fives_wide(in + layout::nibbles, get<std::uint32_t>(in + layout::fifth), x,
                     [&](const wide_ints& q) { return wide(to_float<wide>(wide_ints(q - half)) * d); });
    }
  }
};

/// d = (max - min) / (2^b - 1); q = trunc((x - min) / d + 0.5).
template <int Bits>
struct affine {
  using layout = plain_layout<Bits, true>;
  static constexpr index elements = 32, bytes = layout::size;
  static constexpr int top = (1 << Bits) - 1;

  static void encode(const float* x, std::byte* out) {
    float low = FLT_MAX, high = -FLT_MAX;
    for (int j = 0; j < 32; ++j) {
      low = x[j] < low ? x[j] : low;
      high = x[j] > high ? x[j] : high;
    }
    const float d = (high - low) / float(top), id = d != 0 ? 1 / d : 0.f;
    std::uint8_t q[32];
    for (int j = 0; j < 32; ++j)
      q[j] = std::uint8_t(std::min(top, quench::detail::cut(simd::rounded((x[j] - low) * id) + 0.5f)));
    put_fp16(out, d);
    put_fp16(out + 2, low);
    layout::put_codes(q, out);
  }
  static void encode_weighted(const float* x, index cols, const float* importance, std::byte* out) {
    for_weighted(x, cols, importance, [&]<class V>(const V* v, const V* w, int count) {
      const auto fit = fit_affine(v, w, 32, top, fan{-0.9f, 0.05f, 36, false, true});
      simd::ints_of<V> l[32];
      for (int j = 0; j < 32; ++j) l[j] = clamp(nearest_int(V(fit.inverse * (v[j] - fit.base))), 0, top);
      put_lanes<layout>(fit.scale, V(-fit.minus), l, count, out);
    });
  }
  static void decode(const std::byte* in, float* x) {
    const float d = get_fp16(in), m = get_fp16(in + 2);
    if constexpr (Bits == 4) {
      get_nibbles_wide<32>(in + layout::nibbles, x, [&](const wide_ints& q) {
        return wide(rounded(wide(to_float<wide>(q) * d)) + m);
      });
    } else {
      get_fives_wide(in + layout::nibbles, get<std::uint32_t>(in + layout::fifth), x,
                     [&](const wide_ints& q) { return wide(rounded(wide(to_float<wide>(q) * d)) + m); });
    }
  }
};

}  // namespace detail

struct q4_0 : detail::symmetric<4> {
  static constexpr std::string_view name = "q4_0";
  static constexpr int ggml_type = 2;
  static void encode_many(const float* x, index blocks, std::byte* out) {
    detail::encode_symmetric<q4_0>(x, blocks, out);
  }
};
struct q4_1 : detail::affine<4> {
  static constexpr std::string_view name = "q4_1";
  static constexpr int ggml_type = 3;
  static void encode_many(const float* x, index blocks, std::byte* out) {
    detail::encode_affine<q4_1>(x, blocks, out);
  }
};
struct q5_0 : detail::symmetric<5> {
  static constexpr std::string_view name = "q5_0";
  static constexpr int ggml_type = 6;
  static void encode_many(const float* x, index blocks, std::byte* out) {
    detail::encode_symmetric<q5_0>(x, blocks, out);
  }
};
struct q5_1 : detail::affine<5> {
  static constexpr std::string_view name = "q5_1";
  static constexpr int ggml_type = 7;
  static void encode_many(const float* x, index blocks, std::byte* out) {
    detail::encode_affine<q5_1>(x, blocks, out);
  }
};

/// d = max |x| / 127, q = x / d rounded half away from zero (ggml's file writer; its run-time kernels round
/// to even).
struct q8_0 {
  static constexpr std::string_view name = "q8_0";
  static constexpr index elements = 32, bytes = 34;
  static constexpr int ggml_type = 8;

  static void encode(const float* x, std::byte* out) {
    const float d = quench::detail::largest_magnitude(x, 32) / 127, id = d != 0 ? 1 / d : 0.f;
    put_fp16(out, d);
    for (int j = 0; j < 32; ++j) out[2 + j] = std::byte(quench::detail::round_away(x[j] * id) & 255);
  }
  static void encode_many(const float* x, index blocks, std::byte* out) {
    detail::encode_q8_0<q8_0>(x, blocks, out);
  }
  static void decode(const std::byte* in, float* x) {
    using V = detail::wide;
    const float d = get_fp16(in);
    for (int j = 0; j < 32; j += detail::lanes) {
      const auto unsigned_codes = simd::load_bytes<V>(in + 2 + j);
      simd::store_vec(x + j, V(simd::to_float<V>(simd::ints_of<V>((unsigned_codes ^ 128) - 128)) * d));
    }
  }
};

}  // namespace quench::inline QUENCH_ISA::ggml
