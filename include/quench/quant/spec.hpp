#pragma once
/// \file  Quantizers by name: `int4`, `int4/g128/mse`, `fp8_e4m3/row`, `mxfp4`, `mxfp8_e4m3:rceil`, `nf4/b64`. One text
/// for the command line, records and tests; it round-trips through parse_spec and to_string.
#include <quench/quant/packed.hpp>
#include <quench/quant/spec_text.hpp>

namespace quench::inline QUENCH_ISA {

/// A format and everything that says how to use it. `none` leaves numbers as they are.
struct quant_spec {
  value_grid grid = grid_of<int4>();
  quant_options options = {};
  bool none = false;
};

namespace detail {

struct spec_preset {
  std::string_view name, format;
};
inline constexpr spec_preset mx_presets[] = {{"mxfp4", "fp4_e2m1"},     {"mxfp6_e2m3", "fp6_e2m3"}, {"mxfp6_e3m2", "fp6_e3m2"},
                                             {"mxfp8_e4m3", "fp8_e4m3"}, {"mxfp8_e5m2", "fp8_e5m2"}, {"mxint8", "int8"}};

/// What a bare format name means: integers, fp4..fp8 and ternary per row by absmax (uint: with a zero point), nf4 in
/// blocks of 64, fp16 and bf16 a plain cast.
inline quant_options default_options(const value_grid& g) {
  quant_options o;
  if (g.name == "nf4") o.group = per_block(64);
  if (g.name == "fp16" || g.name == "bf16") o.scale = unit_scale{};
  if (g.kind == grid_kind::integer && g.full_low == 0) o.convention = convention::affine;
  return o;
}

}  // namespace detail

/// Names that may begin a spec.
template <class List = builtin_formats>
std::string spec_names() {
  std::string all = "none, " + List::names();
  for (const auto& p : detail::mx_presets) all += ", " + std::string(p.name);
  return all;
}

/// Reads `name[:rule]{/part}`. Parts, in any order:
///   group      tensor | row | col | gN or bN (blocks of N in a row) | tRxC (tiles)
///   scale      absmax | pP (percentile, such as p99.9) | gauss[:CLIP] | mse[:NORM[:STEPS[:LOW]]] | cast |
///              pow2:floor|ceil|even|rceil (also written mxfp4:even)
///   convention restricted | full | half | affine | affine_nz
///   rounding   rne | away | rtz | down | up | sr[:SEED[:BITS]] | dither[:SEED]
///   overflow   sat | nonsat       non-finite nan | ignore | error
/// \throws error naming the part that is wrong and the choices.
template <class List = builtin_formats>
quant_spec parse_spec(std::string_view text) {
  detail::spec_reader in(text, '/');
  detail::spec_reader head(in.next(), ':');
  const std::string_view name = head.next();
  quant_spec s;
  if (name == "none") {
    s.none = true;
    expects(in.done() && head.done(), "parse_spec: 'none' takes no parts, is given '{}'", text);
    return s;
  }
  std::string_view format = name;
  bool preset = false;
  for (const auto& p : detail::mx_presets)
    if (p.name == name) format = p.format, preset = true;
  bool known = preset;
  List::for_each([&]<class F>(F) { known = known || F::name == name; });
  if (!known) detail::fail<error>("parse_spec: '{}' in '{}' is no format; there are {}", name, text, spec_names<List>());
  s.grid = find_grid<List>(format);
  s.options = detail::default_options(s.grid);
  if (preset) {
    s.options.group = per_block(32);
    s.options.convention = convention::restricted;
    s.options.scale = power_of_two{head.done() ? pow2_rule::floor : detail::parse_pow2(head.next(), text)};
  }
  expects(head.done(), "parse_spec: '{}' takes no ':' argument in '{}'", name, text);
  while (!in.done()) detail::parse_part(in.next(), text, s.options);
  detail::check_options(s.options, "parse_spec");
  static_cast<void>(detail::code_range(s.options.convention, s.grid));
  return s;
}

/// The canonical text: parse_spec(to_string(s)) means the same as s. \throws error for a custom_scale, which has no text.
inline std::string to_string(const quant_spec& s) {
  if (s.none) return "none";
  quant_options base = detail::default_options(s.grid);
  std::string text(s.grid.name);
  const auto* const p = std::get_if<power_of_two>(&s.options.scale);
  for (const auto& mx : detail::mx_presets)
    if (p && mx.format == s.grid.name && s.options.group == per_block(32)) {
      text = mx.name;
      if (p->rule != pow2_rule::floor) text += ":" + std::string(detail::pow2_name(p->rule));
      base.group = s.options.group, base.scale = s.options.scale;
      return text + detail::parts_text(s.options, base, false);
    }
  const bool say_group = s.grid.kind != grid_kind::integer && !std::holds_alternative<unit_scale>(s.options.scale);
  return text + detail::parts_text(s.options, base, say_group, s.grid.kind == grid_kind::codebook ? 'b' : 'g');
}

inline bool operator==(const quant_spec& a, const quant_spec& b) { return to_string(a) == to_string(b); }

/// fake_quant by spec; `none` copies. See fake_quant_into for the contract.
template <class Dst, class Src>
index fake_quant_into(const quant_spec& spec, Dst&& dst, const Src& src) {
  if (!spec.none) return fake_quant_into(spec.grid, dst, src, spec.options);
  const auto s = real_view_of(src);
  const auto d = real_view_of(dst);
  expects(s.rows == d.rows && s.cols == d.cols, "fake_quant_into: dst must be {} x {} as src, is {} x {}", s.rows, s.cols, d.rows, d.cols);
  for (index r = 0; r < s.rows; ++r)
    for (index c = 0; c < s.cols; ++c) d(r, c) = s(r, c);
  return 0;
}
template <class M>
auto fake_quant(const M& w, const quant_spec& spec) {
  auto out = make_like(w);
  fake_quant_into(spec, out, w);
  return out;
}

}  // namespace quench
