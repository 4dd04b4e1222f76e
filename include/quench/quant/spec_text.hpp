#pragma once
/// \file  The words of a spec string, each way. Every error names the word, the whole text and the choices.
#include <quench/quant/options.hpp>

#include <charconv>
#include <string>

namespace quench::inline QUENCH_ISA::detail {

/// Pieces of a text between separators. "a//b" has an empty piece, which no word matches.
class spec_reader {
 public:
  spec_reader(std::string_view text, char separator) : rest_(text), separator_(separator) {}
  bool done() const { return done_; }
  std::string_view next() {
    const auto at = rest_.find(separator_);
    const std::string_view piece = rest_.substr(0, at);
    if (at == std::string_view::npos) done_ = true;
    else rest_.remove_prefix(at + 1);
    return piece;
  }

 private:
  std::string_view rest_;
  char separator_;
  bool done_ = false;
};

template <class N>
N spec_number(std::string_view piece, std::string_view what, std::string_view text) {
  N value{};
  const auto [end, status] = std::from_chars(piece.data(), piece.data() + piece.size(), value);
  if (status != std::errc{} || end != piece.data() + piece.size() || piece.empty())
    fail<error>("parse_spec: {} must be a number, is '{}' in '{}'", what, piece, text);
  return value;
}

template <class N>
std::string spec_number_text(N value) {
  char buffer[40];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

inline constexpr std::string_view pow2_names[] = {"floor", "ceil", "even", "rceil"};
inline constexpr std::string_view convention_names[] = {"restricted", "full", "half", "affine", "affine_nz"};
inline constexpr std::string_view rounding_names[] = {"rne", "away", "rtz", "down", "up", "sr", "dither"};
inline constexpr std::string_view non_finite_names[] = {"nan", "ignore", "error"};
inline constexpr std::string_view overflow_names[] = {"sat", "nonsat"};

inline std::string_view pow2_name(pow2_rule r) { return pow2_names[int(r)]; }

template <class E, std::size_t N>
bool spec_word(std::string_view piece, const std::string_view (&names)[N], E& value) {
  for (std::size_t i = 0; i < N; ++i)
    if (piece == names[i]) return value = E(i), true;
  return false;
}

inline pow2_rule parse_pow2(std::string_view piece, std::string_view text) {
  pow2_rule rule{};
  if (!spec_word(piece, pow2_names, rule))
    fail<error>("parse_spec: '{}' in '{}' is no power-of-two rule; there are floor, ceil, even, rceil", piece, text);
  return rule;
}

inline bool starts_number(std::string_view s) { return !s.empty() && ((s[0] >= '0' && s[0] <= '9') || s[0] == '-' || s[0] == '+' || s[0] == '.'); }

/// gN, bN, tRxC or a name. A leading letter followed by a number that is out of range is an error, not another word.
inline bool parse_group(std::string_view piece, std::string_view text, tile& group) {
  if (piece == "tensor") return group = per_tensor(), true;
  if (piece == "row") return group = per_row(), true;
  if (piece == "col") return group = per_column(), true;
  if (piece.size() < 2 || !starts_number(piece.substr(1))) return false;
  const auto extent = [&](std::string_view digits, long long least) {
    const auto n = spec_number<long long>(digits, "the group size", text);
    expects(n >= least, "parse_spec: the group size must be at least {}, is {} in '{}'", least, n, text);
    return index(n);
  };
  if (piece[0] == 'g' || piece[0] == 'b') return group = per_block(extent(piece.substr(1), 1)), true;
  if (piece[0] != 't') return false;
  const auto by = piece.find('x');
  expects(by != std::string_view::npos, "parse_spec: a tile is written tROWSxCOLUMNS, is '{}' in '{}'", piece, text);
  return group = per_tile(extent(piece.substr(1, by - 1), 0), extent(piece.substr(by + 1), 0)), true;   // 0: whole extent
}

inline bool parse_scale(std::string_view piece, std::string_view text, scale_rule& scale) {
  spec_reader in(piece, ':');
  const std::string_view word = in.next();
  if (word == "absmax") scale = absmax{};
  else if (word == "cast") scale = unit_scale{};
  else if (word == "gauss") {
    gaussian g;
    if (!in.done()) g.clip = spec_number<float>(in.next(), "the clip of gauss", text);
    scale = g;
  } else if (word == "mse") {
    mse_search m;
    if (!in.done()) m.norm = spec_number<float>(in.next(), "the norm of mse", text);
    if (!in.done()) m.steps = spec_number<int>(in.next(), "the steps of mse", text);
    if (!in.done()) m.low = spec_number<float>(in.next(), "the lower end of mse", text);
    scale = m;
  } else if (word == "pow2") scale = power_of_two{in.done() ? pow2_rule::floor : parse_pow2(in.next(), text)};
  else if (word.size() > 1 && word[0] == 'p' && starts_number(word.substr(1))) scale = percentile{spec_number<double>(word.substr(1), "the percentile", text)};
  else return false;
  expects(in.done(), "parse_spec: '{}' in '{}' has too many ':' arguments", piece, text);
  return true;
}

inline bool parse_rounding(std::string_view piece, std::string_view text, rounding& round) {
  spec_reader in(piece, ':');
  round_mode mode{};
  if (!spec_word(in.next(), rounding_names, mode)) return false;
  round = rounding(mode);
  if (round.random() && !in.done()) round.seed = spec_number<std::uint64_t>(in.next(), "the seed", text);
  if (mode == round_mode::stochastic && !in.done()) round.bits = spec_number<int>(in.next(), "the random bits", text);
  expects(in.done(), "parse_spec: '{}' in '{}' has too many ':' arguments", piece, text);
  return true;
}

inline void parse_part(std::string_view piece, std::string_view text, quant_options& o) {
  if (parse_group(piece, text, o.group) || parse_scale(piece, text, o.scale) || spec_word(piece, convention_names, o.convention) ||
      parse_rounding(piece, text, o.round) || spec_word(piece, overflow_names, o.overflow) || spec_word(piece, non_finite_names, o.non_finite))
    return;
  fail<error>("parse_spec: '{}' in '{}' is no part; there are groups (tensor, row, col, gN, bN, tRxC), scales (absmax, pP, gauss, "
              "mse, cast, pow2:RULE), conventions (restricted, full, half, affine, affine_nz), rounding (rne, away, rtz, down, up, "
              "sr:SEED, dither:SEED), overflow (sat, nonsat) and non-finite policies (nan, ignore, error)", piece, text);
}

inline std::string scale_text(const scale_rule& scale) {
  if (const auto* p = std::get_if<percentile>(&scale)) return "p" + spec_number_text(p->p);
  if (const auto* g = std::get_if<gaussian>(&scale)) return g->clip > 0 ? "gauss:" + spec_number_text(g->clip) : "gauss";
  if (const auto* m = std::get_if<mse_search>(&scale)) {
    const mse_search usual;
    if (*m == usual) return "mse";
    std::string text = "mse:" + spec_number_text(m->norm);
    if (m->steps != usual.steps || m->low != usual.low) text += ":" + spec_number_text(m->steps);
    if (m->low != usual.low) text += ":" + spec_number_text(m->low);
    return text;
  }
  if (std::holds_alternative<unit_scale>(scale)) return "cast";
  if (const auto* p = std::get_if<power_of_two>(&scale)) return "pow2:" + std::string(pow2_name(p->rule));
  expects(!std::holds_alternative<custom_scale>(scale), "to_string: a custom_scale has no text");
  return "absmax";
}

inline std::string group_text(tile t, char letter) {
  if (t == per_tensor()) return "tensor";
  if (t == per_row()) return "row";
  if (t == per_column()) return "col";
  if (t.rows == 1) return letter + spec_number_text(t.cols);
  return "t" + spec_number_text(t.rows) + "x" + spec_number_text(t.cols);
}

/// "/part" for everything in which `o` differs from `base`; the group always when `say_group`.
inline std::string parts_text(const quant_options& o, const quant_options& base, bool say_group, char letter = 'g') {
  std::string text;
  if (say_group || o.group != base.group) text += "/" + group_text(o.group, letter);
  if (scale_text(o.scale) != scale_text(base.scale)) text += "/" + scale_text(o.scale);
  if (o.convention != base.convention) text += "/" + std::string(convention_names[int(o.convention)]);
  if (o.round != base.round) {
    text += "/" + std::string(rounding_names[int(o.round.mode)]);
    const bool bits = o.round.mode == round_mode::stochastic && o.round.bits != rounding().bits;
    if (o.round.random() && (o.round.seed != 0 || bits)) text += ":" + spec_number_text(o.round.seed);
    if (bits) text += ":" + spec_number_text(o.round.bits);
  }
  if (o.overflow != base.overflow) text += "/" + std::string(overflow_names[int(o.overflow)]);
  if (o.non_finite != base.non_finite) text += "/" + std::string(non_finite_names[int(o.non_finite)]);
  return text;
}

}  // namespace quench::detail
