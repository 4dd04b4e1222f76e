// What ggml's own reader makes of our GGUF files. Needs llama.cpp's prebuilt libraries: QUENCH_GGML_DIR names
// the folder that holds libggml-base.so (npm: @node-llama-cpp/linux-x64, bins/linux-x64); reported as skipped
// otherwise.
#include <quench/io/gguf_writer.hpp>

#include <dlfcn.h>
#include <cstdio>
#include <cstdlib>

#include "io/files.hpp"

using namespace quench;
using namespace quench::io;

namespace {

/// The functions of gguf.h that are used, found by name.
class ggml_reader {
 public:
  explicit ggml_reader(const path& library) : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  explicit operator bool() const { return library_ != nullptr; }
  template <class F>
  F* function(const char* name) const {
    void* symbol = ::dlsym(library_, name);
    REQUIRE(symbol != nullptr);
    return reinterpret_cast<F*>(symbol);
  }

 private:
  void* library_;
};

struct gguf_init_params {
  bool no_alloc;
  void** context;
};

}  // namespace

TEST_CASE("ggml's reader finds every tensor and key where we put them") {
  const char* set = std::getenv("QUENCH_GGML_DIR");
  const ggml_reader ggml(path(set ? set : "/nowhere") / "libggml-base.so");
  if (!ggml) {
    std::puts("quench-skip: QUENCH_GGML_DIR names no folder with libggml-base.so");
    return;
  }
  const files::folder dir;
  const path file = dir / "all.gguf";
  const std::uint32_t alignment = GENERATE(32u, 64u);
  std::vector<std::pair<std::string, gguf_value>> metadata = {{"general.architecture", "llama"},
                                                              {"general.alignment", alignment},
                                                              {"u8", std::uint8_t{255}},
                                                              {"i16", std::int16_t{-2}},
                                                              {"i64", std::int64_t{-5}},
                                                              {"f64", 1e300},
                                                              {"yes", true},
                                                              {"empty", ""}};
  const std::string strings[] = {"", "<s>"};
  const std::int32_t ints[] = {1, -2};
  metadata.emplace_back("strings", gguf_value::array(std::span<const std::string>(strings)));
  metadata.emplace_back("ints", gguf_value::array(std::span<const std::int32_t>(ints)));
  std::vector<gguf_spec> specs;
  for (const auto& t : ggml_types)
    specs.push_back(
        {"blk." + std::string(t.name), std::string(t.name), {3, static_cast<quench::index>(t.elements)}});
  gguf_writer out(file, metadata, specs);
  for (const auto& t : ggml_types)
    out.write("blk." + std::string(t.name), std::vector<std::byte>(3 * t.bytes));
  out.commit();
  const mapped_file bytes(file);
  const gguf_header ours = parse_gguf(bytes.bytes(), file);

  void* theirs = ggml.function<void*(const char*, gguf_init_params)>("gguf_init_from_file")(file.c_str(),
                                                                                            {true, nullptr});
  REQUIRE(theirs != nullptr);
  CHECK(ggml.function<std::int64_t(void*)>("gguf_get_n_kv")(theirs) ==
        static_cast<std::int64_t>(metadata.size()));
  CHECK(ggml.function<std::size_t(void*)>("gguf_get_data_offset")(theirs) == ours.data_offset);
  REQUIRE(ggml.function<std::int64_t(void*)>("gguf_get_n_tensors")(theirs) ==
          static_cast<std::int64_t>(specs.size()));
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    INFO(specs[i].name);
    CHECK(ggml.function<const char*(void*, std::int64_t)>("gguf_get_tensor_name")(theirs, at) ==
          specs[i].name);
    CHECK(ggml.function<int(void*, std::int64_t)>("gguf_get_tensor_type")(theirs, at) ==
          ours.tensors[i].type->id);
    CHECK(ggml.function<std::size_t(void*, std::int64_t)>("gguf_get_tensor_offset")(theirs, at) ==
          ours.tensors[i].begin - ours.data_offset);
    CHECK(ggml.function<std::size_t(void*, std::int64_t)>("gguf_get_tensor_size")(theirs, at) ==
          ours.tensors[i].bytes);
  }
  const auto key = ggml.function<std::int64_t(void*, const char*)>("gguf_find_key");
  CHECK(std::string(ggml.function<const char*(void*, std::int64_t)>("gguf_get_val_str")(
            theirs, key(theirs, "general.architecture"))) == "llama");
  CHECK(ggml.function<double(void*, std::int64_t)>("gguf_get_val_f64")(theirs, key(theirs, "f64")) == 1e300);
  CHECK(std::string(ggml.function<const char*(void*, std::int64_t, std::size_t)>("gguf_get_arr_str")(
            theirs, key(theirs, "strings"), 1)) == "<s>");
  ggml.function<void(void*)>("gguf_free")(theirs);
}
