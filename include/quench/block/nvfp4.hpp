#pragma once
/// \file  NVFP4 with its tensor scale: E2M1 elements, an E4M3 scale per 16, a float per tensor (NVIDIA
/// Transformer Engine NVFP4BlockScaling; torchao nvfp4_tensor; compressed-tensors nvfp4-pack-quantized).
/// ggml's block is in ggml_fp4.hpp.
#include <quench/block/mx.hpp>

#include <cfloat>

namespace quench::inline QUENCH_ISA::nvfp4 {

/// Whose arithmetic. With A = max |tensor|, a = max |block|, e4m3 rounding to nearest even and saturating:
///   te                 S = 2688 / A; s = e4m3(a (S / 6));              code = e2m1(x min(1/(s(1/S)), max))
///   torchao            P = A / 2688; s = e4m3(clamp(a/6/P, 2^-6, 448)); code = e2m1(x ((1 / P) / s))
///   torchao_one_level                s = e4m3(clamp(a/6, 2^-6, 448));   code = e2m1(x (1 / s))
///   compressed_tensors S = 2688 / A; s = e4m3(S a / 6), 0 -> 0.125;     code = e2m1(x / (s / S))
enum class reference : std::uint8_t { te, torchao, torchao_one_level, compressed_tensors };

/// A matrix as checkpoints store it.
struct packed {
  index rows = 0, cols = 0;
  std::vector<std::uint8_t> codes;   ///< [rows, cols / 2], the first of two elements in the low nibble
  std::vector<std::uint8_t> scales;  ///< [rows, cols / 16], E4M3
  float tensor_scale = 1;            ///< element = e2m1 * (scale * tensor_scale)
  float encode_scale = 1;  ///< the reference's own number: S (te, compressed_tensors), P (torchao), 1
};

namespace detail {

struct block_scale {
  std::uint8_t code;
  float encode;  ///< elements are multiplied by this,
  float divide;  ///< then divided by this
};

inline block_scale choose(reference how, float largest, float tensor) {
  const auto e4m3 = [](float t) { return std::uint8_t(to_narrow<fp8_e4m3>(t)); };
  const auto value = [](std::uint8_t c) { return narrow_values<fp8_e4m3>[c]; };
  constexpr float sixth = 1.f / 6.f;
  switch (how) {
    case reference::te: {
      const std::uint8_t c = e4m3(std::min(largest * (tensor * sixth), FLT_MAX));
      return {c, std::min(1.f / (value(c) * (1.f / tensor)), FLT_MAX), 1.f};
    }
    case reference::torchao: {
      const std::uint8_t c = e4m3(std::clamp((largest / 6.f) / tensor, 0x1p-6f, 448.f));
      return {c, (1.f / tensor) / value(c), 1.f};
    }
    case reference::torchao_one_level: {
      const std::uint8_t c = e4m3(std::clamp(largest / 6.f, 0x1p-6f, 448.f));
      return {c, 1.f / value(c), 1.f};
    }
    default: {
      std::uint8_t c = e4m3(tensor * largest / 6.f);
      if (c == 0) c = e4m3(0.125f);
      return {c, 1.f, value(c) / tensor};
    }
  }
}

/// 16 codes, one a byte.
inline void element_codes(const float* x, const block_scale& s, std::uint8_t* q) {
  using V = simd::vec<float, simd::lanes_of<float>>;
  constexpr int N = simd::lanes_of<float>;
  for (int j = 0; j < 16; j += N) {
    V v = simd::load_vec<V>(x + j) * s.encode;
    if (s.divide != 1.f) v = v / s.divide;
    simd::store_bytes<V>(q + j, to_narrow<fp4_e2m1>(v));
  }
}

}  // namespace detail

/// \throws error when the columns are no multiple of 16 or an element is not finite.
template <dense_matrix M>
requires std::same_as < scalar_of<M>,
float > packed pack(const M& w, reference how = reference::te, const executor& run = {}) {
  const matrix_view<const float> v = view_of(w);
  expects(v.cols % 16 == 0, "nvfp4::pack: columns must be a multiple of 16, are {}", v.cols);
  const index across = v.cols / 16;
  packed p{v.rows,
           v.cols,
           std::vector<std::uint8_t>(std::size_t(v.rows * across * 8)),
           std::vector<std::uint8_t>(std::size_t(v.rows * across)),
           1,
           1};
  std::vector<float> row_max(std::size_t(v.rows), 0.f);
  for_all(run, v.rows, [&](index r) {
    for (index c = 0; c < v.cols; ++c) {
      expects(std::isfinite(v(r, c)), "nvfp4::pack: elements must be finite, ({}, {}) is {}", r, c, v(r, c));
      row_max[std::size_t(r)] = std::max(row_max[std::size_t(r)], std::fabs(v(r, c)));
    }
  });
  const float largest = v.rows > 0 ? *std::max_element(row_max.begin(), row_max.end()) : 0.f;
  p.tensor_scale = how == reference::torchao_one_level ? 1.f : largest / 2688.f;
  switch (how) {
    case reference::te:
      p.encode_scale = largest == 0 ? 1.f : std::min(2688.f / largest, FLT_MAX);
      break;
    case reference::torchao:
      p.encode_scale = p.tensor_scale;
      break;
    case reference::torchao_one_level:
      break;
    case reference::compressed_tensors:
      p.encode_scale = 2688.f / std::max(largest, FLT_MIN);
      p.tensor_scale = 1.f / p.encode_scale;
      break;
  }
  for_all(run, v.rows, [&](index r) {
    for (index b = 0; b < across; ++b) {
      float x[16], top = 0;
      std::uint8_t q[16];
      for (index j = 0; j < 16; ++j) {
        x[j] = v(r, 16 * b + j);
        top = std::max(top, std::fabs(x[j]));
      }
      const auto s = detail::choose(how, top, p.encode_scale);
      detail::element_codes(x, s, q);
      p.scales[std::size_t(r * across + b)] = s.code;
      for (index j = 0; j < 8; ++j)
        p.codes[std::size_t((r * across + b) * 8 + j)] = std::uint8_t(q[2 * j] | q[2 * j + 1] << 4);
    }
  });
  return p;
}

/// e2m1 * (scale * tensor_scale). \throws error when the parts do not fit the shape.
inline matrix<float> unpack(const packed& p) {
  const index blocks = p.rows * (p.cols / 16);
  expects(p.cols % 16 == 0 && index(p.scales.size()) == blocks && index(p.codes.size()) == 8 * blocks,
          "nvfp4::unpack: {} x {} needs {} scales and {} code bytes, has {} and {}", p.rows, p.cols, blocks,
          8 * blocks, p.scales.size(), p.codes.size());
  matrix<float> w(p.rows, p.cols);
  for (index i = 0; i < w.size(); ++i) {
    const unsigned both = p.codes[std::size_t(i / 2)], code = i % 2 ? both >> 4 : both & 15;
    w.data()[i] = narrow_values<fp4_e2m1>[code] *
                  (narrow_values<fp8_e4m3>[p.scales[std::size_t(i / 16)]] * p.tensor_scale);
  }
  return w;
}

}  // namespace quench::inline QUENCH_ISA::nvfp4
