#include <quench/linalg/hadamard.hpp>

#include <limits>
#include <string>

#include "catch.hpp"

namespace q = quench;

namespace {

template <class T>
q::matrix<T> numbers(q::index rows, q::index cols, std::uint64_t seed) {
  const q::random_stream r(seed, 0);
  q::matrix<T> m(rows, cols);
  for (q::index i = 0; i < m.size(); ++i) m.data()[i] = T(r.normal(std::uint64_t(i)));
  return m;
}

/// Sylvester's matrix by its definition: entry (i, j) is -1 to the number of bits that i and j share.
q::matrix<double> sylvester(q::index n) {
  q::matrix<double> h(n, n);
  for (q::index i = 0; i < n; ++i)
    for (q::index j = 0; j < n; ++j) h(i, j) = std::popcount(std::uint64_t(i & j)) % 2 ? -1.0 : 1.0;
  return h / std::sqrt(double(n));
}

/// The same butterflies one element at a time.
template <class T>
void scalar_twin(T* x, q::index n) {
  q::detail::hadamard_scalar(x, n, static_cast<const T*>(nullptr), T(1 / std::sqrt(double(n))));
}

template <class T>
bool same_bits(const q::matrix<T>& a, const q::matrix<T>& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         std::memcmp(a.data(), b.data(), std::size_t(a.size()) * sizeof(T)) == 0;
}

}  // namespace

TEST_CASE("hadamard: an example by hand", "[hadamard]") {
  q::matrix<float> x(1, 4);
  x << 1, 2, 3, 4;
  q::hadamard_rows(x, 4);
  CHECK(x(0, 0) == 5.f);
  CHECK(x(0, 1) == -1.f);
  CHECK(x(0, 2) == -2.f);
  CHECK(x(0, 3) == 0.f);
}

TEMPLATE_TEST_CASE("hadamard: equals Sylvester's matrix, its scalar twin and its own inverse", "[hadamard]",
                   float, double) {
  using T = TestType;
  const double tolerance = sizeof(T) == 4 ? 3e-6 : 1e-14;
  for (q::index block = 1; block <= 1024; block *= 2) {
    CAPTURE(block);
    const auto x = numbers<T>(3, 2 * block, std::uint64_t(block));
    auto y = x;
    q::hadamard_rows(y, block);
    const q::matrix<double> h = sylvester(block);
    for (q::index b = 0; b < 2; ++b) {
      const q::matrix<double> expected = x.middleCols(b * block, block).template cast<double>() * h;
      CHECK((y.middleCols(b * block, block).template cast<double>() - expected).cwiseAbs().maxCoeff() <
            tolerance * 4);
    }
    auto twin = x;
    for (q::index r = 0; r < 3; ++r)
      for (q::index b = 0; b < 2; ++b) scalar_twin(twin.row(r).data() + b * block, block);
    CHECK(same_bits(y, twin));
    q::hadamard_rows(y, block);
    CHECK((y - x).cwiseAbs().maxCoeff() < T(tolerance * 4));
  }
}

TEMPLATE_TEST_CASE("hadamard: long blocks keep the scalar twin's bits", "[hadamard]", float, double) {
  for (q::index block : {2048, 4096, 8192, 32768, 131072}) {
    CAPTURE(block);
    auto y = numbers<TestType>(1, block, 5), twin = y;
    q::hadamard_rows(y, block);
    scalar_twin(twin.data(), block);
    CHECK(same_bits(y, twin));
  }
}

TEST_CASE("hadamard: storage order, strides and executor change nothing", "[hadamard]") {
  q::thread_pool pool(3);
  for (q::index block : {8, 64, 256}) {
    const auto x = numbers<float>(37, 3 * block, 11);
    auto expected = x;
    q::hadamard_rows(expected, block);
    Eigen::MatrixXf column_major = x;
    q::hadamard_rows(column_major, block);
    CHECK(same_bits(q::matrix<float>(column_major), expected));
    q::matrix<float> padded = q::matrix<float>::Constant(40, 3 * block + 9, 7.f);
    padded.block(2, 5, 37, 3 * block) = x;
    q::hadamard_rows(padded.block(2, 5, 37, 3 * block), block);
    CHECK(same_bits(q::matrix<float>(padded.block(2, 5, 37, 3 * block)), expected));
    CHECK((padded.leftCols(5).array() == 7.f).all());
    CHECK((padded.rightCols(4).array() == 7.f).all());
    auto threaded = x;
    q::hadamard_rows(threaded, {.block = block, .run = pool.run()});
    CHECK(same_bits(threaded, expected));
  }
}

TEST_CASE("hadamard: signs come before H, and the inverse undoes both", "[hadamard]") {
  const q::index block = 128;
  const auto x = numbers<double>(4, 2 * block, 3);
  for (const q::index length : {block, 2 * block}) {
    const auto signs = q::random_signs(9, length);
    q::matrix<double> flipped = x;
    for (q::index j = 0; j < x.cols(); ++j) flipped.col(j) *= double(signs[std::size_t(j % length)]);
    q::hadamard_rows(flipped, block);
    auto y = x;
    q::hadamard_rows(y, {.block = block, .signs = signs});
    CHECK(same_bits(y, flipped));
    CHECK(y.squaredNorm() == Approx(x.squaredNorm()));
    q::hadamard_rows_inverse(y, {.block = block, .signs = signs});
    CHECK((y - x).cwiseAbs().maxCoeff() < 1e-13);
  }
  const auto signs = q::random_signs(9, 4096);
  CHECK(signs == q::random_signs(9, 4096));
  CHECK(signs != q::random_signs(10, 4096));
  CHECK(std::abs(std::count(signs.begin(), signs.end(), 1.f) - 2048) < 200);
}

TEST_CASE("hadamard: without normalisation twice is n times", "[hadamard]") {
  const q::matrix<float> x = q::matrix<float>::Constant(2, 64, 3.f);
  auto y = x;
  const q::hadamard_options plain{.block = 64, .normalize = false};
  q::hadamard_rows(y, plain);
  CHECK(y(0, 0) == 192.f);
  q::hadamard_rows(y, plain);
  CHECK((y.array() == 192.f).all());
}

TEST_CASE("hadamard: a NaN stays in its block", "[hadamard]") {
  q::matrix<float> x = q::matrix<float>::Ones(2, 96);
  x(0, 40) = std::numeric_limits<float>::quiet_NaN();
  q::hadamard_rows(x, 32);
  CHECK((x.array() != x.array()).count() == 32);
  CHECK(std::isnan(x(0, 32)));
}

TEST_CASE("hadamard: misuse says what is wrong", "[hadamard]") {
  q::matrix<float> x = q::matrix<float>::Ones(2, 96);
  const auto says = [](auto&& call, const char* part) {
    try {
      call();
    } catch (const q::error& e) {
      return std::string(e.what()).find(part) != std::string::npos;
    }
    return false;
  };
  CHECK(says([&] { q::hadamard_rows(x, 3); }, "power of two that divides the 96 columns, is 3"));
  CHECK(says([&] { q::hadamard_rows(x, 64); }, "divides the 96 columns, is 64"));
  CHECK(says([&] { q::hadamard_rows(x, 0); }, "is 0"));
  CHECK(says([&] { q::hadamard_rows(x, -32); }, "is -32"));
  const std::vector<float> five(5, 1.f);
  CHECK(says([&] { q::hadamard_rows(x, {.block = 32, .signs = five}); }, "holds 5"));
  q::matrix<float> none(0, 0);
  q::hadamard_rows(none, q::hadamard_options{});
  CHECK(none.size() == 0);
}
