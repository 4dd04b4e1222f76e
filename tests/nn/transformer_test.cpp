// Laws of the model as a whole: threads, identities of its architecture, slots, observers, memory, misuse,
// text.
#include <quench/nn/generate.hpp>

#include "allocations.hpp"
#include "catch.hpp"
#include "instances/models.hpp"

namespace {
namespace q = quench;
using Catch::Matchers::Contains;

std::vector<std::int32_t> some_tokens(const q::nn::model_config& c, q::index n) {
  const q::random_stream draw(3, 1);
  std::vector<std::int32_t> t(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < t.size(); ++i)
    t[i] = static_cast<std::int32_t>(draw.below(i, static_cast<std::uint64_t>(c.vocab)));
  return t;
}
std::vector<q::nn::model_config> architectures() {
  return {q::nn::olmo2(3, 2, 8, 19, 12), q::nn::llama(32, 4, 2, 21, 2, 19, 12, false),
          q::nn::gptneox(32, 2, 2, 19, 12)};
}
template <class T>
bool same_grads(const q::basic_param_list<T>& a, const q::basic_param_list<T>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].grad != b[i].grad) return false;
  return true;
}
}  // namespace

TEST_CASE("a step gives the same bits on any number of threads", "[nn]") {
  for (const auto& c : architectures()) {
    const auto tokens = some_tokens(c, 7 * 11);
    q::nn::transformer<float> one(c);
    one.init(1);
    const double loss = one.loss_and_grad({tokens.data(), 7, 11});
    for (const unsigned threads : {2u, 3u, 5u}) {
      q::thread_pool pool(threads);
      q::nn::transformer<float> many(c);
      many.init(1);
      CHECK(many.loss_and_grad({tokens.data(), 7, 11}, pool.run()) == loss);
      CHECK(same_grads(one.params(), many.params()));
      CHECK(many.loss({tokens.data(), 7, 11}, pool.run()) == loss);
    }
    const q::executor backwards = [](q::index n, q::body_ref body) {
      for (q::index i = n; i-- > 0;) body(i);
    };
    q::nn::transformer<float> reversed(c);
    reversed.init(1);
    CHECK(reversed.loss_and_grad({tokens.data(), 7, 11}, backwards) == loss);
    CHECK(same_grads(one.params(), reversed.params()));
  }
}

TEST_CASE("the loss is that of the logits, and a batch is the mean of its sequences", "[nn]") {
  for (const auto& c : architectures()) {
    const auto tokens = some_tokens(c, 3 * 10);
    q::nn::transformer<double> net(c, {.shards = 1, .rows = 20});
    net.init(2);
    double sum = 0;
    for (q::index s = 0; s < 3; ++s) {
      const q::matrix<double> z = net.logits(tokens.data() + s * 10, 9);
      for (q::index t = 0; t < 9; ++t)
        sum +=
            std::log(z.row(t).array().exp().sum()) - z(t, tokens[static_cast<std::size_t>(s * 10 + t + 1)]);
    }
    CHECK(net.loss({tokens.data(), 3, 10}) == Approx(sum / 27).epsilon(1e-13));
  }
}

TEST_CASE("logits do not see later tokens", "[nn]") {
  for (const auto& c : architectures()) {
    auto tokens = some_tokens(c, 12);
    q::nn::transformer<float> net(c);
    net.init(2);
    const q::matrix<float> full = net.logits(tokens.data(), 12);
    tokens[7] = (tokens[7] + 1) % 19;
    const q::matrix<float> changed = net.logits(tokens.data(), 12);
    CHECK(full.topRows(7) == changed.topRows(7));
    CHECK(full.row(7) != changed.row(7));
  }
}

TEST_CASE("olmo2: matrices of a block are scale-invariant, so <grad, W> = 0, per head for wq and wk",
          "[nn]") {
  const auto c = q::nn::olmo2(3, 2, 8, 19, 12);
  const auto tokens = some_tokens(c, 4 * 13);
  q::nn::transformer<double> net(c);
  net.init(4);
  const double loss = net.loss_and_grad({tokens.data(), 4, 13});
  int found = 0;
  for (const auto& p : net.params()) {
    if (p.kind != q::role::hidden) continue;
    INFO(p.name);
    const double size = p.grad.norm() * p.value.norm();
    // wv and wo: up to norm_eps over the mean square of the attention output
    CHECK(std::abs(p.grad.cwiseProduct(p.value).sum()) <=
          size * (p.name.ends_with("wv") || p.name.ends_with("wo") ? 1e-8 : 1e-12));
    if (p.name.ends_with("wq") || p.name.ends_with("wk"))
      for (q::index h = 0; h < p.value.rows(); h += 8, ++found)
        CHECK(std::abs(p.grad.middleRows(h, 8).cwiseProduct(p.value.middleRows(h, 8)).sum()) <= 1e-12 * size);
  }
  CHECK(found == 8);
  for (auto& p : net.params())
    if (p.name.ends_with("w1") || p.name.ends_with("wq")) p.value *= 3;
  CHECK(net.loss({tokens.data(), 4, 13}) == Approx(loss).epsilon(1e-12));
}

TEST_CASE("parameter counts, presets and operation counts by hand", "[nn]") {
  for (const auto& c : architectures()) {
    q::nn::transformer<float> net(c);
    q::index n = 0;
    for (const auto& p : net.params()) n += p.value.size();
    CHECK(n == c.parameter_count());
  }
  CHECK(q::nn::olmo2(6, 4, 128, 32000, 1024).parameter_count() ==
        49748760);  // 24576000 + 4 (6291456 + 1542) + 768: the 50M of the paper
  const auto c = q::nn::olmo2(6, 4);
  CHECK((c.d == 96 && c.hidden == 384 && c.groups == 2 && c.ctx == 128));
  // matrices: 4 (2 96 128 + 2 96 384) + 256 96 = 417792; attention: 4 blocks, 6 96 129
  CHECK(c.training_flops_per_token(128) == 6.0 * 417792 + 4.0 * 6 * 96 * 129);
}

TEST_CASE("start values are a function of seed and name alone", "[nn]") {
  q::nn::transformer<float> small(q::nn::olmo2(3, 1, 8, 19, 12)), large(q::nn::olmo2(3, 3, 8, 19, 12));
  small.init(9), large.init(9);
  for (std::size_t i = 0; i + 1 < small.params().size(); ++i)
    CHECK(small.params()[i].value == large.params()[i].value);
  const auto& wq = large.params()[1].value;
  const double rms = std::sqrt(double(wq.squaredNorm()) / double(wq.size()));
  CHECK(rms == Approx(0.02).epsilon(0.1));
  CHECK(large.params()[5].value(0, 0) == Approx(std::sqrt(8.0)));
  large.init(10);
  CHECK(small.params()[1].value != large.params()[1].value);
}

TEST_CASE("slots: an identity changes no bit; forward and backward of a method meet in the right places",
          "[nn]") {
  struct doubled {
    struct tape {};
    q::matrix<double> forward(const q::matrix<double>& x, tape&) const { return 2 * x; }
    q::matrix<double> backward(const q::matrix<double>& g, const tape&) const { return 2 * g; }
  };
  for (auto c : architectures())
    for (const bool tied : {true, false}) {
      c.tied = tied;
      const auto tokens = some_tokens(c, 3 * 11);
      const q::nn::batch_view batch{tokens.data(), 3, 11};
      q::nn::transformer<double> plain(c), slotted(c);
      plain.init(1), slotted.init(1);
      const double loss = plain.loss_and_grad(batch);
      for (auto& site : slotted.linears())
        site.weight = site.input = q::nn::pass_through<double>([](auto&) {});
      slotted.lookup() = q::nn::pass_through<double>([](auto&) {});
      CHECK(slotted.loss_and_grad(batch) == loss);
      for (std::size_t i = 0; i < plain.params().size(); ++i) {
        INFO(plain.params()[i].name);
        CHECK((plain.params()[i].grad - slotted.params()[i].grad).cwiseAbs().maxCoeff() <= 1e-15);
      }
      // A weight of half the size seen through a slot that doubles it is the same model, with twice the
      // gradient.
      slotted.lookup() = {};
      for (auto& site : slotted.linears()) {
        site.input = {};
        site.weight = {};
        if (site.head) continue;
        site.weight = doubled{};
        slotted.params()[site.parameter].value /= 2;
      }
      CHECK(slotted.loss_and_grad(batch) == Approx(loss).epsilon(1e-14));
      for (const auto& site : slotted.linears()) {
        if (site.head) continue;
        INFO(site.name);
        const auto &g = slotted.params()[site.parameter].grad, &w = plain.params()[site.parameter].grad;
        CHECK((g - 2 * w).norm() <= 1e-12 * (w.norm() + 1e-3));
      }
      // The same on every input: y = W (2 (x / 2)) needs W halved.
      for (auto& site : slotted.linears()) {
        site.weight = {};
        site.input = site.head ? q::nn::slot<double>{} : q::nn::slot<double>{doubled{}};
      }
      CHECK(slotted.loss_and_grad(batch) == Approx(loss).epsilon(1e-14));
      CHECK((slotted.params()[0].grad - plain.params()[0].grad).norm() <=
            1e-12 * plain.params()[0].grad.norm());
    }
}

TEST_CASE("observers see every linear in order, whatever the executor", "[nn]") {
  for (const auto& c : architectures()) {
    const auto tokens = some_tokens(c, 5 * 11);
    q::thread_pool pool(3);
    q::nn::transformer<float> net(c, {.shards = 4, .rows = 10});
    net.init(1);
    std::vector<std::string> names;
    double rows = 0;
    net.observe_inputs([&](std::string_view name, q::matrix_view<const float> x) {
      names.emplace_back(name);
      rows += double(x.rows);
    });
    net.loss({tokens.data(), 5, 11}, pool.run());
    REQUIRE(names.size() == 5 * net.linears().size());
    for (std::size_t i = 0; i < names.size(); ++i)
      CHECK(names[i] == net.linears()[i % net.linears().size()].name);
    CHECK(rows == double(net.linears().size()) * 50);
    net.observe_inputs({});
    net.loss({tokens.data(), 5, 11});
    CHECK(names.size() == 5 * net.linears().size());
  }
}

TEST_CASE("the chain of modules ends in the logits", "[nn]") {
  for (const auto& c : architectures()) {
    const auto tokens = some_tokens(c, 9);
    q::nn::transformer<double> net(c);
    net.init(1);
    q::matrix<double> x = net.embed(tokens.data(), 9);
    for (q::index m = 0; m < net.module_count(); ++m) {
      x = net.apply_module(m, x, 9);
      const auto [first, last] = net.module_linears(m);
      for (auto i = first; i < last; ++i) CHECK((m + 1 == net.module_count()) == net.linears()[i].head);
    }
    CHECK(x == net.logits(tokens.data(), 9));
  }
}

TEST_CASE("a step allocates nothing after the first", "[nn]") {
  for (const auto& c : architectures()) {
    const auto tokens = some_tokens(c, 5 * 13);
    q::nn::transformer<float> net(c, {.shards = 2, .rows = 24});
    net.init(1);
    net.loss_and_grad({tokens.data(), 5, 13});
    net.loss({tokens.data(), 5, 13});
    const long before = allocations::count;
    net.loss_and_grad({tokens.data(), 5, 13});
    net.loss({tokens.data(), 4, 9});
    CHECK(allocations::count == before);
  }
}

TEST_CASE("greedy and sampled text is a function of model, prompt and seed", "[nn]") {
  const auto c = q::nn::llama(32, 4, 2, 21, 2, 19, 8);
  q::nn::transformer<float> net(c);
  net.init(1);
  const auto greedy = q::nn::generate(net, {1, 2}, 20);
  CHECK(greedy.size() == 22);
  CHECK(greedy == q::nn::generate(net, {1, 2}, 20, {.temperature = 0, .seed = 5}));
  const q::matrix<float> z = net.logits(greedy.data(), 2);
  q::index best = 0;
  z.row(1).maxCoeff(&best);
  CHECK(greedy[2] == best);
  const auto warm = q::nn::generate(net, {1, 2}, 20, {.temperature = 1, .seed = 5});
  CHECK(warm == q::nn::generate(net, {1, 2}, 20, {.temperature = 1, .seed = 5}));
  CHECK(warm != q::nn::generate(net, {1, 2}, 20, {.temperature = 1, .seed = 6}));
  CHECK(q::nn::generate(net, {1, 2}, 20, {}, greedy[2]).size() == 3);
  // Frequencies of draws follow softmax(logits / temperature).
  const float logits[] = {0, float(std::log(3.0)), -100};
  int ones = 0;
  for (std::uint64_t i = 0; i < 4000; ++i)
    ones += q::nn::pick_token(logits, 3, {.temperature = 1, .seed = 1}, i) == 1;
  CHECK(std::abs(ones / 4000.0 - 0.75) < 0.03);
}

TEST_CASE("misuse is refused with the argument, the rule and the values", "[nn]") {
  using q::nn::model_config;
  const auto build = [](model_config c) { return q::nn::transformer<float>(c); };
  CHECK_THROWS_WITH(build({.d = 97}), Contains("d must be an even multiple of heads") && Contains("97"));
  CHECK_THROWS_WITH(build({.groups = 4}), Contains("heads must be a multiple of groups"));
  CHECK_THROWS_WITH(build({.vocab = 0}), Contains("vocab must be 1"));
  CHECK_THROWS_WITH(build({.norm_eps = -1}), Contains("norm_eps"));
  CHECK_THROWS_WITH(build({.rope_base = 1}), Contains("rope_base"));
  CHECK_THROWS_WITH(build({.rotary = 4}), Contains("rotary is an option of gptneox"));
  CHECK_THROWS_WITH(build({.arch = q::nn::architecture::gptneox}), Contains("groups equal to heads"));
  CHECK_THROWS_WITH(q::nn::olmo2(4, 2), Contains("multiple of 3, is 4"));
  const auto c = q::nn::olmo2(3, 1, 8, 19, 12);
  q::nn::transformer<float> net(c);
  std::vector<std::int32_t> tokens(14, 3);
  CHECK_THROWS_WITH(net.loss({tokens.data(), 1, 14}), Contains("ctx + 1 = 13, is 14"));
  CHECK_THROWS_WITH(net.loss({tokens.data(), 1, 1}), Contains("length must be 2"));
  CHECK_THROWS_WITH(net.loss({tokens.data(), 0, 5}), Contains("at least 1 sequence"));
  tokens[3] = 19;
  CHECK_THROWS_WITH(net.loss({tokens.data(), 1, 5}), Contains("token 3 must be 0 to 18, is 19"));
  CHECK_THROWS_WITH(net.logits(tokens.data(), 13), Contains("n must be 1 to 12, is 13"));
  CHECK_THROWS_WITH(net.apply_module(9, q::matrix<float>::Zero(4, 24), 4),
                    Contains("m must be 0 to 3, is 9"));
  CHECK_THROWS_WITH(net.apply_module(0, q::matrix<float>::Zero(5, 24), 4), Contains("is 5 x 24"));
  CHECK_THROWS_WITH(q::nn::generate(net, {}, 3), Contains("prompt"));
  struct shrinking {
    struct tape {};
    q::matrix<float> forward(const q::matrix<float>&, tape&) const { return q::matrix<float>::Zero(1, 1); }
    q::matrix<float> backward(const q::matrix<float>& g, const tape&) const { return g; }
  };
  net.linears()[0].weight = shrinking{};
  tokens[3] = 1;
  CHECK_THROWS_WITH(net.loss({tokens.data(), 1, 5}),
                    Contains("weight slot of blocks.0.attn.wq must keep 24 x 24, gave 1 x 1"));
}

TEST_CASE("NaN in a weight reaches the loss and is not hidden", "[nn]") {
  for (const auto& c : architectures()) {
    const auto tokens = some_tokens(c, 11);
    q::nn::transformer<float> net(c);
    net.init(1);
    net.params()[net.linears()[1].parameter].value(0, 0) = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(net.loss_and_grad({tokens.data(), 1, 11})));
  }
}

TEST_CASE("the default model learns: a step down the gradient lowers the loss", "[nn]") {
  const auto tokens = some_tokens(q::nn::olmo2(6, 4), 32 * 129);
  q::nn::transformer<float> model(q::nn::olmo2(6, 4));  // d 96, vocabulary 256, context 128
  model.init(1);
  q::thread_pool pool(2);
  const double loss = model.loss_and_grad({tokens.data(), 32, 129}, pool.run());
  CHECK(std::abs(loss - std::log(256.0)) < 0.2);
  for (auto& p : model.params()) p.value -= 0.1f * p.grad;
  CHECK(model.loss({tokens.data(), 32, 129}, pool.run()) < loss - 1e-3);
}
