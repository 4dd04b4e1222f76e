// Twenty steps of AdamW from the reference parameters: losses, gradient norms, and where the parameters end.
#include "goldens.hpp"
#include "instances/models.hpp"

namespace {
namespace q = quench;

/// The update of the index's `training` entry, in T.
template <class T>
struct adamw {
  std::vector<q::matrix<T>> m, v;
  explicit adamw(const q::basic_param_list<T>& params) {
    for (const auto& p : params) m.push_back(q::matrix<T>::Zero(p.value.rows(), p.value.cols()));
    v = m;
  }
  void step(q::basic_param_list<T>& params, int t, double lr, double clip) {
    for (std::size_t i = 0; i < params.size(); ++i) {
      auto& p = params[i];
      const q::matrix<T> g = p.grad * T(clip);
      if (p.kind != q::role::vector) p.value *= T(1 - lr * 0.1);
      m[i] = T(0.9) * m[i] + T(0.1) * g;
      v[i] = T(0.95) * v[i] + T(0.05) * g.cwiseProduct(g);
      const T c1 = T(1 - std::pow(0.9, t)), c2 = T(1 - std::pow(0.95, t));
      p.value.array() -= T(lr) * (m[i].array() / c1) / ((v[i].array() / c2).sqrt() + T(1e-8));
    }
  }
};

/// Rows of a fused q/k/v bias whose gradient is exactly zero: k in features that do not turn.
bool undetermined(const q::nn::model_config& c, const std::string& name, q::index j) {
  if (c.arch != q::nn::architecture::gptneox || !name.ends_with("attn.qkv.bias")) return false;
  const q::index in_head = j % (3 * c.head_dim());
  return in_head >= c.head_dim() + c.rotary_dim() && in_head < 2 * c.head_dim();
}

template <class T>
void check_run(const goldens::model& m, const q::io::safetensors_file& file, const std::string& run) {
  constexpr bool exact = sizeof(T) == 8;
  INFO(m.name << " " << run << (exact ? " double" : " float"));
  auto net = m.make<T>();
  adamw<T> rule(net.params());
  const auto tokens = file.values<std::int32_t>("tokens");
  const auto losses = file.values<double>(run + "/loss_curve"), lr = file.values<double>(run + "/lr");
  const auto norms = file.values<double>(run + "/grad_norm");
  const auto& max_norm = m.index["training"]["runs"][run]["max_norm"];
  for (int t = 1; t <= 20; ++t) {
    INFO("step " << t);
    const auto at = static_cast<std::size_t>(t - 1);
    const double loss = net.loss_and_grad(m.batch(tokens, t - 1));
    CHECK(std::abs(loss - losses[at]) <= m.tolerance<T>("loss_curve"));
    double squares = 0;
    for (const auto& p : net.params()) squares += p.grad.template cast<double>().squaredNorm();
    const double norm = std::sqrt(squares);
    CHECK(norm == Approx(norms[at]).epsilon(exact ? 1e-9 : 1e-3));
    rule.step(net.params(), t, lr[at],
              max_norm.is_null() ? 1.0 : std::min(1.0, max_norm.get<double>() / (norm + 1e-6)));
  }
  const auto summary = file.read<double>(run + "/after_summary");
  for (std::size_t i = 0; i < net.params().size(); ++i) {
    const auto& p = net.params()[i];
    INFO(p.name);
    const q::matrix<double> value = p.value.template cast<double>();
    const auto row = static_cast<q::index>(i);
    if (exact) {
      CHECK(std::abs(value.sum() - summary(row, 0)) <= 1e-9);
      CHECK(std::abs(value.norm() - summary(row, 1)) <= 1e-9);
    } else {
      CHECK(value.norm() == Approx(summary(row, 1)).epsilon(p.name.ends_with("qkv.bias") ? 5e-3 : 5e-4));
    }
    const auto compare = [&](const std::string& kind, const q::matrix<T>& got) {
      if (!file.contains(run + "/" + kind + "/" + p.name)) return;
      const auto want = file.read<double>(run + "/" + kind + "/" + p.name);
      double worst = 0, squares = 0, size = 0;
      for (q::index j = 0; j < want.size(); ++j) {
        if (undetermined(m.config, p.name, j)) continue;
        const double d = std::abs(double(got.data()[j]) - want.data()[j]);
        worst = std::max(worst, d == d ? d : 1e300);
        squares += d * d;
        size += want.data()[j] * want.data()[j];
      }
      INFO(kind);
      CHECK(worst <= (exact ? 1e-9 : 5e-3));
      CHECK(std::sqrt(squares) <= (exact ? 1e-9 : 5e-4) * std::max(1e-3, std::sqrt(size)));
    };
    compare("after", p.value);
    if (exact) {
      compare("m", rule.m[i]);
      compare("v", rule.v[i]);
    }
  }
}
}  // namespace

TEST_CASE("reference models: twenty steps of training", "[goldens-nn]") {
  int runs = 0;
  for (const auto& name : goldens::models()) {
    const goldens::model m(name);
    if (!m.has("_train")) continue;
    const auto file = m.part("_train");
    for (const std::string run : {"runA", "runB", "runC"})
      if (file.contains(run + "/loss_curve")) {
        check_run<double>(m, file, run);
        check_run<float>(m, file, run);
        ++runs;
      }
  }
  CHECK(runs >= 14);
}
