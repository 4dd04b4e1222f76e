// Against ggml itself: the same floats to the same bytes, in one process. Set QUENCH_GGML_DIR to a folder
// that holds libggml-base.so (and, for its SIMD quantizers, a libggml-cpu-*.so named by QUENCH_GGML_CPU);
// without it there are no rows.
#include <quench/block/list.hpp>
#include <quench/block/rows.hpp>

#include "harness.hpp"

#include <dlfcn.h>

namespace {

using quantize_chunk = std::size_t (*)(int type, const float* x, void* out, std::int64_t start,
                                       std::int64_t rows, std::int64_t per_row, const float* importance);
using dequantize_row = void (*)(const void* in, float* x, std::int64_t n);
using from_float = void (*)(const float* x, void* out, std::int64_t n);

struct library {
  void* base = nullptr;
  void* cpu = nullptr;
  library() {
    const char* folder = std::getenv("QUENCH_GGML_DIR");
    if (folder == nullptr || *folder == '\0') return;
    base = dlopen((std::string(folder) + "/libggml-base.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
    const char* name = std::getenv("QUENCH_GGML_CPU");
    if (base == nullptr || name == nullptr) return;
    cpu = dlopen((std::string(folder) + "/" + name).c_str(), RTLD_NOW);
    if (void* init = cpu ? dlsym(cpu, "ggml_cpu_init") : nullptr) reinterpret_cast<void (*)()>(init)();
  }
  template <class F>
  F find(void* from, const std::string& name) const {
    return from ? reinterpret_cast<F>(dlsym(from, name.c_str())) : nullptr;
  }
  /// The quantizer that ggml's kernels use at run time; not always the bytes of the file writer.
  from_float simd(int type) const {
    const auto traits = find<const from_float* (*)(int)>(cpu, "ggml_get_type_traits_cpu");
    return traits ? *traits(type) : nullptr;
  }
};

const library& ggml() {
  static const library loaded;
  return loaded;
}

template <class C>
void add() {
  constexpr quench::index per_row = 4096;
  const auto chunk = ggml().find<quantize_chunk>(ggml().base, "ggml_quantize_chunk");
  const auto dequantize = ggml().find<dequantize_row>(ggml().base, "dequantize_row_" + std::string(C::name));
  const std::string name = "ggml/" + std::string(C::name);
  if (chunk)
    bench::add<float>(name + "/encode", {bench::in_l2}, [chunk](bench::run<float>& r) {
      const quench::index blocks = r.n / C::elements;
      std::vector<std::byte> mine(std::size_t(blocks * C::bytes)), theirs(mine.size()), simd(mine.size());
      const auto reference = [&] {
        chunk(C::ggml_type, r.in.data(), theirs.data(), 0, r.n / per_row, per_row, nullptr);
      };
      reference();
      quench::encode_blocks<C>(r.in.data(), blocks, mine.data());
      r.verify(mine == theirs);
      const auto kernel = [&] { quench::encode_blocks<C>(r.in.data(), blocks, mine.data()); };
      if (const from_float fast = ggml().simd(C::ggml_type))
        r.measure(kernel, bench::peer("ggml", reference),
                  bench::peer("ggml_simd", [&] { fast(r.in.data(), simd.data(), r.n); }));
      else
        r.measure(kernel, bench::peer("ggml", reference));
    });
  if (dequantize)
    bench::add<float>(name + "/decode", {bench::in_l2}, [dequantize](bench::run<float>& r) {
      const quench::index blocks = r.n / C::elements;
      std::vector<std::byte> bytes(std::size_t(blocks * C::bytes));
      std::vector<float> theirs(static_cast<std::size_t>(r.n));
      quench::encode_blocks<C>(r.in.data(), blocks, bytes.data());
      dequantize(bytes.data(), theirs.data(), r.n);
      quench::decode_blocks<C>(bytes.data(), blocks, r.out.data());
      r.verify(std::equal(theirs.begin(), theirs.end(), r.out.data()));
      r.measure([&] { quench::decode_blocks<C>(bytes.data(), blocks, r.out.data()); },
                bench::peer("ggml", [&] { dequantize(bytes.data(), theirs.data(), r.n); }));
    });
}

const bool rows = [] {
  if (ggml().base != nullptr)
    quench::block_codecs::for_each([](auto codec) {
      if constexpr (quench::ggml_type_of<decltype(codec)>() >= 0) add<decltype(codec)>();
    });
  return true;
}();

}  // namespace
