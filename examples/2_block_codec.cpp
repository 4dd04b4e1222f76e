// A block codec of your own, and one of ggml's, on a whole matrix.
#include <quench/block/ggml_k_affine.hpp>
#include <quench/block/rows.hpp>
#include <quench/core/parallel.hpp>

#include <iostream>
#include <vector>

// 32 signs and their mean magnitude: 1.5 bits a value.
struct signs {
  static constexpr std::string_view name = "signs";
  static constexpr quench::index elements = 32, bytes = 6;
  static void encode(const float* x, std::byte* out) {
    float sum = 0;
    std::uint32_t negative = 0;
    for (int i = 0; i < 32; ++i) {
      sum += std::abs(x[i]);
      negative |= std::uint32_t(x[i] < 0) << i;
    }
    const std::uint16_t scale = quench::to_fp16(sum / 32);
    std::memcpy(out, &scale, 2);
    std::memcpy(out + 2, &negative, 4);
  }
  static void decode(const std::byte* in, float* x) {
    std::uint16_t scale;
    std::uint32_t negative;
    std::memcpy(&scale, in, 2);
    std::memcpy(&negative, in + 2, 4);
    for (int i = 0; i < 32; ++i) x[i] = (negative >> i & 1 ? -1.f : 1.f) * quench::from_fp16(scale);
  }
};
static_assert(quench::block_codec<signs>);

template <class Codec>
void show(const quench::matrix<float>& w, std::span<const float> imatrix, const quench::executor& run) {
  std::vector<std::byte> out(std::size_t(quench::encoded_bytes<Codec>(w.rows(), w.cols())));
  quench::encode_rows<Codec>(quench::view_of(w), out, {.importance = imatrix, .run = run, .tensor = "blk.0.ffn_up"});
  quench::matrix<float> back(w.rows(), w.cols());
  quench::decode_rows<Codec>(out, quench::view_of(back));
  std::cout << Codec::name << ": " << out.size() << " bytes, relative error " << (w - back).norm() / w.norm() << '\n';
}

int main() {
  const quench::matrix<float> w = quench::matrix<float>::Random(64, 512);
  const std::vector<float> imatrix(512, 1.f);  // mean squares of the layer's inputs, one a column
  quench::thread_pool pool(2);
  show<signs>(w, imatrix, pool.run());
  show<quench::ggml::q4_k>(w, imatrix, pool.run());
}
