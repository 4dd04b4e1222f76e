// The Kronecker quadratic: every matrix method must end at least ten times below AdamW.
#include "catch.hpp"
#include "instances/optimizers.hpp"

#include <quench/core/random.hpp>
#include <quench/linalg/basis.hpp>
#include <quench/optim/schedule.hpp>

#include <cmath>

namespace q = quench;

namespace {

/// An orthonormal n x n matrix times logarithmically spaced eigenvalues from 1 to kappa.
q::matrix<double> spd(q::index n, double kappa, std::uint64_t seed) {
  const q::random_stream r(seed, 0);
  q::matrix<double> m(n, n);
  for (q::index i = 0; i < m.size(); ++i) m.data()[i] = r.normal(std::uint64_t(i));
  const q::matrix<double> u = q::orthonormal_factor(m);
  Eigen::VectorXd lambda(n);
  for (q::index i = 0; i < n; ++i) lambda(i) = std::pow(kappa, double(i) / double(n - 1));
  return u * lambda.asDiagonal() * u.transpose();
}

/// Final over first value of |X E Y|^2 / 2, E = W - target, 24 x 16, with X and Y of condition 30 (so X^T X
/// and Y Y^T of 900), 300 steps, linear decay to 0.
double end_of(const std::string& name, const std::string& settings, double lr) {
  static const q::matrix<double> a = spd(24, 900, 1), b = spd(16, 900, 2);
  const q::random_stream r(3, 0);
  q::matrix<double> target(24, 16);
  for (q::index i = 0; i < target.size(); ++i) target.data()[i] = r.normal(std::uint64_t(i));
  q::basic_param_list<double> p{{"w", q::matrix<double>::Zero(24, 16), {}, q::role::hidden}};
  auto o = q::make_optimizer<double>(
      name, settings + (settings.empty() ? "" : ",") + "weight_decay=0,lr=" + q::setting_text(lr));
  const q::schedule s{.kind = q::schedule_kind::linear, .steps = 300};
  const auto loss = [&] {
    const q::matrix<double> e = p[0].value - target;
    return 0.5 * (e.transpose() * a * e * b).trace();
  };
  const double first = loss();
  for (int t = 0; t < 300; ++t) {
    p[0].grad = a * (p[0].value - target) * b;
    o.step(p, s.at(t));
  }
  const double last = loss() / first;
  return std::isfinite(last) ? last : 1;
}

/// The best of a 1-2-5 grid of learning rates, on the final value itself.
double best_of(const std::string& name, const std::string& settings = {}) {
  double best = 1;
  for (double decade : {0.01, 0.1, 1.0})
    for (double digit : {1.0, 2.0, 5.0}) best = std::min(best, end_of(name, settings, decade * digit));
  return best;
}

}  // namespace

TEST_CASE("the Kronecker quadratic: matrix methods end ten times below AdamW", "[optim]") {
  const double adamw = best_of("adamw");
  INFO("adamw " << adamw);
  CHECK(adamw < 1e-2);
  for (const auto& [name, settings] :
       std::vector<std::pair<std::string, std::string>>{{"muon", "momentum=0.9"},
                                                        {"normuon", "momentum=0.9"},
                                                        {"scion", ""},
                                                        {"shampoo", "beta1=0.9,frequency=1"},
                                                        {"shampoo_google", ""},
                                                        {"soap", "beta1=0.9"},
                                                        {"psgd", ""},
                                                        {"psgd_white", ""}}) {
    const double end = best_of(name, settings);
    INFO(name << " " << end);
    if (std::getenv("QUENCH_SHOW")) WARN(name << ": " << end << "  (adamw " << adamw << ")");
    CHECK(end * 10 < adamw);
  }
}
