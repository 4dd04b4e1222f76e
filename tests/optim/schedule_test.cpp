#include "catch.hpp"

#include <quench/optim/schedule.hpp>

#include <vector>

using namespace quench;

TEST_CASE("schedules: the three step conventions, written out", "[optim]") {
  schedule s{.kind = schedule_kind::wsd, .steps = 10, .warmup = 4, .cooldown = 4};
  const std::vector<std::vector<double>> want{{.25, .5, .75, 1, 1, 1, .8, .6, .4, .2},
                                              {.25, .5, .75, 1, 1, 1, .75, .5, .25, 0},
                                              {0, .25, .5, .75, 1, 1, 1, .75, .5, .25}};
  for (int c = 0; c < 3; ++c) {
    s.convention = step_convention(c);
    for (int i = 0; i < 10; ++i) CHECK(s.at(i) == Approx(want[std::size_t(c)][std::size_t(i)]).margin(1e-15));
    CHECK(s.at(10) == Approx(0).margin(1e-15));
    CHECK(s.at(1000) == s.at(11));
  }
}

TEST_CASE("schedules: corners", "[optim]") {
  for (auto kind : {schedule_kind::constant, schedule_kind::linear, schedule_kind::cosine, schedule_kind::wsd,
                    schedule_kind::inverse_sqrt})
    for (auto convention :
         {step_convention::nonzero_end, step_convention::zero_end, step_convention::zero_start}) {
      CHECK(schedule{.kind = kind, .steps = 1, .convention = convention}.at(0) <= 1);
      CHECK(schedule{.kind = kind, .steps = 8, .convention = convention}.at(0) >
            (convention == step_convention::zero_start ? 0.99 : 0.7));
      const schedule all_warm{.kind = kind, .steps = 5, .warmup = 5, .convention = convention};
      for (int i = 0; i < 9; ++i) CHECK((all_warm.at(i) >= 0 && all_warm.at(i) <= 1));
      const schedule floor{
          .kind = kind, .steps = 20, .warmup = 2, .cooldown = 5, .end = 0.1, .convention = convention};
      for (int i = 2; i < 40; ++i) CHECK(floor.at(i) >= 0.1 - 1e-12);
    }
  for (auto shape : {cooldown_shape::linear, cooldown_shape::one_sqrt, cooldown_shape::cosine,
                     cooldown_shape::one_square, cooldown_shape::exponential}) {
    CHECK(cooldown_factor(shape, 0) == Approx(1));
    CHECK(cooldown_factor(shape, 1) == Approx(0).margin(1e-12));
    for (int i = 0; i < 100; ++i)
      CHECK(cooldown_factor(shape, i / 100.0) > cooldown_factor(shape, (i + 1) / 100.0));
  }
  CHECK_THROWS_AS((schedule{.steps = 4, .warmup = 5}.at(0)), error);
  CHECK_THROWS_WITH((schedule{.steps = 0}.at(0)), Catch::Contains("steps >= 1"));
}

TEST_CASE("schedules: a cooldown branch agrees with its trunk until it leaves it", "[optim]") {
  const schedule trunk{.kind = schedule_kind::constant, .steps = 100, .warmup = 10};
  const schedule branch = trunk.cooldown_from(50, 20);
  for (int i = 0; i < 50; ++i) CHECK(branch.at(i) == trunk.at(i));
  CHECK(branch.at(50) < 1);
  CHECK(branch.at(69) == Approx(1.0 / 21));
}
