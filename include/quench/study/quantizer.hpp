#pragma once
/// \file  Which quantization a label asks for: "w4" is 4-bit weights, one scale an output row; "w4a4" also
/// quantizes the inputs, one scale a token (Vlassis et al. 2025, section 4: symmetric absmax, round to
/// nearest, simulated).
#include <quench/quant/spec.hpp>

namespace quench::inline QUENCH_ISA::study {

/// How the weights and the inputs of linear layers are quantized; `none` leaves them in full precision.
struct quantizer {
  std::string label;
  quant_spec weights{.none = true}, inputs{.none = true};
};

namespace detail {

/// "w4" -> "int4"; empty when `text` is not `letter` and one or more digits.
inline std::string integer_name(std::string_view text, char letter) {
  if (text.size() < 2 || text[0] != letter || text.find_first_not_of("0123456789", 1) != text.npos) return {};
  return "int" + std::string(text.substr(1));
}

}  // namespace detail

/// Reads "w4", "a8", "w4a4", or specs (quant/spec.hpp): "int4/g128" for weights, "int4+int8" for weights +
/// inputs, "none+fp8_e4m3" for inputs alone, "none". \throws error naming the text and the choices
inline quantizer parse_quantizer(std::string_view text) {
  const auto a = text.find('a');
  const auto w = detail::integer_name(text.substr(0, a), 'w');
  const auto in = a == text.npos ? std::string() : detail::integer_name(text.substr(a), 'a');
  for (const auto& name : {w, in})
    expects(name.empty() || (name.size() == 4 && name[3] >= '2' && name[3] <= '8'),
            "parse_quantizer: '{}' asks for {}; there are int2, int3, int4, int5, int6, int7 and int8", text, name);
  if (!w.empty() && (a == text.npos || !in.empty()))
    return {std::string(text), parse_spec(w), parse_spec(in.empty() ? "none" : in)};
  if (a == 0 && !in.empty()) return {std::string(text), {.none = true}, parse_spec(in)};
  const auto plus = text.find('+');
  return {std::string(text), parse_spec(text.substr(0, plus)),
          parse_spec(plus == text.npos ? "none" : text.substr(plus + 1))};
}

inline std::vector<quantizer> parse_quantizers(const std::vector<std::string>& texts) {
  std::vector<quantizer> out;
  for (const auto& t : texts) out.push_back(parse_quantizer(t));
  return out;
}

}  // namespace quench::inline QUENCH_ISA::study
