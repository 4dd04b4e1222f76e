// Orthogonalisation, inverse roots, and learning-rate schedules against the canonical programs' numbers.
#include "runner.hpp"

#include <quench/linalg/inverse_root.hpp>
#include <quench/linalg/newton_schulz.hpp>
#include <quench/optim/schedule.hpp>

using namespace golden;
using q::matrix;

namespace {

matrix<double> input_of(const std::string& name) {
  const auto g = [](int t, const std::string& n) { return small_set().grads[std::size_t(t)].at(n); };
  const auto bracket = name.find('[');
  if (name.starts_with("A")) return g(0, "W") * g(0, "W").transpose() + g(1, "W") * g(1, "W").transpose();
  if (name.starts_with("B")) return g(0, "W") * g(0, "W").transpose();
  return g(0, name.substr(bracket + 1, 1));
}

matrix<double> polar_of(keys h, const matrix<double>& g, const std::string& name) {
  std::vector<q::quintic> c;
  const json& given = h.raw("coefficients");
  if (given[0].is_array())
    for (const auto& x : given) c.push_back({x[0], x[1], x[2]});
  else
    c.push_back({given[0], given[1], given[2]});
  int steps = int(c.size());
  double eps = 1e-7, safety = 1;
  h.into("steps", steps).into("eps", eps).ignore({"note"});
  const std::string norm = h.text("norm", "fro+eps");
  h.done();
  q::polar_scaling scaling = q::polar_scaling::additive_eps;
  if (norm == "max(fro,eps)")
    scaling = q::polar_scaling::maximum_eps;
  else if (norm == "fro*1.02+1e-6")
    safety = 1.02, eps = 1e-6;
  else if (norm != "fro+eps")
    unknown("norm " + norm);
  if (name.starts_with("polar_express10_heavyball")) scaling = q::polar_scaling::maximum_eps, safety = 1.01;
  return q::polar_factor<double>(g, c, steps, scaling, eps, safety);
}

matrix<double> root_of_case(keys h, const matrix<double>& a, const std::string& name) {
  q::root_options o{.epsilon = 0};
  const json& r = h.raw("root");
  double root = 0;
  if (r.is_string()) {
    const std::string text = r;
    const auto slash = text.find('/');
    root = slash == text.npos ? std::stod(text)
                              : std::stod(text.substr(0, slash)) / std::stod(text.substr(slash + 1));
  } else {
    root = r;
  }
  int order = 3;
  h.into("epsilon", o.epsilon).into("tolerance", o.tolerance).into("max_iterations", o.max_iterations);
  h.into("rel_epsilon", o.relative_epsilon).into("abs_epsilon", o.epsilon).into("order", order).done();
  if (order != 3) unknown("order");
  if (name.find("newton") != name.npos)
    o.method = q::root_method::coupled_newton;
  else if (name.find("higher_order") != name.npos)
    o.method = q::root_method::higher_order;
  else if (name.find("pinv") != name.npos)
    o.method = q::root_method::pseudo_inverse;
  else if (name.find("eigh") == name.npos)
    unknown(name);
  const auto result = q::inverse_root<double>(a, 1 / root, o);
  REQUIRE(result.ok);
  return result.root;
}

/// Factor times peak for step i, as the case's own program defines it.
double rate(keys h, const std::string& name, std::int64_t i) {
  q::schedule s{.convention = q::step_convention::zero_start};
  double peak = 1, start = 0, end = 0;
  if (name == "torch_cosine_annealing") {
    h.into("lr", peak).into("T_max", s.steps).into("eta_min", end);
    s.kind = q::schedule_kind::cosine;
  } else if (name == "torch_linear_lr") {
    h.into("lr", peak).into("start_factor", start).into("end_factor", end).into("total_iters", s.warmup);
    start *= peak, end = 0, s.steps = s.warmup + 1;
  } else if (name.starts_with("torch_onecycle")) {
    double rising = 0.3, div = 25, final_div = 1e4;
    std::int64_t steps = 1;
    h.into("max_lr", peak)
        .into("total_steps", steps)
        .into("pct_start", rising)
        .into("div_factor", div)
        .into("final_div_factor", final_div)
        .done();
    return peak * q::one_cycle(i, steps, rising, div, final_div);
  } else if (name.starts_with("kozistr_wsd")) {
    std::int64_t stable = 0;
    double cycles = 0.5;
    h.into("num_warmup_steps", s.warmup)
        .into("num_stable_steps", stable)
        .into("num_decay_steps", s.cooldown)
        .into("min_lr_ratio", end);
    h.into("num_cycles", cycles);
    if (cycles != 0.5) unknown("num_cycles");
    s.kind = q::schedule_kind::wsd, s.steps = s.warmup + stable + s.cooldown;
    const std::map<std::string, q::cooldown_shape> shapes{{"linear", q::cooldown_shape::linear},
                                                          {"cosine", q::cooldown_shape::cosine},
                                                          {"1-sqrt", q::cooldown_shape::one_sqrt},
                                                          {"1-square", q::cooldown_shape::one_square}};
    s.shape = shapes.at(h.text("cooldown_type"));
    s.jump_to_end = s.shape != q::cooldown_shape::cosine;
  } else {  // plainLM
    std::int64_t cooldown_start = -1;
    h.into("lr_max", peak)
        .into("lr_start", start)
        .into("lr_end", end)
        .into("warmup_steps", s.warmup)
        .into("T", s.steps);
    h.into("cooldown_start_step", cooldown_start).into("cooldown_steps", s.cooldown);
    s.kind = cooldown_start >= 0 ? q::schedule_kind::wsd : q::schedule_kind::cosine;
    if (name.find("constant") != name.npos)
      s.kind = q::schedule_kind::constant, s.steps = std::max(s.steps, s.warmup);
    if (cooldown_start >= 0) s.steps = cooldown_start + s.cooldown;
    if (name == "linear_cooldown_after_first_step") ++i;
  }
  h.done();
  s.start = start / peak, s.end = end / peak;
  return peak * s.at(i);
}

}  // namespace

TEST_CASE("golden functions", "[goldens-optim]") {
  const json all = read(folder() / "functions.f64.json");
  for (const auto& c : all.at("cases")) {
    const std::string name = c.at("name");
    INFO(name);
    const matrix<double> in = input_of(c.at("input"));
    matrix<double> got;
    CHECK_NOTHROW(got = name.starts_with("inv_root") ? root_of_case(keys(c["hyperparameters"]), in, name)
                                                     : polar_of(keys(c["hyperparameters"]), in, name));
    REQUIRE(std::size_t(got.size()) == c["output"].size());
    double worst = 0;
    for (q::index i = 0; i < got.size(); ++i)
      worst = std::max(worst, std::abs(got.data()[i] - c["output"][std::size_t(i)].get<double>()));
    CHECK(worst < 1e-9);
  }
}

TEST_CASE("golden schedules", "[goldens-optim]") {
  const json all = read(folder() / "schedules.json");
  for (const auto& c : all.at("cases")) {
    const std::string name = c.at("name");
    const auto& lr = c.at("lr");
    INFO(name);
    for (std::size_t i = 0; i < lr.size(); ++i) {
      INFO("step " << i);
      double got = 0;
      REQUIRE_NOTHROW(got = rate(keys(c["hyperparameters"]), name, std::int64_t(i)));
      const double want = lr[i].get<double>();
      if (std::abs(got - want) > 1e-12) CHECK(got == want);
    }
  }
}
