#include <quench/io/safetensors_shards.hpp>
#include <quench/io/safetensors_writer.hpp>

#include "io/files.hpp"

using namespace quench;
using namespace quench::io;

TEST_CASE("a checkpoint of shards reads as one; a single file and its folder too") {
  const files::folder dir;
  const matrix<float> a = matrix<float>::Random(2, 3), b = matrix<float>::Random(4, 1),
                      c = matrix<float>::Random(1, 2);
  const tensor_data first[] = {tensor_of("a", a), tensor_of("c", c)}, second[] = {tensor_of("b", b)};
  write_safetensors(dir / "model-1.safetensors", first);
  write_safetensors(dir / "model-2.safetensors", second);
  const path index = dir / "model.safetensors.index.json";
  const std::string good =
      R"({"metadata":{"total_size":48},"weight_map":{"a":"model-1.safetensors","b":"model-2.safetensors","c":"model-1.safetensors"}})";
  write_file(index, good);
  for (const path& where : {index, dir.at}) {
    const safetensors_shards all(where);
    CHECK((all.size() == 3 && all.shards() == 2));
    CHECK(all.read<float>("a") == a);
    CHECK(all.read<float>("b") == b);
    CHECK(all.at("c").shape == std::vector<quench::index>{1, 2});
    std::string order;
    all.for_each([&](const safetensors_file& file, const tensor_info& t) {
      order += t.name;
      CHECK(file.contains(t.name));
    });
    CHECK(order == "acb");
    files::io_error_offset(dir / "model-1.safetensors", "has no tensor \"z\"", [&] { all.at("z"); });
  }
  CHECK(safetensors_shards(dir / "model-2.safetensors").size() == 1);

  const auto refused = [&](std::string_view words, std::string_view text, const path& file) {
    write_file(index, text);
    files::io_error_offset(file, words, [&] { safetensors_shards s(index); });
  };
  refused("which the index promises", R"({"weight_map":{"z":"model-1.safetensors"}})",
          dir / "model-1.safetensors");
  refused("beside the index", R"({"weight_map":{"a":"../model-1.safetensors"}})", index);
  refused("beside the index", R"({"weight_map":{"a":"/etc/passwd"}})", index);
  refused("beside the index", R"({"weight_map":{"a":""}})", index);
  refused("must be a string", R"({"weight_map":{"a":7}})", index);
  refused("weight_map", R"({"weight_map":{}})", index);
  refused("weight_map", R"([1])", index);
  refused("not valid JSON", R"({"weight_map":)", index);
  refused("twice", R"({"weight_map":{"a":"model-1.safetensors","a":"model-2.safetensors"}})", index);
  refused("No such file", R"({"weight_map":{"a":"model-3.safetensors"}})", dir / "model-3.safetensors");
  write_safetensors(dir / "model-2.safetensors", first);
  refused("stands in two shards", R"({"weight_map":{"a":"model-1.safetensors","c":"model-2.safetensors"}})",
          dir / "model-2.safetensors");
  write_safetensors(dir / "model.safetensors", second);
  CHECK(safetensors_shards(dir.at).size() == 1);
  files::io_error_offset(dir / "none", "No such file", [&] { safetensors_shards s(dir / "none"); });
}
