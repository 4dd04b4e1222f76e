#pragma once
/// \file  Text from a model, one token after the other: greedy, or sampled at a temperature.
#include <quench/core/random.hpp>
#include <quench/nn/transformer.hpp>

namespace quench::inline QUENCH_ISA::nn {

/// temperature 0: the most likely token (the lowest number on ties). Above 0: softmax(logits / temperature),
/// drawn by position from `seed`, so the same call gives the same tokens.
struct sampling {
  double temperature = 0;
  std::uint64_t seed = 0;
};

/// The token that follows, from one row of logits. `position` numbers the draw.
/// \throws error when temperature is negative or not finite
template <class T>
std::int32_t pick_token(const T* logits, index vocab, const sampling& how, std::uint64_t position) {
  expects(std::isfinite(how.temperature) && how.temperature >= 0,
          "generate: temperature must be finite and not negative, is {}", how.temperature);
  index best = 0;
  for (index j = 1; j < vocab; ++j)
    if (logits[j] > logits[best]) best = j;
  if (how.temperature == 0) return static_cast<std::int32_t>(best);
  const auto weight = [&](index j) {
    return std::exp((double(logits[j]) - double(logits[best])) / how.temperature);
  };
  double total = 0;
  for (index j = 0; j < vocab; ++j) total += weight(j);
  double left = random_stream(how.seed, 0).uniform(position) * total;
  for (index j = 0; j < vocab; ++j)
    if ((left -= weight(j)) < 0) return static_cast<std::int32_t>(j);
  return static_cast<std::int32_t>(best);
}

/// `prompt` and up to `count` more tokens; ends early behind `stop` (-1: never). Beyond ctx the last ctx
/// tokens are read, from position 0. Each token costs one forward of the tokens read. \throws error when the
/// prompt is empty or holds a token outside the vocabulary
template <class T>
std::vector<std::int32_t> generate(transformer<T>& model, std::vector<std::int32_t> prompt, index count,
                                   const sampling& how = {}, std::int32_t stop = -1,
                                   const executor& run = {}) {
  expects(!prompt.empty(), "generate: the prompt must have at least 1 token, has {}", prompt.size());
  expects(count >= 0, "generate: count must not be negative, is {}", count);
  for (index i = 0; i < count; ++i) {
    const index n = std::min<index>(model.config().ctx, static_cast<index>(prompt.size()));
    const matrix<T> z = model.logits(prompt.data() + (static_cast<index>(prompt.size()) - n), n, run);
    prompt.push_back(pick_token(z.row(n - 1).data(), z.cols(), how, static_cast<std::uint64_t>(i)));
    if (prompt.back() == stop) break;
  }
  return prompt;
}

}  // namespace quench::inline QUENCH_ISA::nn
