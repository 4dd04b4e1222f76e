// Quantizer slots against the reference: 4-bit weights, inputs, output matrix and lookup; gradients passed
// through; and the chain of modules with and without quantization.
#include <quench/quant/fake_quant.hpp>

#include "goldens.hpp"
#include "instances/models.hpp"

namespace {
namespace q = quench;
using goldens::distance;

template <class T>
void quantize(q::nn::transformer<T>& net, bool weights, bool inputs, bool head, bool lookup) {
  const auto rtn = q::nn::pass_through<T>([](q::matrix<T>& x) { x = q::fake_quant<q::int4>(x); });
  for (auto& site : net.linears()) {
    const bool here = head || !site.head;
    site.weight = weights && here ? rtn : q::nn::slot<T>{};
    site.input = inputs && here ? rtn : q::nn::slot<T>{};
  }
  net.lookup() = weights && lookup ? rtn : q::nn::slot<T>{};
}

template <class T>
void check_quantized() {
  const goldens::model m("olmo2_h3");
  const auto file = m.part("_quant");
  const double tolerance = sizeof(T) == 8 ? 1e-12 : 2e-5;
  auto net = m.make<T>();
  const auto tokens = m.file.values<std::int32_t>("tokens");
  const auto batch = m.batch(tokens);
  for (const auto& p : net.params())
    if (file.contains("w4/codes/" + p.name)) {
      INFO(p.name);
      const auto codes = file.read<double>("w4/codes/" + p.name);
      const auto scale = file.values<double>("w4/scale/" + p.name);
      const q::matrix<T> got = q::fake_quant<q::int4>(p.value);
      for (q::index r = 0; r < codes.rows(); ++r)
        for (q::index c = 0; c < codes.cols(); ++c) {
          const double s = scale[static_cast<std::size_t>(r)];
          REQUIRE(std::abs(double(got(r, c)) - codes(r, c) * s) <= s * (sizeof(T) == 8 ? 1e-14 : 1e-6) * 7);
        }
    }
  for (const std::string what : {"w4", "w4a4", "a4"})
    for (const std::string where : {"blocks", "blocks_head", "blocks_head_lookup"}) {
      INFO(what << "/" << where << (sizeof(T) == 8 ? " double" : " float"));
      quantize(net, what != "a4", what != "w4", where != "blocks", where == "blocks_head_lookup");
      CHECK(std::abs(net.loss(batch) - file.values<double>("loss/" + what + "/" + where)[0]) <= tolerance);
      const std::string name = "logits/" + what + "/" + where;
      if (!file.contains(name)) continue;
      const auto want = file.read<double>(name);
      for (q::index s = 0; s < batch.sequences; ++s) {
        const auto z = net.logits(batch.sequence(s), m.config.ctx);
        CHECK(distance(z, Eigen::Map<const q::matrix<double>>(want.data() + s * z.size(), z.rows(),
                                                              z.cols())) <= tolerance);
      }
    }
  quantize(net, true, true, false, false);
  net.loss_and_grad(batch);
  for (const auto& p : net.params())
    for (const std::string kind : {"ste_grad/", "ste_grad_first8rows/"})
      if (file.contains(kind + p.name)) {
        INFO(kind << p.name);
        const auto want = file.read<double>(kind + p.name);
        CHECK(distance(q::matrix<T>(p.grad.topRows(want.rows())), want) <= (sizeof(T) == 8 ? 1e-12 : 2e-6));
      }
}
}  // namespace

TEST_CASE("reference model with 4-bit slots: losses, logits, gradients", "[goldens-nn]") {
  check_quantized<double>();
  check_quantized<float>();
}

TEST_CASE("reference model as a chain of modules, plain and quantized", "[goldens-nn]") {
  const goldens::model m("olmo2_h3");
  const auto file = m.part("_quant");
  auto net = m.make<double>();
  const auto tokens = m.file.values<std::int32_t>("tokens");
  for (const bool quantized : {false, true}) {
    quantize(net, quantized, quantized, false, false);
    q::matrix<double> x(2 * m.config.ctx, m.config.d);
    for (q::index s = 0; s < 2; ++s)
      x.middleRows(s * m.config.ctx, m.config.ctx) = net.embed(m.batch(tokens).sequence(s), m.config.ctx);
    if (!quantized) CHECK(distance(x, file.read<double>("abc/w4a4/h/0")) == 0);
    for (q::index level = 0; level < net.module_count(); ++level) {
      INFO(net.module_name(level));
      x = net.apply_module(level, x, m.config.ctx);
      const std::string name =
          std::string("abc/w4a4/") + (quantized ? "hq/" : "h/") + std::to_string(level + 1);
      if (file.contains(name)) CHECK(distance(x, file.read<double>(name)) <= 1e-12);
    }
  }
}
