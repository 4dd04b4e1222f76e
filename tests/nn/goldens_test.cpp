// Logits, losses, every gradient, activations and their gradients, and Hessian-vector products of the
// reference models.
#include "goldens.hpp"
#include "instances/models.hpp"

namespace {
namespace q = quench;
using goldens::distance;

template <class T>
void check_static(const std::string& name) {
  const goldens::model m(name);
  INFO(name << (sizeof(T) == 8 ? " double" : " float"));
  auto net = m.make<T>();
  CHECK(m.config.parameter_count() == m.index["parameter_count"].get<q::index>());

  std::map<std::string, q::matrix<double>> seen;
  net.observe_modules([&](std::string_view module, bool gradient, q::matrix_view<const T> x) {
    auto& at = seen[(gradient ? "dact/" : "act/") + std::string(module)];
    if (at.size() > 0) return;
    at.resize(x.rows, x.cols);
    for (q::index r = 0; r < x.rows; ++r)
      for (q::index c = 0; c < x.cols; ++c) at(r, c) = double(x(r, c));
  });
  const auto tokens = m.file.values<std::int32_t>("tokens");
  const q::nn::batch_view batch = m.batch(tokens);
  const double loss = net.loss_and_grad(batch);
  const bool hessian = !m.index["suggested_tolerance"].contains("float64");
  CHECK(std::abs(loss - m.file.values<double>("loss")[0]) <=
        (hessian ? (sizeof(T) == 8 ? 1e-12 : 5e-6) : m.tolerance<T>("loss")));
  for (const auto& p : net.params())
    if (m.file.contains("grad/" + p.name)) {
      INFO(p.name);
      CHECK(distance(p.grad, m.file.read<double>("grad/" + p.name)) <=
            (hessian ? (sizeof(T) == 8 ? 1e-12 : 1e-5) : m.tolerance<T>("grad")));
    }
  std::size_t compared = 0;
  for (const auto& t : m.file.tensors())
    if ((t.name.starts_with("act/") || t.name.starts_with("dact/")) &&
        !(t.name.starts_with("dact/") && t.name.ends_with("attn.probs"))) {
      INFO(t.name);
      REQUIRE(seen.count(t.name) == 1);
      const q::matrix<double> want = m.file.read<double>(t.name);
      REQUIRE(seen[t.name].size() >= want.size());
      const Eigen::Map<const q::matrix<double>> got(seen[t.name].data(), want.rows(),
                                                    want.cols());  // sequence 0 comes first
      CHECK(distance(got, want) <= m.tolerance<T>(t.name.starts_with("act/") ? "act" : "dact"));
      ++compared;
    }
  if (name == "olmo2_h3" || name == "llama_tied" || name == "gptneox") CHECK(compared >= 12);

  net.observe_modules({});
  const q::matrix<double> want = m.file.read<double>("logits");
  for (q::index s = 0; s < batch.sequences; ++s) {
    const q::matrix<T> z = net.logits(batch.sequence(s), m.config.ctx);
    const Eigen::Map<const q::matrix<double>> rows(want.data() + s * z.size(), z.rows(), z.cols());
    CHECK(distance(z, rows) <= (hessian ? (sizeof(T) == 8 ? 1e-12 : 2e-5) : m.tolerance<T>("logits")));
  }
  CHECK(net.loss(batch) == loss);
}
}  // namespace

TEST_CASE("reference models: logits, loss, gradients, activations", "[goldens-nn]") {
  const auto names = goldens::models();
  REQUIRE(names.size() >= 8);
  for (const auto& name : names) {
    check_static<double>(name);
    check_static<float>(name);
  }
}

TEST_CASE("reference models: Hessian times vector by central differences of gradients", "[goldens-nn]") {
  for (const std::string name : {"olmo2_tiny_d6", "olmo2_tiny_d12"}) {
    INFO(name);
    const goldens::model m(name);
    auto net = m.make<double>();
    const auto tokens = m.file.values<std::int32_t>("tokens");
    const auto v = m.file.values<double>("v"), hv = m.file.values<double>("Hv");
    const double h = 1e-6;
    const auto shift = [&](double by) {
      std::size_t at = 0;
      for (auto& p : net.params())
        for (q::index i = 0; i < p.value.size(); ++i) p.value.data()[i] += by * v[at++];
      REQUIRE(at == v.size());
    };
    const auto gradient = [&] {
      net.loss_and_grad(m.batch(tokens));
      std::vector<double> g;
      for (const auto& p : net.params()) g.insert(g.end(), p.grad.data(), p.grad.data() + p.grad.size());
      return g;
    };
    shift(h);
    const auto above = gradient();
    shift(-2 * h);
    const auto below = gradient();
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < hv.size(); ++i) {
      error += std::pow((above[i] - below[i]) / (2 * h) - hv[i], 2);
      norm += hv[i] * hv[i];
    }
    CHECK(std::sqrt(error / norm) < 1e-6);
  }
}
