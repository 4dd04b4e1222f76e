#pragma once
/// \file  The text of a study: training and validation streams of tokens, known by the hash of their content.
#include <quench/io/tokens.hpp>
#include <quench/study/config.hpp>
#include <quench/study/windows.hpp>

namespace quench::inline QUENCH_ISA::study {

struct corpus {
  std::vector<token_id> train, validation;
  data_facts facts;
};

/// Reads the files one after another as one stream; text becomes its bytes, .npy, .u16 and .u32 files are
/// token ids (io/tokens.hpp). Ids must be below `vocabulary`. Optionally adds to `hash` what `data_facts`
/// keeps. \throws io_error naming the file and the byte
inline std::vector<token_id> read_tokens(const std::vector<io::path>& files, int vocabulary,
                                         std::uint64_t* hash = nullptr) {
  std::vector<token_id> out;
  for (const io::path& file : files) {
    const io::token_file source(file, std::uint64_t(vocabulary));
    io::require(source.size() > 0, file, 0, "holds no tokens");
    out.reserve(out.size() + std::size_t(source.size()));
    for (index i = 0; i < source.size(); ++i) out.push_back(token_id(source[i]));
  }
  if (hash) *hash = hasher().add(out.data(), out.size() * sizeof(token_id)).value();
  return out;
}

/// \throws io_error as read_tokens; error when a stream is shorter than one window of `length` + 1 tokens
inline corpus read_corpus(const std::vector<io::path>& train, const std::vector<io::path>& validation,
                          int vocabulary, int length) {
  corpus c;
  c.train = read_tokens(train, vocabulary, &c.facts.train_hash);
  c.validation = read_tokens(validation, vocabulary, &c.facts.validation_hash);
  const auto describe = [&](const std::vector<io::path>& files, const std::vector<token_id>& tokens,
                            std::vector<std::string>& names, std::int64_t& count) {
    for (const auto& f : files) names.push_back(f.filename().string());
    count = std::int64_t(tokens.size());
    io::require(count > length, files.front(), 0,
                "has {} tokens, a window needs {}; give a longer text or a shorter --length", count,
                length + 1);
  };
  describe(train, c.train, c.facts.train, c.facts.train_tokens);
  describe(validation, c.validation, c.facts.validation, c.facts.validation_tokens);
  return c;
}

}  // namespace quench::inline QUENCH_ISA::study
