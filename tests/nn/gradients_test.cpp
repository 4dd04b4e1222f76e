// Hand-written backward against central differences in double: every layer by itself, every model, ragged
// sizes.
#include <quench/nn/generate.hpp>

#include "catch.hpp"
#include "instances/models.hpp"

namespace {
namespace q = quench;
namespace d = quench::nn::detail;
using numbers = std::vector<double>;

numbers noise(std::uint64_t stream, q::index n, double scale = 1) {
  const q::random_stream draw(7, stream);
  numbers x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = scale * draw.normal(i);
  return x;
}

/// Requires analytic[i] = d f / d x[i] to 1e-6 of the largest entry, for every i.
template <class F>
void check_gradient(numbers& x, const numbers& analytic, F&& f, double h = 1e-5) {
  REQUIRE(x.size() == analytic.size());
  double largest = 1e-3;
  for (const double g : analytic) largest = std::max(largest, std::abs(g));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double keep = x[i];
    x[i] = keep + h;
    const double above = f();
    x[i] = keep - h;
    const double below = f();
    x[i] = keep;
    INFO("element " << i);
    REQUIRE(std::abs((above - below) / (2 * h) - analytic[i]) <= 1e-6 * largest);
  }
}
double dot(const numbers& a, const numbers& b) {
  double s = 0;
  for (std::size_t i = 0; i < a.size(); ++i) s += a[i] * b[i];
  return s;
}
}  // namespace

TEST_CASE("norms: gradients of x, gain and bias at ragged widths", "[gradients]") {
  for (const q::index width : {1, 2, 7, 8, 9, 17, 33}) {
    const q::index n = 3;
    INFO("width " << width);
    numbers x = noise(1, n * width), gain = noise(2, width), bias = noise(3, width), y(x), inv(3), mean(3),
            dgain(gain.size()), dbias(gain.size()), dx(x);
    const numbers w = noise(4, n * width);
    const auto rms = [&] {
      d::rms_norm(x.data(), n, width, gain.data(), 1e-3, inv.data(), y.data());
      return dot(y, w);
    };
    rms();
    d::rms_norm_backward(x.data(), n, width, gain.data(), inv.data(), w.data(), dgain.data(), dx.data(),
                         false);
    check_gradient(x, dx, rms);
    check_gradient(gain, dgain, rms);
    std::fill(dgain.begin(), dgain.end(), 0.0);
    const auto layer = [&] {
      d::layer_norm(x.data(), n, width, gain.data(), bias.data(), 1e-2, mean.data(), inv.data(), y.data());
      return dot(y, w);
    };
    layer();
    d::layer_norm_backward(x.data(), n, width, gain.data(), mean.data(), inv.data(), w.data(), dgain.data(),
                           dbias.data(), dx.data(), false);
    check_gradient(x, dx, layer);
    check_gradient(gain, dgain, layer);
    check_gradient(bias, dbias, layer);
  }
}

TEST_CASE("activations: gradients, and the values at 0 and 1", "[gradients]") {
  for (const q::index n : {1, 7, 8, 19}) {
    numbers x = noise(1, n), up = noise(2, n), y(x), g, dup(x);
    const numbers w = noise(3, n);
    const auto relu = [&] {
      d::squared_relu(x.data(), n, y.data());
      return dot(y, w);
    };
    g = w;
    d::squared_relu_backward(x.data(), n, g.data());
    check_gradient(x, g, relu);
    const auto gelu = [&] {
      d::gelu(x.data(), n, y.data());
      return dot(y, w);
    };
    g = w;
    d::gelu_backward(x.data(), n, g.data());
    check_gradient(x, g, gelu);
    const auto swiglu = [&] {
      d::swiglu(x.data(), up.data(), n, y.data());
      return dot(y, w);
    };
    d::swiglu_backward(x.data(), up.data(), n, w.data(), g.data(), dup.data());
    check_gradient(x, g, swiglu);
    check_gradient(up, dup, swiglu);
  }
  const double one = 1, zero = 0;
  double y = -1;
  d::gelu(&one, 1, &y);
  CHECK(y == Approx(0.8413447460685429).epsilon(1e-14));
  d::swiglu(&one, &one, 1, &y);
  CHECK(y == Approx(0.7310585786300049).epsilon(1e-14));
  d::squared_relu(&zero, 1, &y);
  CHECK(y == 0);
}

TEST_CASE("rotation and unit norm: inverse, length, gradient", "[gradients]") {
  for (const bool interleaved : {true, false}) {
    q::nn::buffer<double> c, s;
    const q::index width = 10, rotary = interleaved ? 10 : 6, heads = 2, length = 5, rows = 10;
    d::rope_tables(length, rotary, 1e4, c, s);
    const numbers x = noise(1, rows * heads * width);
    numbers y = x;
    const d::head_rows<double> at{y.data(), heads * width, width};
    d::rope(at, 2, length, heads, c, s, interleaved, false);
    CHECK(y[0] == x[0]);  // position 0 stays
    CHECK(dot(y, y) == Approx(dot(x, x)).epsilon(1e-14));
    const double angle = 1;  // position 1, first pair
    const std::size_t a = 20, b = interleaved ? 21 : 23;
    CHECK(y[a] == Approx(x[a] * std::cos(angle) - x[b] * std::sin(angle)).epsilon(1e-14));
    d::rope(at, 2, length, heads, c, s, interleaved, true);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(x[i] - y[i]) < 1e-15 * 8);
  }
  numbers x = noise(2, 3 * 2 * 5), u, inv(6);
  const numbers w = noise(3, 30);
  const auto f = [&] {
    u = x;
    d::unit_norm<double>({u.data(), 10, 5}, 3, 2, 5, inv.data());
    return dot(u, w);
  };
  f();
  numbers g = w;
  d::unit_norm_backward<double>({u.data(), 10, 5}, 3, 2, 5, inv.data(), {g.data(), 10, 5});
  check_gradient(x, g, f);
}

TEST_CASE("attention: gradients of q, k, v and the scale, at ragged lengths", "[gradients]") {
  for (const q::index length : {1, 2, 11, 13, 26}) {
    const d::attention_shape a{2, length, 4, 2, 6};
    const q::index rows = 2 * length;
    INFO("length " << length);
    numbers x = noise(1, rows * 24), k = noise(2, rows * 12), v = noise(3, rows * 12),
            scale{0.3, -0.7, 1.1, 0.5};
    numbers probs(static_cast<std::size_t>(8 * a.head_size())), out(x.size()), dq(x.size()), dk(k.size()),
        dv(v.size()), ds(4);
    const numbers w = noise(4, rows * 24);
    q::nn::buffer<double> b1, b2, b3, b4;
    const auto f = [&] {
      d::attention<double>(a, {x.data(), 24, 6}, {k.data(), 12, 6}, {v.data(), 12, 6}, scale.data(),
                           probs.data(), {out.data(), 24, 6}, b1, b2);
      return dot(out, w);
    };
    f();
    d::attention_backward<double>(a, {x.data(), 24, 6}, {k.data(), 12, 6}, {v.data(), 12, 6}, scale.data(),
                                  probs.data(), {w.data(), 24, 6}, {dq.data(), 24, 6}, {dk.data(), 12, 6},
                                  {dv.data(), 12, 6}, ds.data(), b1, b2, b3, b4);
    check_gradient(x, dq, f);
    check_gradient(k, dk, f);
    check_gradient(v, dv, f);
    check_gradient(scale, ds, f);
  }
}

TEST_CASE("cross entropy: value by hand, gradient, large logits, NaN", "[gradients]") {
  const double z[] = {0, std::log(3.0)};
  CHECK(d::cross_entropy_row<double>(z, 2, 0, nullptr, 1) == Approx(std::log(4.0)).epsilon(1e-14));
  const float far[] = {1000, -1000, 999};
  CHECK(d::cross_entropy_row<float>(far, 3, 0, nullptr, 1) ==
        Approx(std::log1p(std::exp(-1.0))).epsilon(1e-6));
  const float bad[] = {1, std::numeric_limits<float>::quiet_NaN(), 2};
  CHECK(std::isnan(d::cross_entropy_row<float>(bad, 3, 0, nullptr, 1)));
  for (const q::index vocab : {2, 9, 40}) {
    numbers x = noise(1, vocab, 3), g(x);
    d::cross_entropy_row(x.data(), vocab, 1, g.data(), 0.25);
    check_gradient(x, g, [&] { return 0.25 * d::cross_entropy_row<double>(x.data(), vocab, 1, nullptr, 1); });
  }
}

TEST_CASE("exp in lanes is std::exp to 2 ulp, and keeps NaN", "[gradients]") {
  const auto worst = [](auto zero, double low) {
    using T = decltype(zero);
    constexpr std::size_t n = d::lanes<T>;
    double most = 0;
    for (int i = 0; i < 20000; ++i) {
      T in[n], out[n];
      for (std::size_t j = 0; j < n; ++j)
        in[j] = T(low * (i + double(j) / double(n)) / 20000 + (j % 2 ? 0 : 1));
      d::put(out, d::exp_of<d::wide<T>>(d::get<d::wide<T>>(in)));
      for (std::size_t j = 0; j < n; ++j) {
        const double want = std::exp(double(in[j]));
        most = std::max(most,
                        std::abs(double(out[j]) - want) / want / double(std::numeric_limits<T>::epsilon()));
        most = std::max(most, std::abs(double(d::exp_of<T>(in[j])) - want) / want /
                                  double(std::numeric_limits<T>::epsilon()));
      }
    }
    return most;
  };
  CHECK(worst(0.0f, -86) <= 2);
  CHECK(worst(0.0, -700) <= 2);
  CHECK(d::exp_of<float>(-1000) == 0);
  CHECK(d::exp_of<double>(-std::numeric_limits<double>::infinity()) == 0);
  CHECK(std::isnan(d::exp_of<float>(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("products agree with Eigen at ragged sizes, transposed and added", "[gradients]") {
  for (const q::index m : {1, 5, 12, 13, 50})
    for (const q::index n : {1, 8, 17, 33, 70})
      for (const q::index k : {1, 3, 16, 200, 401}) {
        const q::matrix<double> a = q::matrix<double>::Random(m, k), b = q::matrix<double>::Random(k, n),
                                bt = b.transpose(), at = a.transpose();
        q::matrix<double> c = q::matrix<double>::Ones(m, n), e = c;
        std::vector<double> p(static_cast<std::size_t>(d::packed_size<double>(k, n)));
        d::pack_panels(b.data(), n, q::index{1}, k, n, p.data());
        d::multiply<double>({a.data(), k, 1}, m, p.data(), k, n, c.data(), n, false);
        CHECK((c - a * b).cwiseAbs().maxCoeff() < 1e-12 * double(k));
        d::pack_panels(bt.data(), q::index{1}, k, k, n, p.data(), 2.0);
        d::multiply<double>({at.data(), 1, m}, m, p.data(), k, n, e.data(), n, true);
        CHECK((e - q::matrix<double>::Ones(m, n) - 2 * a * b).cwiseAbs().maxCoeff() < 1e-11 * double(k));
      }
}

TEST_CASE("models: every gradient is the central difference of the loss", "[gradients]") {
  using q::nn::model_config;
  const auto wide_llama = [] {
    model_config c = q::nn::llama(20, 2, 1, 9, 2, 11, 9, false);
    c.norm_eps = 0.1;
    return c;
  };
  for (const model_config& c :
       {q::nn::olmo2(3, 2, 4, 11, 9), q::nn::llama(12, 2, 2, 7, 1, 13, 6), wide_llama(),
        q::nn::gptneox(24, 2, 2, 10, 8), q::nn::gptneox(20, 2, 1, 10, 8, 6)}) {
    q::nn::transformer<double> net(c, {.shards = 2, .rows = 8});
    net.init(3);
    for (std::size_t i = 0; i < net.params().size(); ++i) {  // away from the start, where branches are tiny
      auto& v = net.params()[i].value;
      const q::random_stream draw(5, i);
      for (q::index j = 0; j < v.size(); ++j) v.data()[j] += 0.3 * draw.normal(static_cast<std::uint64_t>(j));
    }
    const q::index length = c.ctx - 1;  // ragged: 5 sequences on 2 shards, chunks of one
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(5 * (length + 2)));
    const q::random_stream draw(11, 0);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = static_cast<std::int32_t>(draw.below(i, static_cast<std::uint64_t>(c.vocab)));
    const q::nn::batch_view batch{tokens.data(), 5, length, length + 2};
    net.loss_and_grad(batch);
    double largest = 0;
    for (const auto& p : net.params()) largest = std::max(largest, p.grad.cwiseAbs().maxCoeff());
    for (std::size_t k = 0; k < net.params().size(); ++k) {
      INFO(net.params()[k].name);
      auto& p = net.params()[k];
      const q::matrix<double> grad = p.grad;
      const double scale = std::max(grad.cwiseAbs().maxCoeff(), 0.01 * largest);
      for (q::index i = 0; i < p.value.size(); i += std::max<q::index>(1, p.value.size() / 13)) {
        double& x = p.value.data()[i];
        const double keep = x, h = 1e-5;
        x = keep + h;
        const double above = net.loss(batch);
        x = keep - h;
        const double below = net.loss(batch);
        x = keep;
        INFO("element " << i);
        CHECK(std::abs((above - below) / (2 * h) - grad.data()[i]) <= 1e-6 * scale);
      }
    }
  }
}
