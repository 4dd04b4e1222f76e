#include <quench/io/llama2c.hpp>
#include <quench/io/llama2c_tokenizer.hpp>
#include <quench/io/tokens.hpp>

#include "io/files.hpp"

using namespace quench;
using namespace quench::io;

namespace {

struct header {
  std::int32_t dim = 4, hidden = 6, layers = 2, heads = 2, kv = 1, vocabulary = 3, context = 5;
};

/// Floats of a checkpoint with that header, counted by hand: tied 3*4 + 2*(4 + 16 + 8 + 8 + 16 + 4 + 3*24) +
/// 4 + 5*2.
constexpr std::size_t tied_floats = 12 + 2 * 128 + 4 + 10;

path make(const files::folder& dir, const header& h, std::size_t floats) {
  atomic_file out(dir / "m.bin");
  out.append(std::as_bytes(std::span(&h, 1)));
  for (std::size_t i = 0; i < floats; ++i) out.append_number(static_cast<float>(i));
  out.commit();
  return dir / "m.bin";
}
path tokenizer(const files::folder& dir, const std::vector<std::pair<std::string, float>>& extra,
               std::uint32_t longest = 7) {
  atomic_file out(dir / "tok.bin");
  out.append_number(longest);
  const auto piece = [&](std::string_view s, float score) {
    out.append_number(score);
    out.append_number(static_cast<std::int32_t>(s.size()));
    out.append(s);
  };
  for (const char* s : {"<unk>", "\n<s>\n", "\n</s>\n"}) piece(s, 0);
  for (int i = 0; i < 256; ++i) {
    const char* hex = "0123456789ABCDEF";
    piece(std::string("<0x") + hex[i >> 4] + hex[i & 15] + '>', 0);
  }
  for (const auto& [s, score] : extra) piece(s, score);
  out.commit();
  return dir / "tok.bin";
}

}  // namespace

TEST_CASE("llama2.c: tensors sit where the format puts them") {
  const files::folder dir;
  const llama2c_file tied(make(dir, {}, tied_floats));
  CHECK(tied.config().tied);
  CHECK(tied.config().head_dim() == 2);
  CHECK(tied.config().kv_dim() == 2);
  CHECK(tied.tensors().size() == 1 + 9 * 2 + 1);
  CHECK(tied.at("tok_embeddings.weight").map()(2, 3) == 11);
  CHECK(tied.at("layers.1.attention_norm.weight").map()(0, 0) == 12 + 4);
  CHECK(tied.at("layers.0.attention.wq.weight").map()(1, 0) == 12 + 8 + 4);
  CHECK(tied.at("layers.1.attention.wk.weight").map().rows() == 2);
  CHECK(tied.at("layers.1.feed_forward.w2.weight").map().cols() == 6);
  CHECK(tied.at("norm.weight").data[0] == 12 + 2 * 128);
  files::io_error_offset(tied.file(), "no tensor \"output.weight\"", [&] { tied.at("output.weight"); });

  header h;
  h.vocabulary = -3;
  const llama2c_file untied(make(dir, h, tied_floats + 12));
  CHECK_FALSE(untied.config().tied);
  CHECK(untied.config().vocabulary == 3);
  CHECK(untied.at("output.weight").data[0] == tied_floats);
}

TEST_CASE("llama2.c: what does not fit is refused") {
  const files::folder dir;
  const auto refused = [&](std::string_view words, const header& h, std::size_t floats) {
    const path file = make(dir, h, floats);
    return files::io_error_offset(file, words, [&] { llama2c_file f(file); });
  };
  CHECK(refused("ends inside rope tables: 40 bytes wanted, 36 left", {}, tied_floats - 1) ==
        28 + 4 * (tied_floats - 10));
  refused("ends inside layers.1.feed_forward.w3", {}, tied_floats - 15);
  refused("12 bytes after its last tensor", {}, tied_floats + 3);
  CHECK(refused("dim must be 1 to 2^24, is 0", {.dim = 0}, 4) == 0);
  CHECK(refused("n_layers must be 1 to 2^24, is -1", {.layers = -1}, 4) == 8);
  refused("max_seq_len", {.context = 2000000000}, 4);
  refused("vocab_size", {.vocabulary = std::numeric_limits<std::int32_t>::min()}, 4);
  refused("multiple of n_heads 3", {.heads = 3}, tied_floats);
  refused("n_heads 2 must be a multiple of n_kv_heads 4", {.kv = 4}, tied_floats);
  refused("layers do not fit", {.layers = 1 << 24}, tied_floats);
  refused("ends inside tok_embeddings", {.dim = 1 << 24, .heads = 1, .vocabulary = 1 << 24}, tied_floats);
  refused("version 1", {.dim = 0x616b3432, .hidden = 1}, 64);
  write_file(dir / "short", "1234");
  files::io_error_offset(dir / "short", "ends too early", [&] { llama2c_file f(dir / "short"); });
}

TEST_CASE("tokenizer: merges by score, leftmost on ties, bytes where there is no piece") {
  const files::folder dir;
  const llama2c_tokenizer t(tokenizer(
      dir,
      {{" ", -1}, {"a", -2}, {"b", -3}, {"ab", -5}, {"aba", -6}, {" a", -4}, {"\xc3\xa9", -7}, {"bb", -5}}));
  const int space = 259, b = 261, ab = 262, space_a = 264, e_acute = 265, bb = 266;
  CHECK(t.size() == 267);
  CHECK(t.encode("", false).empty());
  CHECK(t.encode("") == std::vector<int>{1});
  CHECK(t.encode("ab") == std::vector<int>{1, space_a, b});  // " a" scores over "ab"
  CHECK(t.encode("bab", false) == std::vector<int>{space, b, ab});
  CHECK(t.encode("bbb", false, true) == std::vector<int>{space, bb, b, 2});
  CHECK(t.encode("\xc3\xa9", false) == std::vector<int>{space, e_acute});
  CHECK(t.encode("\xc3\xa8\xff", false) == std::vector<int>{space, 3 + 0xc3, 3 + 0xa8, 3 + 0xff});
  CHECK(t.encode(std::string(5, '\x80'), false).size() == 6);
  const std::string text = "ab \xc3\xa9 \xf0\x9f\x98\x80 bb\n";
  const auto ids = t.encode(text);
  CHECK(t.decode(ids) == text);
  CHECK_THROWS_AS(t.piece(267), error);
  CHECK_THROWS_AS(t.piece(-1), error);
}

TEST_CASE("tokenizer: damaged files are refused") {
  const files::folder dir;
  const path file = tokenizer(dir, {{"word", 0}});
  const std::string whole = read_file(file);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    write_file(dir / "cut", std::string_view(whole).substr(0, n));
    try {
      llama2c_tokenizer t(dir / "cut", 260);
      FAIL("a tokenizer cut to " << n << " bytes was read");
    } catch (const io_error&) {
    }
  }
  CHECK_NOTHROW(llama2c_tokenizer(file, 260));
  files::io_error_offset(file, "more than 259", [&] { llama2c_tokenizer t(file, 259); });
  files::io_error_offset(file, "must have 261", [&] { llama2c_tokenizer t(file, 261); });
  files::io_error_offset(file, "length must be 0 to 3, is 5",
                         [&] { llama2c_tokenizer t(tokenizer(dir, {}, 3)); });
}

TEST_CASE("stories260K reads, and its tokenizer writes the reference text") {
  const path dir = files::shared_folder() / "goldens/weights/stories260K";
  if (!std::filesystem::exists(dir / "stories260K.bin")) {
    WARN("skipped: stories260K is not here (set QUENCH_SHARED_DIR)");
    return;
  }
  const llama2c_file model(dir / "stories260K.bin");
  CHECK((model.config().dim == 64 && model.config().layers == 5 && model.config().tied));
  std::size_t parameters = 0;
  for (const auto& t : model.tensors()) parameters += static_cast<std::size_t>(t.rows * t.cols);
  CHECK(parameters == 260032);
  const llama2c_tokenizer words(dir / "tok512.bin", 512);
  const token_file greedy(dir / "tokens_greedy64.npy", 512);
  const auto table = greedy.table<int>();
  const std::vector<int> ids(table.data(), table.data() + table.size());
  CHECK(words.decode(ids).starts_with("Once upon a time, there was a little girl named Lily. "));
  CHECK(words.encode(words.decode(ids)) == ids);
}
