#pragma once
/// \file  Windows of a token stream: random offsets for training, evenly spaced ones for validation. Where a
/// window lies is a pure function of (seed, step, window), so a resumed run reads what an uninterrupted one
/// would have read.
#include <quench/core/error.hpp>
#include <quench/core/random.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace quench::inline QUENCH_ISA::study {

using token_id = std::int32_t;

/// Windows of `length` + 1 tokens (`length` predictions), gathered row after row.
struct window_batch {
  std::vector<token_id> tokens;
  int sequences = 0, length = 0;
};

namespace detail {
inline void check_stream(std::span<const token_id> stream, int length, const char* who) {
  expects(length >= 1 && std::int64_t(stream.size()) > length,
          "{}: a window needs {} tokens, the stream has {}", who, length + 1, stream.size());
}
}  // namespace detail

/// Sampling with replacement: window w of step t starts at a uniform offset drawn from (seed, t, w). `step`
/// counts from 1.
inline void random_windows(std::span<const token_id> stream, std::uint64_t seed, std::int64_t step,
                           int sequences, int length, window_batch& out) {
  detail::check_stream(stream, length, "random_windows");
  const random_stream offsets(seed,
                              0x77696E646F7773);  // a stream of its own: no other draw of a run shares it
  const std::uint64_t places = stream.size() - std::uint64_t(length);
  out.sequences = sequences;
  out.length = length;
  out.tokens.resize(std::size_t(sequences) * std::size_t(length + 1));
  for (int w = 0; w < sequences; ++w) {
    const auto at =
        offsets.below(std::uint64_t(step - 1) * std::uint64_t(sequences) + std::uint64_t(w), places);
    std::copy_n(stream.begin() + std::ptrdiff_t(at), length + 1,
                out.tokens.begin() + std::ptrdiff_t(w) * (length + 1));
  }
}

/// `sequences` windows spread evenly over the stream: the first at its start, the last at its end. They
/// overlap when the stream is short.
inline window_batch spread_windows(std::span<const token_id> stream, int sequences, int length) {
  detail::check_stream(stream, length, "spread_windows");
  window_batch out{{}, sequences, length};
  const std::uint64_t last = stream.size() - std::uint64_t(length) - 1;
  for (int w = 0; w < sequences; ++w) {
    const std::uint64_t at = sequences > 1 ? last * std::uint64_t(w) / std::uint64_t(sequences - 1) : 0;
    out.tokens.insert(out.tokens.end(), stream.begin() + std::ptrdiff_t(at),
                      stream.begin() + std::ptrdiff_t(at) + length + 1);
  }
  return out;
}

}  // namespace quench::inline QUENCH_ISA::study
