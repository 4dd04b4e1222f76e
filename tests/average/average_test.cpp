#include "catch.hpp"

#include <quench/average/average.hpp>

namespace q = quench;

static q::param_list constant(float x) {
  return {{"w", q::matrix<float>::Constant(2, 3, x), {}, q::role::hidden}};
}

TEST_CASE("averages are right from the first update on", "[average]") {
  q::ema plain(0.9), debiased(0.9, {.debias = true});
  q::lawa window(4), spaced(2, 3);
  q::swa uniform;
  double closed = 0, sum = 0;
  for (int k = 1; k <= 10; ++k) {
    const auto p = constant(float(k));
    plain.add(p), debiased.add(p), window.add(p), uniform.add(p);
    CHECK(spaced.add(p) == (k % 3 == 0));
    closed = k == 1 ? 1 : 0.9 * closed + 0.1 * k;
    sum = 0.9 * sum + 0.1 * k;
    CHECK(plain.value()[0].value(1, 2) == Approx(closed));
    CHECK(debiased.value()[0].value(1, 2) == Approx(sum / (1 - std::pow(0.9, k))));
    CHECK(uniform.value()[0].value(0, 0) == Approx((k + 1) / 2.0));
    const int first = std::max(1, k - 3);
    CHECK(window.value()[0].value(0, 1) == Approx((first + k) / 2.0));  // before the window is full too
  }
  CHECK(spaced.value()[0].value(0, 0) == 7.5f);  // steps 6 and 9
  CHECK(debiased.count() == 10);
}

TEST_CASE("averages move where float would not", "[average]") {
  q::ema slow(0.9999999);
  slow.add(constant(1));
  for (int k = 0; k < 1000; ++k) slow.add(constant(2));
  CHECK(slow.value()[0].value(0, 0) > 1.00009f);
}

TEST_CASE("soups", "[average]") {
  const std::vector<q::param_list> models{constant(1), constant(4)};
  CHECK(q::soup(models)[0].value(0, 0) == 2.5f);
  CHECK(q::soup(models, {0.9, 0.1})[0].value(0, 0) == Approx(1.3f));
  CHECK_THROWS_WITH(q::soup(models, {1.0}), Catch::Contains("one weight a model"));
  CHECK_THROWS_WITH(q::ema(0.5).value(), Catch::Contains("nothing was added"));
  CHECK_THROWS_WITH(q::lawa(0), Catch::Contains("at least 1"));
  q::swa mean;
  mean.add(constant(1));
  CHECK_THROWS_WITH(mean.add({{"v", q::matrix<float>::Zero(2, 3), {}, q::role::hidden}}),
                    Catch::Contains("must stay 'w'"));
}

TEST_CASE("averages continue from their saved state with the same bits", "[average]") {
  q::lawa a(3), b(3);
  q::ema c(0.7), d(0.7);
  for (int k = 1; k <= 5; ++k) a.add(constant(float(k))), c.add(constant(float(k)));
  const auto copy = [](auto& from, auto& to) {
    std::vector<q::state_value> saved;
    from.visit_state([&](const std::string&, q::state_ref r) { saved.push_back(q::copy_of(r)); });
    to.prepare(constant(0));
    std::size_t k = 0;
    to.visit_state([&](const std::string&, q::state_ref r) {
      std::visit([&](auto* x) { *x = std::get<std::remove_reference_t<decltype(*x)>>(saved.at(k++)); }, r);
    });
    CHECK(k == saved.size());
  };
  copy(a, b), copy(c, d);
  for (int k = 6; k <= 8; ++k)
    a.add(constant(float(k))), b.add(constant(float(k))), c.add(constant(float(k))),
        d.add(constant(float(k)));
  CHECK(a.value()[0].value == b.value()[0].value);
  CHECK(c.value()[0].value == d.value()[0].value);
}
