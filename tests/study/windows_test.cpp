#include "catch.hpp"

#include <quench/study/windows.hpp>

#include <numeric>
#include <set>

using namespace quench;

namespace {
std::vector<study::token_id> counting(int n) {
  std::vector<study::token_id> s(static_cast<std::size_t>(n));
  std::iota(s.begin(), s.end(), 0);
  return s;
}
}  // namespace

TEST_CASE("training windows are a pure function of seed, step and window") {
  const auto stream = counting(1000);
  study::window_batch a, b;
  study::random_windows(stream, 7, 3, 8, 20, a);
  study::random_windows(stream, 7, 9, 5, 20, b);  // something else in between
  study::random_windows(stream, 7, 3, 8, 20, b);
  CHECK(a.tokens == b.tokens);
  study::random_windows(stream, 8, 3, 8, 20, b);
  CHECK(a.tokens != b.tokens);
  study::random_windows(stream, 7, 4, 8, 20, b);
  CHECK(a.tokens != b.tokens);
}

TEST_CASE("training windows are runs of the stream, and reach every offset") {
  const auto stream = counting(24);
  study::window_batch b;
  std::set<int> starts;
  for (int step = 1; step <= 200; ++step) {
    study::random_windows(stream, 1, step, 4, 20, b);
    REQUIRE(b.tokens.size() == 4 * 21);
    for (std::size_t w = 0; w < 4; ++w) {
      starts.insert(b.tokens[w * 21]);
      for (std::size_t i = 1; i < 21; ++i) REQUIRE(b.tokens[w * 21 + i] == b.tokens[w * 21] + int(i));
    }
  }
  CHECK(starts == std::set<int>{0, 1, 2, 3});  // 24 - 20 places, the last ends at the last token
}

TEST_CASE("validation windows span the stream from its first to its last token") {
  const auto stream = counting(101);
  const auto b = study::spread_windows(stream, 5, 20);
  const std::vector<int> starts{b.tokens[0], b.tokens[21], b.tokens[42], b.tokens[63], b.tokens[84]};
  CHECK(starts == std::vector<int>{0, 20, 40, 60, 80});
  CHECK(b.tokens.back() == 100);
  CHECK(study::spread_windows(stream, 1, 20).tokens.front() == 0);
  CHECK(study::spread_windows(counting(21), 3, 20).tokens.size() ==
        63);  // shorter than three windows: they coincide
}

TEST_CASE("a stream shorter than a window is refused") {
  study::window_batch b;
  CHECK_THROWS_WITH(study::random_windows(counting(20), 1, 1, 1, 20, b),
                    Catch::Contains("a window needs 21 tokens, the stream has 20"));
  CHECK_THROWS_AS(study::spread_windows(counting(20), 1, 20), error);
}
