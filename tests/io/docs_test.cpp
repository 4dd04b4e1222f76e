// The snippets of docs/files.md, run.
#include <quench/io/gguf.hpp>
#include <quench/io/gguf_writer.hpp>
#include <quench/io/jsonl.hpp>
#include <quench/io/llama2c.hpp>
#include <quench/io/safetensors.hpp>
#include <quench/io/safetensors_writer.hpp>
#include <quench/io/tokens.hpp>

#include "io/files.hpp"

using namespace quench;

TEST_CASE("docs: safetensors, one tensor in memory at a time") {
  const files::folder dir;
  const io::path in = dir / "in.safetensors", out_path = dir / "out.safetensors";
  const matrix<float> a = matrix<float>::Random(4, 8), b = matrix<float>::Random(1, 8);
  const io::tensor_data both[] = {io::tensor_of("a", a), io::tensor_of("b", b, true)};
  io::write_safetensors(in, both);

  const io::safetensors_file file(in);
  std::vector<io::tensor_spec> specs;
  for (const io::tensor_info& t : file.tensors()) specs.push_back({t.name, io::dtype::f32, t.shape});
  io::safetensors_writer out(out_path, specs, {{"note", "doubled"}});
  for (const io::tensor_info& t : file.tensors()) {
    const matrix<float> w = 2 * file.read<float>(t);
    out.write(t.name, io::tensor_of(t.name, w).bytes);
    file.release(t);
  }
  out.commit();

  CHECK(io::safetensors_file(out_path).read<float>("a") == 2 * a);
  CHECK(io::safetensors_file(out_path).at("b").shape.size() == 1);
}

TEST_CASE("docs: GGUF") {
  const files::folder dir;
  const io::path path = dir / "model.gguf";
  const matrix<float> w = matrix<float>::Random(2, 64);

  const std::pair<std::string, io::gguf_value> metadata[] = {{"general.architecture", "llama"},
                                                             {"llama.block_count", 2u}};
  const io::gguf_spec specs[] = {{"blk.0.ffn_up.weight", "Q4_0", {w.rows(), w.cols()}}};
  std::vector<std::byte> blocks(static_cast<std::size_t>(encoded_bytes<ggml::q4_0>(w.rows(), w.cols())));
  encode_blocks<ggml::q4_0>(w.data(), w.size() / 32, blocks.data());
  io::gguf_writer out(path, metadata, specs);
  out.write("blk.0.ffn_up.weight", blocks);
  out.commit();

  const io::gguf_file model(path);
  const matrix<float> back = model.read("blk.0.ffn_up.weight");
  CHECK(model.metadata("llama.block_count").number<int>() == 2);
  CHECK((back - w).norm() < 0.1f * w.norm());
}

TEST_CASE("docs: records") {
  const files::folder dir;
  const io::path path = dir / "records.jsonl";
  {
    io::record_writer log(path);
    log.append({{"kind", "point"}, {"step", 100}, {"loss", std::nan("")}});
  }
  for (const io::json& row : io::read_records(path).rows) {
    const double loss = io::to_double(row, "loss", 0.0);
    CHECK(std::isnan(loss));
  }
}

TEST_CASE("docs: errors") {
  const files::folder dir;
  const io::path path = dir / "cut.safetensors";
  io::write_file(path, std::string(8, '\x01'));
  std::string message;
  try {
    const io::safetensors_file file(path);
  } catch (const io_error& e) {
    message = e.file() + " at byte " + std::to_string(e.offset()) + ": " + e.reason();
  }
  CHECK(message.find("at byte 0: safetensors header length") != std::string::npos);
}
