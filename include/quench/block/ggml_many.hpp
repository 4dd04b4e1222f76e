#pragma once
/// \file  ggml's plain and FP4 blocks, many at once: the maxima of as many blocks as there are lanes come out
/// of one shuffle tree, scales are computed for all of them together, and every byte equals the
/// block-at-a-time codec's.
#include <quench/block/ggml_lanes.hpp>

namespace quench::inline QUENCH_ISA::ggml::detail {

inline constexpr int lanes = simd::lanes_of<float>;
using wide = simd::vec<float, lanes>;
using wide_ints = simd::ints_of<wide>;

struct larger {
  template <class V>
  QUENCH_INLINE V operator()(const V& a, const V& b) const {
    return simd::greater(a, b);
  }
};
struct smaller {
  template <class V>
  QUENCH_INLINE V operator()(const V& a, const V& b) const {
    return simd::lesser(a, b);
  }
};

/// Largest and smallest element of each of `lanes` consecutive blocks of n.
template <int n>
QUENCH_INLINE void block_ranges(const float* x, wide& low, wide& high) {
  wide most[std::size_t(lanes)], least[std::size_t(lanes)];
  for (int b = 0; b < lanes; ++b) {
    most[b] = least[b] = simd::load_vec<wide>(x + b * n);
    for (int j = lanes; j < n; j += lanes) {
      const wide v = simd::load_vec<wide>(x + b * n + j);
      most[b] = larger{}(most[b], v);
      least[b] = smaller{}(least[b], v);
    }
  }
  high = simd::reduce_each(most, larger{});
  low = simd::reduce_each(least, smaller{});
}
/// Largest magnitude of each of `lanes` consecutive blocks of n.
template <int n>
QUENCH_INLINE wide block_peaks(const float* x) {
  wide most[std::size_t(lanes)];
  for (int b = 0; b < lanes; ++b) {
    most[b] = magnitude(simd::load_vec<wide>(x + b * n));
    for (int j = lanes; j < n; j += lanes)
      most[b] = larger{}(most[b], magnitude(simd::load_vec<wide>(x + b * n + j)));
  }
  return simd::reduce_each(most, larger{});
}

/// Blocks of n elements in `bytes` bytes, `lanes` at a time by batch(x, out), the rest by C::encode.
template <class C, class Batch>
QUENCH_INLINE void encode_batches(const float* x, index blocks, std::byte* out, Batch&& batch) {
  index b = 0;
  for (; b + lanes <= blocks; b += lanes) batch(x + b * C::elements, out + b * C::bytes);
  for (; b < blocks; ++b) C::encode(x + b * C::elements, out + b * C::bytes);
}
/// Encodes again, one at a time, the blocks whose lane is marked.
template <class C>
QUENCH_INLINE void encode_marked(const wide_ints& mark, const float* x, std::byte* out) {
  if (!any_lane(mark)) [[likely]]
    return;
  for (int b = 0; b < lanes; ++b)
    if (mark[b]) C::encode(x + b * C::elements, out + b * C::bytes);
}

/// 32 codes as split nibbles, and their fifth bits in a word: code(v) gives the codes of one vector.
template <class Code>
QUENCH_INLINE std::uint32_t put_nibbles_wide(const float* x, std::byte* out, Code&& code,
                                             bool fifth = false) {
  std::uint32_t top = 0;
  for (int j = 0; j < 16; j += lanes) {
    const wide_ints low = code(simd::load_vec<wide>(x + j)), high = code(simd::load_vec<wide>(x + 16 + j));
    if (fifth) top |= simd::gather_bits(low, 4) << j | simd::gather_bits(high, 4) << (16 + j);
    simd::store_bytes<wide>(out + j, wide_ints((low & 15) | (high << 4)));
  }
  return top;
}

/// Q4_0, Q5_0. A block whose largest magnitude occurs with both signs, or whose 1/d overflows, goes the long
/// way.
template <class C>
void encode_symmetric(const float* x, index blocks, std::byte* out) {
  using layout = typename C::layout;
  encode_batches<C>(x, blocks, out, [](const float* v, std::byte* to) {
    wide low, high;
    block_ranges<32>(v, low, high);
    const wide d = choose(high > -low, high, low) / float(-C::half),
               inverse = choose(d != 0, wide(1.f / d), wide{});
    const wide_ints h = to_fp16_bits(d);
    alignas(64) float id[std::size_t(lanes)];
    simd::store_vec(id, inverse);
    const wide middle = wide{} + (float(C::half) + 0.5f), most = wide{} + float(2 * C::half - 1);
    for (int b = 0; b < lanes; ++b, to += C::bytes) {
      const float s = id[b];
      quench::detail::put(to, std::uint16_t(h[b]));
      const std::uint32_t top = put_nibbles_wide(
          v + 32 * b, to + layout::nibbles,
          [&](const wide& e) {
            return simd::truncate_lanes(simd::lesser(wide(rounded(wide(e * s)) + middle), most));
          },
          layout::fifth != layout::nibbles);
      if constexpr (layout::fifth != layout::nibbles) quench::detail::put(to + layout::fifth, top);
    }
    encode_marked<C>(wide_ints((high == -low) | (magnitude(inverse) > FLT_MAX)), v, to - lanes * C::bytes);
  });
}

/// Q4_1, Q5_1. A block whose minimum is a zero (of which sign the order decides) goes the long way.
template <class C>
void encode_affine(const float* x, index blocks, std::byte* out) {
  using layout = typename C::layout;
  encode_batches<C>(x, blocks, out, [](const float* v, std::byte* to) {
    wide low, high;
    block_ranges<32>(v, low, high);
    const wide d = (high - low) / float(C::top), inverse = choose(d != 0, wide(1.f / d), wide{}),
               most = wide{} + float(C::top);
    const wide_ints h = to_fp16_bits(d), m = to_fp16_bits(low);
    alignas(64) float id[std::size_t(lanes)], minimum[std::size_t(lanes)];
    simd::store_vec(id, inverse);
    simd::store_vec(minimum, low);
    for (int b = 0; b < lanes; ++b, to += C::bytes) {
      const float s = id[b], base = minimum[b];
      quench::detail::put(to, std::uint16_t(h[b]));
      quench::detail::put(to + 2, std::uint16_t(m[b]));
      const std::uint32_t top = put_nibbles_wide(
          v + 32 * b, to + layout::nibbles,
          [&](const wide& e) {
            return simd::truncate_lanes(simd::lesser(wide(rounded(wide((e - base) * s)) + 0.5f), most));
          },
          layout::fifth != layout::nibbles);
      if constexpr (layout::fifth != layout::nibbles) quench::detail::put(to + layout::fifth, top);
    }
    encode_marked<C>(wide_ints((low == 0) | (magnitude(inverse) > FLT_MAX)), v, to - lanes * C::bytes);
  });
}

/// Q8_0: halves away from zero, by adding the float below one half before cutting.
template <class C>
void encode_q8_0(const float* x, index blocks, std::byte* out) {
  encode_batches<C>(x, blocks, out, [](const float* v, std::byte* to) {
    const wide d = block_peaks<32>(v) / 127.f, inverse = choose(d != 0, wide(1.f / d), wide{});
    const wide_ints h = to_fp16_bits(d);
    alignas(64) float id[std::size_t(lanes)];
    simd::store_vec(id, inverse);
    for (int b = 0; b < lanes; ++b) {
      const float s = id[b];
      quench::detail::put(to + b * C::bytes, std::uint16_t(h[b]));
      for (int j = 0; j < 32; j += lanes) {
        const wide r = rounded(wide(simd::load_vec<wide>(v + 32 * b + j) * s));
        const wide below_half = simd::float_of_bits<wide>((bits_of(r) & INT32_MIN) | 0x3EFFFFFF);
        simd::store_bytes<wide>(to + b * C::bytes + 2 + j, simd::truncate_lanes(wide(r + below_half)));
      }
    }
    encode_marked<C>(wide_ints(magnitude(inverse) > FLT_MAX), v, to);
  });
}

/// Values of 32 split nibbles with fifth bits in `top`.
template <class Value>
QUENCH_INLINE void get_fives_wide(const std::byte* in, std::uint32_t top, float* x, Value&& value) {
  const wide_ints bits = wide_ints{} + std::int32_t(top);
  for (int j = 0; j < 16; j += lanes) {
    const wide_ints both = simd::load_bytes<wide>(in + j), at = simd::iota<wide> + j;
    simd::store_vec(x + j, value(wide_ints((both & 15) | ((bits >> at) & 1) << 4)));
    simd::store_vec(x + 16 + j, value(wide_ints((both >> 4) | ((bits >> (at + 16)) & 1) << 4)));
  }
}

/// Values of split nibbles, 32 (or n) of them: value(codes) gives the floats of one vector.
template <int n, class Value>
QUENCH_INLINE void get_nibbles_wide(const std::byte* in, float* x, Value&& value) {
  if constexpr (n / 2 % lanes == 0) {
    for (int j = 0; j < n / 2; j += lanes) {
      const wide_ints both = simd::load_bytes<wide>(in + j);
      simd::store_vec(x + j, value(wide_ints(both & 15)));
      simd::store_vec(x + n / 2 + j, value(wide_ints(both >> 4)));
    }
  } else {  // eight bytes hold the sixteen codes of one vector
    static_assert(n == lanes && lanes == 16);
    simd::store_vec(x,
                    value(simd::spread_nibbles<simd::vec<float, n>>(quench::detail::get<std::uint64_t>(in))));
  }
}

/// E2M1 codes of 4 |x| / d, by ceiling: x beyond a midpoint takes the upper value.
alignas(64) inline constexpr std::int32_t e2m1_of_quarters[32] = {
    0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
/// The sign of x as bit 3, for codes that are not 0.
QUENCH_INLINE wide_ints with_sign(const wide_ints& code, const wide& x) {
  return code | choose(code != 0, wide_ints((bits_of(x) >> 28) & 8), wide_ints{});
}

}  // namespace quench::inline QUENCH_ISA::ggml::detail
