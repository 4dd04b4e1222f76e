// Each primitive against its scalar meaning, on whatever lanes this build has.
#include "catch.hpp"

#include <quench/core/random.hpp>
#include <quench/simd/loops.hpp>

#include <vector>

namespace q = quench;
namespace s = quench::simd;

namespace {
constexpr auto N = std::size_t(s::lane_count<float>);
using V = s::widest_t<float>;

float any_float(std::uint64_t seed, std::uint64_t i) { return std::bit_cast<float>(std::uint32_t(q::random_stream(seed, 0).bits(i))); }
}  // namespace

TEST_CASE("quotient rounds to every grid as the division does, at and around every tie", "[simd]") {
  // c * scale and its float neighbours: ties of 8-bit integers, fp8 and fp16 grids at random scales of every mantissa.
  const q::random_stream random(1, 0);
  std::vector<float> x(N), ours(N);
  std::uint64_t wrong = 0, tested = 0;
  for (std::uint64_t i = 0; i < 60000; ++i) {
    const float scale = std::bit_cast<float>(std::uint32_t(random.bits(i) & 0x7FFFFF) | std::uint32_t(27 + random.below(i, 200)) << 23);
    for (std::uint64_t j = 0; j < 6; ++j) {
      const int bits = int(2 + random.below(i * 6 + j, 11));   // significant bits of the tie
      const float tie = float((std::uint32_t(1) << (bits - 1) | std::uint32_t(random.bits(i + j) & ((1u << (bits - 1)) - 1))) | 1u) * std::ldexp(1.f, -int(random.below(j + i, 12)));
      const float at = tie * scale;
      for (std::size_t k = 0; k < N; ++k)
        x[k] = std::bit_cast<float>(std::uint32_t(int(std::bit_cast<std::uint32_t>(at)) + int(k % 8) - 4)) * (k % 2 ? -1.f : 1.f);
      s::store(ours.data(), s::quotient(s::load(x.data(), V{}), V(scale), V(1.f / scale)));
      for (std::size_t k = 0; k < N; ++k) {
        const float exact = x[k] / scale;
        tested += 1;
        if (std::abs(std::abs(exact) - tie) <= 2 * (std::nextafter(tie, 1e38f) - tie) && ours[k] != exact) ++wrong;
      }
    }
  }
  CHECK(tested > 300000);
  CHECK(wrong == 0);
}

TEST_CASE("abs_max: every length, every position of NaN and Inf, any alignment", "[simd]") {
  std::vector<float> x(300);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(i % 17) - 8.f;
  for (std::ptrdiff_t n = 0; n <= 67; ++n)
    for (std::ptrdiff_t from = 0; from < 3; ++from) {
      float expected = 0;
      for (std::ptrdiff_t i = 0; i < n; ++i) expected = std::max(expected, std::abs(x[std::size_t(from + i)]));
      REQUIRE(s::abs_max(x.data() + from, n) == expected);
      for (std::ptrdiff_t at = 0; at < n; ++at) {
        float& place = x[std::size_t(from + at)];
        const float kept = place;
        place = -std::numeric_limits<float>::infinity();
        REQUIRE(s::abs_max(x.data() + from, n) == std::numeric_limits<float>::infinity());
        place = std::bit_cast<float>(0xFFA00001u);   // negative signalling NaN
        const float m = s::abs_max(x.data() + from, n);
        REQUIRE(m != m);
        REQUIRE_FALSE(s::all_finite(x.data() + from, n));
        place = kept;
      }
    }
  std::vector<double> d(40, -2.5);
  d[37] = 3;
  CHECK(s::abs_max(d.data(), 40) == 3);
}

TEST_CASE("block_abs_max equals abs_max of each block", "[simd]") {
  for (const std::ptrdiff_t width : {std::ptrdiff_t(N), std::ptrdiff_t(2 * N), std::ptrdiff_t(32), std::ptrdiff_t(128)})
    for (std::ptrdiff_t count = 1; count <= 35; ++count) {
      std::vector<float> x(std::size_t(width * count)), out(static_cast<std::size_t>(count), -1.f);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = float(q::random_stream(2, 0).uniform(i)) - 0.5f;
      s::block_abs_max(x.data(), width, count, out.data());
      for (std::ptrdiff_t k = 0; k < count; ++k) REQUIRE(out[std::size_t(k)] == s::abs_max(x.data() + k * width, width));
    }
}

TEST_CASE("max_of_each: lane j is the maximum of vector j", "[simd]") {
  using B = s::bits_t<V>;
  std::vector<std::int32_t> flat(N * N), out(N);
  for (std::size_t i = 0; i < flat.size(); ++i) flat[i] = std::int32_t(q::random_stream(3, 0).bits(i) & 0x7FFFFFFF);
  B m[N];
  for (std::size_t j = 0; j < N; ++j) m[j] = s::load(flat.data() + j * N, B{});
  s::store(out.data(), s::max_of_each(m));
  for (std::size_t j = 0; j < N; ++j) {
    std::int32_t expected = 0;
    for (std::size_t i = 0; i < N; ++i) expected = std::max(expected, flat[j * N + i]);
    CHECK(out[j] == expected);
    CHECK(s::reduce_max(m[j]) == expected);
  }
}

TEST_CASE("rounding: vector, scalar and the golden vector of the field reports (L10)", "[simd]") {
  std::vector<float> x = {0.49999997f, -0.49999997f, 0.5f, -0.5f, 1.5f, -1.5f, 2.5f, -2.5f, 0.f, -0.f, 1e-40f, -1e-40f, 4194303.5f, -4194303.5f, 126.5f, 127.5f};
  const std::vector<float> even = {0, 0, 0, 0, 2, -2, 2, -2, 0, 0, 0, 0, 4194304.f, -4194304.f, 126, 128};
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(s::round_even_small(x[i]) == even[i]);
    CHECK(!std::signbit(s::times(s::round_even(x[i]), 1.f) + 0.f * even[i]) == !(even[i] < 0));
  }
  std::vector<float> a(N), b(N), c(N);
  for (std::uint64_t round = 0; round < 5000; ++round) {
    for (std::size_t i = 0; i < N; ++i) a[i] = float((q::random_stream(4, 0).uniform(round * N + i) - 0.5) * (round % 3 == 0 ? 4e6 : 300));
    if (round % 2) for (auto& v : a) v = std::floor(v) + 0.5f;
    s::store(b.data(), s::times(s::round_even(s::load(a.data(), V{})), V(1.f)));
    s::store(c.data(), s::round_even_small(s::load(a.data(), V{})));
    for (std::size_t i = 0; i < N; ++i) {
      REQUIRE(b[i] == std::nearbyint(a[i]));
      REQUIRE(c[i] == std::nearbyint(a[i]));
      REQUIRE_FALSE((b[i] == 0 && std::signbit(b[i])));   // -0 becomes +0
    }
  }
}

TEST_CASE("lanes: each operation for batch<T> equals the one for T, bit for bit", "[simd]") {
  std::vector<float> a(N), b(N), out(N);
  const auto check = [&](auto op) {
    s::store(out.data(), op(s::load(a.data(), V{}), s::load(b.data(), V{})));
    for (std::size_t i = 0; i < N; ++i) {
      const float e = op(a[i], b[i]);
      REQUIRE(((e != e && out[i] != out[i]) || std::bit_cast<std::uint32_t>(e) == std::bit_cast<std::uint32_t>(out[i])));
    }
  };
  for (std::uint64_t round = 0; round < 3000; ++round) {
    for (std::size_t i = 0; i < N; ++i) a[i] = any_float(5, round * N + i), b[i] = any_float(6, round * N + i);
    check([](auto x, auto y) { return s::min(x, y); });
    check([](auto x, auto y) { return s::max(x, y); });
    check([](auto x, auto) { return s::abs(x); });
    check([](auto x, auto) { return s::pow2_floor(x); });
    check([](auto x, auto y) { return s::with_sign_of(s::abs(x), y); });
    check([](auto x, auto y) { return s::select(x > y, x, y); });
    check([](auto x, auto y) { return x / y; });
    check([](auto x, auto y) { return s::opaque(x * y) + y; });
    for (std::size_t i = 0; i < N; ++i) a[i] = float((q::random_stream(7, 0).uniform(round * N + i) - 0.5) * 1000);
    check([](auto x, auto) { return s::floor(x); });
    check([](auto x, auto) { return s::ceil(x); });
    check([](auto x, auto) { return s::trunc(x); });
    check([](auto x, auto) { return s::sqrt(s::abs(x)); });
  }
}

TEST_CASE("stream_copy copies exactly its range at any alignment", "[simd]") {
  std::vector<float> from(300), to(300);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = float(i);
  for (std::ptrdiff_t at = 0; at < 20; ++at)
    for (const std::ptrdiff_t n : {0, 1, 5, 15, 16, 17, 64, 200}) {
      std::fill(to.begin(), to.end(), -1.f);
      s::stream_copy(to.data() + at, from.data() + 3, n);
      s::stream_fence();
      bool right = true;
      for (std::ptrdiff_t i = 0; i < 300; ++i) right = right && to[std::size_t(i)] == (i >= at && i < at + n ? from[std::size_t(i - at + 3)] : -1.f);
      REQUIRE(right);
    }
}
