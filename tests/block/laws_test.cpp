// What holds for every block codec in the list.
#include <quench/block/list.hpp>
#include <quench/block/rows.hpp>
#include <quench/core/random.hpp>

#include <limits>
#include <tuple>

#include "catch.hpp"

namespace q = quench;

namespace {

template <class List>
struct as_tuple;
template <class... C>
struct as_tuple<q::codec_list<C...>> {
  using type = std::tuple<C...>;
};
using codecs = as_tuple<q::block_codecs>::type;

using bytes = std::vector<std::byte>;

q::matrix<float> numbers(q::index rows, q::index cols, std::uint64_t seed = 1) {
  const q::random_stream r(seed, 7);
  q::matrix<float> m(rows, cols);
  for (q::index i = 0; i < m.size(); ++i) m.data()[i] = float(r.normal(std::uint64_t(i)));
  return m;
}

/// Blocks that bring out corners: constant, one spike, zeros among them, ties, negative only, wide range.
template <class C>
q::matrix<float> corners() {
  q::matrix<float> m = numbers(12, 2 * C::elements, 5);
  m.row(0).setZero();
  m.row(1).setConstant(0.3f);
  m.row(2) *= 1e-4f;
  m(2, m.cols() / 2) = 5.f;
  m.row(3).leftCols(C::elements).setZero();
  for (q::index j = 0; j < m.cols(); ++j) {
    m(4, j) = float(j % 33 - 16) * 0.5f;
    m(5, j) = -std::fabs(m(5, j));
    m(6, j) *= std::ldexp(1.f, int(j % 20) - 10);
    m(7, j) = j % 2 ? 1.f : -1.f;
  }
  m.row(8) *= 1e-6f;
  m.row(9) *= 1000.f;
  m.row(10) = m.row(10).cwiseAbs();
  return m;
}

template <class C>
bytes one_by_one(const q::matrix<float>& w) {
  bytes out(std::size_t(q::encoded_bytes<C>(w.rows(), w.cols())));
  for (q::index b = 0; b < w.size() / C::elements; ++b)
    C::encode(w.data() + b * C::elements, out.data() + b * C::bytes);
  return out;
}
template <class C>
bytes encoded(const q::matrix<float>& w, const q::block_options& o = {}) {
  bytes out(std::size_t(q::encoded_bytes<C>(w.rows(), w.cols())));
  q::encode_rows<C>(w, out, o);
  return out;
}
template <class C>
q::matrix<float> decoded(const bytes& in, q::index rows, q::index cols) {
  q::matrix<float> w(rows, cols);
  q::decode_rows<C>(in, w);
  return w;
}
bool same_bits(const q::matrix<float>& a, const q::matrix<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), std::size_t(a.size()) * 4) == 0;
}

template <class Call>
std::string message(Call&& call) {
  try {
    call();
  } catch (const q::error& e) {
    return e.what();
  }
  return "no error";
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEMPLATE_LIST_TEST_CASE("codec: many blocks at once have the bytes and values of one at a time", "[block]",
                        codecs) {
  using C = TestType;
  for (q::index blocks = 1; blocks <= 67; blocks += blocks < 20 ? 1 : 13) {
    CAPTURE(blocks);
    const auto w = numbers(1, blocks * C::elements, std::uint64_t(blocks));
    const bytes expected = one_by_one<C>(w);
    // Unaligned input and output, with guards behind both.
    std::vector<float> x(std::size_t(w.size()) + 2, 1e30f);
    std::copy(w.data(), w.data() + w.size(), x.begin() + 1);
    bytes out(expected.size() + 2, std::byte{0xA5});
    q::encode_blocks<C>(x.data() + 1, blocks, out.data() + 1);
    CHECK(std::equal(expected.begin(), expected.end(), out.begin() + 1));
    CHECK(out.front() == std::byte{0xA5});
    CHECK(out.back() == std::byte{0xA5});
    std::vector<float> y(x.size(), -7.f), single(x.size());
    q::decode_blocks<C>(out.data() + 1, blocks, y.data() + 1);
    for (q::index b = 0; b < blocks; ++b)
      C::decode(expected.data() + b * C::bytes, single.data() + 1 + b * C::elements);
    CHECK(std::memcmp(y.data() + 1, single.data() + 1, std::size_t(w.size()) * 4) == 0);
    CHECK(y.front() == -7.f);
    CHECK(y.back() == -7.f);
  }
  const auto w = corners<C>();
  CHECK(encoded<C>(w) == one_by_one<C>(w));
}

TEMPLATE_LIST_TEST_CASE("codec: layout and executor change no byte", "[block]", codecs) {
  using C = TestType;
  const auto w = numbers(7, 3 * C::elements, 3);
  const bytes expected = encoded<C>(w);
  const Eigen::MatrixXf by_column = w;
  bytes out(expected.size());
  q::encode_rows<C>(by_column, out);
  CHECK(out == expected);
  q::matrix<float> padded = q::matrix<float>::Constant(9, 3 * C::elements + 5, 9.f);
  padded.block(1, 2, w.rows(), w.cols()) = w;
  std::fill(out.begin(), out.end(), std::byte{});
  q::encode_rows<C>(padded.block(1, 2, w.rows(), w.cols()), out);
  CHECK(out == expected);
  q::thread_pool pool(3);
  std::fill(out.begin(), out.end(), std::byte{});
  q::encode_rows<C>(w, out, {.run = pool.run()});
  CHECK(out == expected);

  const auto values = decoded<C>(expected, w.rows(), w.cols());
  Eigen::MatrixXf columns(w.rows(), w.cols());
  q::decode_rows<C>(expected, columns, {.run = pool.run()});
  CHECK(same_bits(q::matrix<float>(columns), values));
}

TEMPLATE_LIST_TEST_CASE("codec: zeros stay zeros, and nothing becomes NaN", "[block]", codecs) {
  using C = TestType;
  const q::matrix<float> zeros = q::matrix<float>::Zero(2, 2 * C::elements);
  CHECK((decoded<C>(encoded<C>(zeros), 2, 2 * C::elements).array() == 0.f).all());
  const auto w = corners<C>();
  CHECK(decoded<C>(encoded<C>(w), w.rows(), w.cols()).allFinite());
  const q::matrix<float> tiny = q::matrix<float>::Constant(1, C::elements, 1e-40f);
  CHECK(decoded<C>(encoded<C>(tiny), 1, C::elements).allFinite());
}

TEMPLATE_LIST_TEST_CASE("codec: the error is bounded by its own step", "[block]", codecs) {
  using C = TestType;
  const auto w = numbers(4, 4 * C::elements, 9);
  const auto y = decoded<C>(encoded<C>(w), w.rows(), w.cols());
  const double relative = double((y - w).norm() / w.norm()), bits = q::facts_of<C>().bits_per_weight();
  CAPTURE(C::name, relative, bits);
  CHECK(relative < (bits < 2.3 ? 1.2 : bits < 4.3 ? 0.4 : bits < 5 ? 0.16 : bits < 8 ? 0.08 : 0.06));
}

TEMPLATE_LIST_TEST_CASE("codec: quantizing twice changes nothing where the page says so", "[block]", codecs) {
  using C = TestType;
  // Scales of scales that were searched for move again on their own output; the others stay.
  const std::string_view moves[] = {"q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "iq4_xs"};
  const bool stable = std::find(std::begin(moves), std::end(moves), C::name) == std::end(moves);
  bool same = true;
  for (const auto& w : {numbers(8, 4 * C::elements, 21), corners<C>()}) {
    const bytes once = encoded<C>(w);
    const bytes twice = encoded<C>(decoded<C>(once, w.rows(), w.cols()));
    same = same && decoded<C>(twice, w.rows(), w.cols()) == decoded<C>(once, w.rows(), w.cols());
  }
  CAPTURE(C::name);
  CHECK(same == stable);
}

TEMPLATE_LIST_TEST_CASE("codec: importance weighs, zero weights mean none, bad ones are refused", "[block]",
                        codecs) {
  using C = TestType;
  const auto w = numbers(3, 4 * C::elements, 31);
  const auto weight = numbers(1, w.cols(), 32);
  std::vector<float> importance(weight.data(), weight.data() + weight.size()), zeros(importance.size(), 0.f);
  for (float& v : importance) v = v * v + 0.01f;
  const bytes plain = encoded<C>(w), weighted = encoded<C>(w, {.importance = importance});
  if (!q::takes_importance<C>)
    CHECK(weighted == plain);
  else {
    const auto error = [&](const bytes& b) {
      const q::matrix<float> e = decoded<C>(b, w.rows(), w.cols()) - w;
      return double((e.array().square().rowwise() *
                     Eigen::Map<const Eigen::RowVectorXf>(importance.data(), w.cols()).array())
                        .sum());
    };
    CHECK(error(weighted) < error(plain));
  }
  CHECK(encoded<C>(w, {.importance = zeros}) == plain);
  const auto refused = [&](std::vector<float> bad) {
    return message([&] { encoded<C>(w, {.importance = bad, .tensor = "blk.0"}); });
  };
  auto bad = importance;
  bad[2] = -1.f;
  CHECK(has(refused(bad), "weight 2 of blk.0 is -1"));
  bad[2] = std::numeric_limits<float>::quiet_NaN();
  CHECK(has(refused(bad), "finite and not negative"));
  bad.assign(importance.begin(), importance.end() - 1);
  CHECK(has(refused(bad), "one weight for each of the"));
}

TEMPLATE_LIST_TEST_CASE("codec: misuse is refused with the numbers", "[block]", codecs) {
  using C = TestType;
  const auto w = numbers(2, C::elements, 41);
  bytes out(std::size_t(2 * C::bytes));
  q::matrix<float> y(2, C::elements);
  CHECK(has(message([&] { q::encode_rows<C>(w, std::span(out).first(out.size() - 1)); }), "takes"));
  CHECK(has(message([&] { q::decode_rows<C>(std::span(out).first(out.size() - 1), y); }), "the input has"));
  if (C::elements > 1) {
    const auto ragged = numbers(1, C::elements + 1, 1);
    CHECK(has(message([&] { q::encode_rows<C>(ragged, out, {.tensor = "output"}); }),
              "needs columns in multiples of"));
    CHECK(has(message([&] { q::encode_rows<C>(ragged, out, {.tensor = "output"}); }), "output has"));
  }
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()})
    for (q::index at = 0; at < C::elements; at += std::max<q::index>(1, C::elements / 7)) {
      q::matrix<float> x = w;
      x(1, at) = bad;
      const std::string said = message([&] { q::encode_rows<C>(x, out); });
      if constexpr (requires { C::any_input; })
        CHECK(said == "no error");
      else
        CHECK(has(said, "row 1 of tensor"));
    }
  // Sizes beyond 2^31 are exact, and too large ones are refused; nothing is allocated.
  const q::index n = (q::index(1) << 31) + 7;
  CHECK(q::encoded_bytes<C>(n, C::elements) == n * C::bytes);
  CHECK(q::row_bytes<C>(n * C::elements) == n * C::bytes);
  CHECK(has(message([&] {
              static_cast<void>(q::encoded_bytes<C>(std::numeric_limits<q::index>::max(), 2 * C::elements));
            }),
            "too large"));
}

TEST_CASE("codec list: lookup by name and by GGUF type", "[block]") {
  int seen = 0;
  for (const auto& f : q::block_codec_facts()) {
    q::with_block_codec(f.name, [&](auto codec) {
      CHECK(codec.elements == f.elements);
      ++seen;
    });
    if (f.ggml_type >= 0) q::with_ggml_type(f.ggml_type, [&](auto codec) { CHECK(codec.name == f.name); });
  }
  CHECK(seen == 26);
  const std::string said = message([] { q::with_block_codec("q9_0", [](auto) {}); });
  CHECK(has(said, "'q9_0'"));
  CHECK(has(said, "q4_0, q4_1"));
  CHECK(has(message([] { q::with_ggml_type(16, [](auto) {}); }),
            "GGUF type 16 is not supported; choose one of 1 (f16)"));
}

TEST_CASE("q4_0: one block by hand", "[block]") {
  float x[32] = {};
  x[0] = -8.f;    // the largest magnitude: d = -8 / -8 = 1
  x[1] = 7.f;     // 15
  x[2] = 0.5f;    // 0.5 + 8.5 = 9
  x[16] = -0.6f;  // trunc(7.9) = 7
  std::byte out[18];
  q::ggml::q4_0::encode(x, out);
  CHECK(q::from_fp16(std::uint16_t(int(out[0]) | int(out[1]) << 8)) == 1.f);
  CHECK(int(out[2]) == (0 | 7 << 4));
  CHECK(int(out[3]) == (15 | 8 << 4));
  CHECK(int(out[4]) == (9 | 8 << 4));
}

TEST_CASE("half: every code survives, every float takes the nearest", "[block]") {
  for (std::uint32_t c = 0; c < 65536; ++c) {
    const auto code = std::uint16_t(c);
    const float h = q::from_fp16(code), b = q::from_bf16(code);
    if (h == h) {
      if (q::to_fp16(h) != code) FAIL("fp16 " << c);
    } else if (q::to_fp16(h) != ((c & 0x8000) | 0x7E00))
      FAIL("fp16 NaN " << c);
    if (b == b) {
      if (q::to_bf16(b) != code) FAIL("bf16 " << c);
    } else if (q::to_bf16(b) != ((c & 0x8000) | 0x7FC0))
      FAIL("bf16 NaN " << c);
  }
  CHECK(q::to_fp16(65519.99f) == 0x7BFF);
  CHECK(q::to_fp16(65520.f) == 0x7C00);
  CHECK(q::to_fp16(0x1p-25f) == 0);  // half of the smallest: to even
  CHECK(q::to_fp16(0x1.000002p-25f) == 1);
  CHECK(q::to_bf16(0.2691408770292272f) == 0x3E8A);
  CHECK(q::to_bf16(std::bit_cast<float>(0x3F808000u)) == 0x3F80);
  CHECK(q::to_bf16(std::bit_cast<float>(0x3F818000u)) == 0x3F82);
  CHECK(q::to_bf16(std::bit_cast<float>(0x7F7FFFFFu)) == 0x7F80);
  CHECK(q::to_bf16(std::bit_cast<float>(0x7F800001u)) == 0x7FC0);
}

TEMPLATE_TEST_CASE("narrow: every code survives decoding and encoding", "[block]", q::fp4_e2m1, q::fp6_e2m3,
                   q::fp6_e3m2, q::fp8_e4m3, q::fp8_e5m2) {
  using F = TestType;
  for (unsigned c = 0; c < (1u << F::bits); ++c)
    if (const float v = F::decode(c); v - v == 0.f) CHECK(unsigned(q::to_narrow<F>(v)) == c);
  CHECK(F::decode(unsigned(q::to_narrow<F>(1e30f))) == F::shape.high);
  CHECK(F::decode(unsigned(q::to_narrow<F>(-1e30f))) == -F::shape.high);
}
