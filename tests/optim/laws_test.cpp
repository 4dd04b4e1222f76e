// Laws that every optimizer of the list obeys.
#include "catch.hpp"
#include "instances/optimizers.hpp"

#include <quench/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace q = quench;
using list = q::param_list;

namespace {

q::matrix<float> noise(q::index m, q::index n, std::uint64_t seed, double size = 1) {
  const q::random_stream r(seed, 7);
  q::matrix<float> out(m, n);
  for (q::index i = 0; i < out.size(); ++i) out.data()[i] = float(size * r.normal(std::uint64_t(i)));
  return out;
}
/// One parameter of each kind, and the awkward shapes.
list network() {
  list p{{"hidden", noise(6, 4, 1), {}, q::role::hidden},
         {"wide", noise(3, 9, 2), {}, q::role::hidden},
         {"square", noise(5, 5, 3), {}, q::role::hidden},
         {"table", noise(11, 4, 4), {}, q::role::embedding},
         {"head", noise(7, 4, 5), {}, q::role::head},
         {"gain", noise(1, 6, 6), {}, q::role::vector},
         {"row", noise(1, 5, 7), {}, q::role::hidden},
         {"column", noise(5, 1, 8), {}, q::role::hidden},
         {"one", noise(1, 1, 9), {}, q::role::hidden},
         {"none", q::matrix<float>(0, 0), {}, q::role::hidden},
         {"hollow", q::matrix<float>(0, 3), {}, q::role::hidden}};
  return p;
}
void gradients(list& p, int step, double size = 1) {
  for (auto& x : p)
    x.grad = noise(x.value.rows(), x.value.cols(), q::name_key(x.name) + std::uint64_t(step), size);
}
bool same(const list& a, const list& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].value.size() > 0 && std::memcmp(a[i].value.data(), b[i].value.data(),
                                             sizeof(float) * std::size_t(a[i].value.size())) != 0)
      return false;
  return true;
}
bool finite(const list& p) {
  for (const auto& x : p)
    if (!x.value.allFinite()) return false;
  return true;
}
/// Preconditioners that are recomputed within a few steps, so that the laws meet them.
q::any_optimizer<float> quick(const std::string& name, const std::string& more = {}) {
  std::string extra = name == "shampoo" || name == "soap" ? "frequency=2"
                      : name == "shampoo_google"          ? "root_steps=2"
                                                          : "";
  if (name == "shampoo") extra += ",start=2";
  return q::make_optimizer<float>(name, extra + "," + more);
}

}  // namespace

TEST_CASE("optimizers: resume at any step, any executor and any order give the same bits", "[optim]") {
  q::thread_pool pool(3);
  for (const auto& name : q::optimizer_names()) {
    INFO(name);
    auto straight = quick(name);
    list p = network();
    std::vector<list> along;
    std::vector<q::state_archive> saved;
    for (int t = 0; t < 6; ++t) {
      gradients(p, t);
      const list before = p;
      straight.step(p, 1 - 0.1 * t);
      for (std::size_t i = 0; i < p.size(); ++i) CHECK(before[i].grad == p[i].grad);  // never written
      along.push_back(p);
      saved.push_back(straight.save());
    }
    CHECK(finite(p));
    for (std::size_t k = 0; k + 1 < along.size(); ++k) {
      list r = along[k];
      auto fresh = q::make_optimizer<float>(name, straight.settings());
      fresh.restore(saved[k], r);
      for (int t = int(k) + 1; t < 6; ++t) gradients(r, t), fresh.step(r, 1 - 0.1 * t, pool.run());
      CHECK(same(r, p));
    }
    list turned = network();
    std::reverse(turned.begin(), turned.end());
    auto other = quick(name);
    for (int t = 0; t < 6; ++t) gradients(turned, t), other.step(turned, 1 - 0.1 * t, q::threads(2));
    std::reverse(turned.begin(), turned.end());
    CHECK(same(turned, p));
    // The text of the settings makes the same optimizer again.
    CHECK(q::make_optimizer<float>(name, straight.settings()).settings() == straight.settings());
  }
}

TEST_CASE("optimizers: a zero gradient leaves only the weight decay", "[optim]") {
  for (const auto& name : q::optimizer_names()) {
    INFO(name);
    auto o = quick(name, "weight_decay=0");
    list p = network();
    for (auto& x : p) x.grad = q::matrix<float>::Zero(x.value.rows(), x.value.cols());
    const list start = p;
    for (int t = 0; t < 5; ++t) o.step(p);
    for (std::size_t i = 0; i < p.size(); ++i)
      if (o.group_of(p[i]) == "main") CHECK(p[i].value.isApprox(start[i].value, 1e-6f));
    CHECK(finite(p));
  }
}

TEST_CASE("optimizers: huge, tiny and rank-deficient gradients stay finite", "[optim]") {
  for (const auto& name : q::optimizer_names()) {
    INFO(name);
    for (double size : {1e-30, 1e-15, 1e15}) {
      if (size > 1 && (name == "sgd" || name == "shampoo_google"))
        continue;  // their step is as long as the gradient
      auto o = quick(name);
      list p = network();
      for (int t = 0; t < 5; ++t) gradients(p, t, size), o.step(p);
      INFO("size " << size);
      CHECK(finite(p));
    }
    auto o = quick(name);
    list p = network();
    for (int t = 0; t < 5; ++t) {
      for (auto& x : p) x.grad = q::matrix<float>::Constant(x.value.rows(), x.value.cols(), 0.5f);
      o.step(p);
    }
    CHECK(finite(p));
  }
}

TEST_CASE("optimizers: a non-finite gradient is named and leaves everything untouched", "[optim]") {
  for (const auto& name : q::optimizer_names())
    for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      INFO(name);
      auto o = quick(name, "skip_nonfinite=true"), twin = quick(name, "skip_nonfinite=true");
      list p = network();
      gradients(p, 0);
      list r = p;
      o.step(p), twin.step(r);
      gradients(p, 1);
      p[3].grad(2, 1) = bad;
      const auto report = o.step(p);
      CHECK_FALSE(report.taken);
      CHECK(report.nonfinite == "table");
      CHECK(same(p, r));
      for (int t = 2; t < 5; ++t) gradients(p, t), o.step(p), gradients(r, t), twin.step(r);
      CHECK(same(p, r));
      auto carry = quick(name);  // without skipping it goes through and shows, but ends
      list s = network();
      gradients(s, 0);
      s[0].grad(0, 0) = bad;
      for (int t = 0; t < 3; ++t) CHECK(carry.step(s).taken);
    }
}

TEST_CASE("optimizers: the transposed problem has the transposed update", "[optim]") {
  for (const std::string name : {"muon", "shampoo", "soap", "psgd_white", "scion"}) {
    INFO(name);
    const std::string more = name == "muon"    ? "gain=match_rms"
                             : name == "scion" ? "max_gain=true,normalized=0,norm=spectral"
                                               : "";
    auto a = quick(name, more), b = quick(name, more);
    list p{{"w", noise(6, 6, 1), {}, q::role::hidden}}, r = p;
    r[0].value.transposeInPlace();
    for (int t = 0; t < 4; ++t) {
      gradients(p, t);
      r[0].grad = p[0].grad.transpose();
      a.step(p), b.step(r);
    }
    const float tolerance = name == "psgd_white" ? 2e-2f : 1e-4f;  // its probes are drawn in memory order
    CHECK((p[0].value - r[0].value.transpose()).norm() < tolerance * p[0].value.norm());
  }
}

TEST_CASE("optimizers: rules that normalise do not see the gradient's scale", "[optim]") {
  for (const std::string name : {"lion", "signum", "muon", "normuon", "scion"}) {
    INFO(name);
    auto a = quick(name), b = quick(name);
    list p{{"w", noise(6, 4, 1), {}, q::role::hidden}}, r = p;
    for (int t = 0; t < 4; ++t) {
      gradients(p, t), gradients(r, t);
      r[0].grad *= 1024.f;
      a.step(p), b.step(r);
    }
    CHECK(p[0].value.isApprox(r[0].value, 1e-5f));
  }
}

TEST_CASE("optimizers: misuse is refused with names", "[optim]") {
  auto o = q::make_optimizer<float>("soap");
  list p = network();
  gradients(p, 0);
  p[1].grad.resize(2, 2);
  CHECK_THROWS_WITH(o.step(p), Catch::Contains("'wide' must be 3 x 9") && Catch::Contains("is 2 x 2"));
  gradients(p, 0);
  o.step(p);
  p.pop_back();
  CHECK_THROWS_WITH(o.step(p), Catch::Contains("must keep its 11 parameters, has 10"));
  p = network();
  auto saved = o.save();
  auto other = q::make_optimizer<float>("soap", "lr=1");
  CHECK_THROWS_WITH(other.restore(saved, p), Catch::Contains("saved with settings"));
  saved.entries[0].name = "hidden/x";
  auto same_settings = q::make_optimizer<float>("soap");
  CHECK_THROWS_WITH(same_settings.restore(saved, p), Catch::Contains("hidden/x"));
  CHECK(same_settings.steps() == 0);
  CHECK_THROWS_WITH(q::make_optimizer<float>("muo"), Catch::Contains("sgd, adamw"));
  CHECK_THROWS_WITH(q::make_optimizer<float>("muon", "momentun=1"),
                    Catch::Contains("has no setting 'momentun'; it has lr"));
  CHECK_THROWS_WITH(q::make_optimizer<float>("muon", "vec.lr=1"), Catch::Contains("no group 'vec'"));
  CHECK_THROWS_WITH(q::make_optimizer<float>("adamw", "decay=none"),
                    Catch::Contains("scheduled, independent"));
}
