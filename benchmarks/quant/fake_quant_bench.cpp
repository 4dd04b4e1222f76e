// Quantizers beside memcpy: rows of 1024 floats. Each row of the table is verified against single numbers rounded on
// their own (fake_quant_value) before it is timed.
#include "harness.hpp"

#include <quench/quant/group_scales.hpp>
#include <quench/quant/spec.hpp>

namespace {

namespace q = quench;
constexpr q::index columns = 1024;
using rows_of = Eigen::Map<q::matrix<float>>;

bool right(const rows_of& x, const rows_of& out, const q::quant_spec& spec) {
  const q::index some = std::min<q::index>(x.rows(), 64);
  const q::matrix<float> top = x.topRows(some);
  const auto scales = q::find_scales(spec.grid, top, spec.options);
  for (q::index r = 0; r < some; ++r)
    for (q::index c = 0; c < columns; ++c) {
      const std::size_t k = scales.at(r, c);
      const float e = q::fake_quant_value(spec.grid, x(r, c), scales.scale[k], scales.low[k], scales.high[k], spec.options.round.bind(r), c);
      if (out(r, c) != e) return false;
    }
  return true;
}

void add_spec(const char* text) {
  const q::quant_spec spec = q::parse_spec(text);
  bench::add<float>(std::string("quant/fake_quant ") + text, bench::all_sizes, [spec](bench::run<float>& r) {
    const rows_of x(r.in.data(), r.n / columns, columns);
    rows_of out(r.out.data(), r.n / columns, columns);
    q::fake_quant_into(spec, out, x);
    r.verify(right(x, out, spec));
    r.measure([&] { q::fake_quant_into(spec, out, x); });
  });
}

const bool specs = [] {
  for (const char* text : {"int4", "int8", "int4/g32", "int4/g128", "fp4_e2m1", "fp8_e4m3", "fp8_e4m3/g32", "mxfp4", "mxfp8_e4m3:rceil",
                           "int4/affine", "nf4", "bf16", "int4/tensor", "int4/col", "int4/sr", "fp8_e4m3/sr"})
    add_spec(text);
  return true;
}();

const bool in_place = bench::add<float>("quant/fake_quant int4 in place", bench::all_sizes, [](bench::run<float>& r) {
  rows_of x(r.in.data(), r.n / columns, columns);
  const auto spec = q::parse_spec("int4");
  const q::matrix<float> before = x.topRows(std::min<q::index>(x.rows(), 64));
  q::fake_quant_into(spec, x, x);
  r.verify(x.topRows(before.rows()) == q::fake_quant(before, spec));
  r.measure([&] { q::fake_quant_into(spec, x, x); });
});

const bool column_major = bench::add<float>("quant/fake_quant int4, column-major", {bench::in_l2}, [](bench::run<float>& r) {
  const Eigen::Map<Eigen::MatrixXf> x(r.in.data(), 64, r.n / 64);
  Eigen::Map<Eigen::MatrixXf> out(r.out.data(), 64, r.n / 64);
  const auto spec = q::parse_spec("int4");
  q::fake_quant_into(spec, out, x);
  r.verify(out == q::fake_quant(q::matrix<float>(x), spec));
  r.measure([&] { q::fake_quant_into(spec, out, x); });
});

const bool abs_max = bench::add<float>("simd/abs_max", bench::all_sizes, [](bench::run<float>& r) {
  float expected = 0;
  for (std::ptrdiff_t i = 0; i < r.n; ++i) expected = std::max(expected, std::abs(r.in.data()[i]));
  r.verify(q::simd::abs_max(r.in.data(), r.n) == expected);
  r.measure([&] { bench::keep(q::simd::abs_max(r.in.data(), r.n)); });
});

const bool pack_int4 = bench::add<float>("quant/pack int4/g32", bench::cache_sizes, [](bench::run<float>& r) {
  const rows_of x(r.in.data(), r.n / columns, columns);
  const auto spec = q::parse_spec("int4/g32");
  auto p = q::pack(spec.grid, x, spec.options);
  r.verify(q::unpack(p) == q::fake_quant(q::matrix<float>(x), spec));
  r.measure([&] { q::pack_into(p, x, spec.options); });
});
const bool unpack_int4 = bench::add<float>("quant/unpack int4/g32", bench::cache_sizes, [](bench::run<float>& r) {
  const rows_of x(r.in.data(), r.n / columns, columns);
  rows_of out(r.out.data(), r.n / columns, columns);
  const auto spec = q::parse_spec("int4/g32");
  const auto p = q::pack(spec.grid, x, spec.options);
  q::unpack_into(out, p);
  r.verify(out == q::fake_quant(q::matrix<float>(x), spec));
  r.measure([&] { q::unpack_into(out, p); });
});

}  // namespace
