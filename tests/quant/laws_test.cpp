// What must hold for every format, group, rounding, length, storage order and executor.
#include "catch.hpp"
#include "oracle.hpp"

#include <quench/core/tensor.hpp>

namespace q = quench;
using oracle::same;

TEST_CASE("fake_quant equals the oracle, bit for bit, at every width 1..67", "[quant]") {
  for (const q::value_grid& g : oracle::all_grids()) {
    if (g.bits > 8) continue;   // the oracle's search over 65536 values is tested on its own below
    for (const q::tile t : oracle::all_groups())
      for (q::index n = 1; n <= 67; n += t == q::per_row() || t == q::per_block(16) ? 1 : 7) {
        const auto w = oracle::sample(4, n, std::uint64_t(n));
        const auto expected = oracle::fake_quant(g, w, t);
        q::matrix<float> out(4, n);
        q::fake_quant_into(g, out, w, {.group = t});
        INFO(g.name << " width " << n << " tile " << t.rows << "x" << t.cols);
        REQUIRE(same(out, expected));
      }
  }
}

TEST_CASE("16-bit formats equal the oracle", "[quant]") {
  for (const char* name : {"fp16", "bf16"}) {
    const auto g = q::find_grid(name);
    const auto w = oracle::sample(1, 40);
    q::matrix<float> out(1, 40);
    q::fake_quant_into(g, out, w);
    CHECK(same(out, oracle::fake_quant(g, w, q::per_row())));
  }
}

TEST_CASE("double follows the same rules", "[quant]") {
  for (const q::value_grid& g : oracle::all_grids()) {
    if (g.bits > 8) continue;
    for (const q::tile t : oracle::all_groups()) {
      const auto w = oracle::sample<double>(5, 43);
      q::matrix<double> out(5, 43);
      q::fake_quant_into(g, out, w, {.group = t});
      INFO(g.name << " tile " << t.rows << "x" << t.cols);
      CHECK(same(out, oracle::fake_quant(g, w, t)));
    }
  }
}

// Every way to hand over the same numbers must give the same bits.
template <class T>
void every_way(const q::value_grid& g, const q::matrix<T>& w, const q::quant_options& o) {
  using column_major = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  q::matrix<T> a(w.rows(), w.cols());
  q::fake_quant_into(g, a, w, o);

  column_major c = w, co(w.rows(), w.cols());
  q::fake_quant_into(g, co, c, o);
  CHECK(same(co, a));
  q::fake_quant_into(g, c, c, o);   // in place
  CHECK(same(c, a));
  q::matrix<T> mixed(w.rows(), w.cols());
  const column_major cw = w;
  q::fake_quant_into(g, mixed, cw, o);   // orders differ
  CHECK(same(mixed, a));

  q::matrix<T> padded = q::matrix<T>::Zero(w.rows() + 3, w.cols() + 5);
  padded.block(2, 3, w.rows(), w.cols()) = w;
  const q::matrix<T> before = padded;
  q::fake_quant_into(g, padded.block(2, 3, w.rows(), w.cols()), padded.block(2, 3, w.rows(), w.cols()), o);
  CHECK(same(padded.block(2, 3, w.rows(), w.cols()), a));
  padded.block(2, 3, w.rows(), w.cols()) = w;
  CHECK(same(padded, before));   // nothing around it was touched

  std::vector<T> loose(std::size_t(w.size()) * 3, T(9));
  using strided = Eigen::Map<q::matrix<T>, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;
  strided s(loose.data(), w.rows(), w.cols(), Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(w.cols() * 3, 3));
  s = w;
  q::fake_quant_into(g, s, s, o);
  CHECK(same(s, a));

  q::thread_pool pool(3);
  auto threaded = o;
  threaded.run = pool.run();
  q::matrix<T> b(w.rows(), w.cols());
  q::fake_quant_into(g, b, w, threaded);
  CHECK(same(b, a));
}

TEST_CASE("storage order, strides, threads and in place change nothing", "[quant]") {
  const auto w = oracle::sample(7, 77);
  const auto wd = oracle::sample<double>(3, 37);
  for (const q::value_grid& g : oracle::all_grids())
    for (const q::tile t : oracle::all_groups())
      for (const q::rounding& r : oracle::all_roundings()) {
        INFO(g.name << " tile " << t.rows << "x" << t.cols << " rounding " << int(r.mode));
        every_way(g, w, {.group = t, .round = r});
        if (r.mode == q::round_mode::stochastic) every_way(g, wd, {.group = t, .round = r});
      }
}

TEST_CASE("scale rules and conventions do not see the layout either", "[quant]") {
  const auto w = oracle::sample(6, 70);
  for (const q::scale_rule& s : {q::scale_rule(q::percentile{90}), q::scale_rule(q::gaussian{}), q::scale_rule(q::mse_search{8}),
                                 q::scale_rule(q::unit_scale{}), q::scale_rule(q::power_of_two{q::pow2_rule::even})})
    for (const q::tile t : oracle::all_groups())
      for (const char* name : {"int4", "uint3", "fp4_e2m1", "nf4"}) {
        INFO(name << " rule " << s.index() << " tile " << t.rows << "x" << t.cols);
        every_way(q::find_grid(name), w, {.group = t, .scale = s});
        if (q::find_grid(name).kind == q::grid_kind::integer && s.index() != 5)
          every_way(q::find_grid(name), w, {.group = t, .scale = s, .convention = q::convention::affine});
      }
}

TEST_CASE("long rows, many rows and streamed outputs equal the oracle", "[quant]") {
  for (const auto& [rows, cols] : {std::pair<q::index, q::index>{3, 5000}, {300, 64}, {1, 20000}, {20, 1024}}) {
    const auto w = oracle::sample(rows, cols);
    for (const char* name : {"int4", "fp8_e4m3"})
      for (const q::tile t : {q::per_row(), q::per_block(32), q::per_block(128), q::per_block(1000), q::per_tensor()}) {
        q::matrix<float> out(rows, cols);
        q::fake_quant_into(q::find_grid(name), out, w, {.group = t});
        INFO(name << " " << rows << "x" << cols << " tile " << t.rows << "x" << t.cols);
        CHECK(same(out, oracle::fake_quant(q::find_grid(name), w, t)));
      }
  }
  const q::index rows = 700, cols = 3001;   // above the streaming threshold, unaligned rows
  const auto w = oracle::sample(rows, cols);
  for (const q::tile t : {q::per_row(), q::per_block(32), q::per_column()}) {
    q::matrix<float> out(rows, cols), in_place = w;
    q::fake_quant_into(q::find_grid("int4"), out, w, {.group = t});
    q::fake_quant_into(q::find_grid("int4"), in_place, in_place, {.group = t});
    CHECK(same(out, in_place));
  }
}

TEST_CASE("unpack(pack(w)) is fake_quant(w), bit for bit", "[packed]") {
  for (const q::value_grid& g : oracle::all_grids())
    for (const q::tile t : oracle::all_groups())
      for (const q::rounding& r : {q::rounding(q::nearest_even{}), q::rounding(q::stochastic{5})})
        for (const q::index n : {1, 2, 3, 5, 31, 32, 33, 67, 200}) {
          const auto w = oracle::sample(3, n);
          for (const auto c : {q::convention::restricted, q::convention::full, q::convention::half, q::convention::affine}) {
            if (c != q::convention::restricted && g.kind != q::grid_kind::integer) continue;
            const q::quant_options o{.group = t, .round = r, .convention = c};
            q::matrix<float> a(3, n);
            q::fake_quant_into(g, a, w, o);
            const q::packed_matrix p = q::pack(g, w, o);
            INFO(g.name << " width " << n << " tile " << t.rows << "x" << t.cols << " convention " << int(c));
            REQUIRE(same(q::unpack(p), a));
            REQUIRE(p.codes.size() == 3 * ((std::size_t(n) * std::size_t(g.bits) + 7) / 8));
          }
        }
}

TEST_CASE("quantising twice by a power-of-two scale or a cast changes nothing", "[quant]") {
  const auto w = oracle::sample(5, 96);
  for (const q::value_grid& g : oracle::all_grids())
    for (const q::scale_rule& s : {q::scale_rule(q::unit_scale{}), q::scale_rule(q::power_of_two{q::pow2_rule::floor})}) {
      if (g.kind == q::grid_kind::codebook || g.bits == 16 || (g.low == 0 && s.index() != 4) || g.name == "ternary" || g.name == "int2") continue;
      q::matrix<float> once(5, 96), twice(5, 96);
      q::fake_quant_into(g, once, w, {.group = q::per_block(32), .scale = s});
      q::fake_quant_into(g, twice, once, {.group = q::per_block(32), .scale = s});
      INFO(g.name << " rule " << s.index());
      CHECK(same(once, twice));
    }
}

TEST_CASE("a tensor is a matrix: last axis = row", "[tensor]") {
  Eigen::Tensor<float, 3, Eigen::RowMajor> t(2, 3, 32);
  Eigen::Tensor<float, 3> c(2, 3, 32);
  const auto w = oracle::sample(6, 32);
  for (q::index i = 0; i < 2; ++i)
    for (q::index j = 0; j < 3; ++j)
      for (q::index k = 0; k < 32; ++k) t(i, j, k) = c(i, j, k) = w(i * 3 + j, k);
  const q::matrix<float> expected = q::fake_quant<q::int4>(w);
  const auto& constant = t;
  const Eigen::Tensor<float, 3, Eigen::RowMajor> out = q::fake_quant<q::int4>(constant);
  const Eigen::Tensor<float, 3> column_out = q::fake_quant<q::int4>(c);
  q::fake_quant_into<q::int4>(t, t);
  Eigen::TensorMap<Eigen::Tensor<float, 3>> map(c.data(), 2, 3, 32);
  q::fake_quant_into<q::int4>(map, map);
  bool right = true;
  for (q::index i = 0; i < 2; ++i)
    for (q::index j = 0; j < 3; ++j)
      for (q::index k = 0; k < 32; ++k) {
        const float e = expected(i * 3 + j, k);
        right = right && out(i, j, k) == e && column_out(i, j, k) == e && t(i, j, k) == e && c(i, j, k) == e;
      }
  CHECK(right);
}
