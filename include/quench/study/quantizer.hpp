#pragma once
/// \file  Which quantization a label asks for: "w4" is 4-bit weights, one scale an output row; "w4a4" also quantizes
/// the inputs, one scale a token (Vlassis et al. 2025, section 4: symmetric absmax, round to nearest, simulated).
#include <quench/core/error.hpp>
#include <quench/format/registry.hpp>

#include <string>
#include <vector>

namespace quench::inline QUENCH_ISA::study {

/// Formats of weights and inputs by name; an empty name leaves them in full precision.
struct quantizer {
  std::string label, weights, inputs;
};

/// "w4", "w4a4", "a8"; or formats by name: "fp4_e2m1" for weights, "int4/int8" for weights/inputs, "none".
/// \throws error naming the text and the choices
inline quantizer parse_quantizer(std::string_view text) {
  quantizer q{std::string(text), "", ""};
  const auto known = [&](std::string_view format) {
    bool found = false;
    std::string names;
    builtin_formats::for_each([&]<class F>(F) {
      found = found || F::name == format;
      (names += names.empty() ? "" : ", ") += F::name;
    });
    expects(found, "quantizer '{}': no format is called '{}'; there are {}", text, format, names);
    return std::string(format);
  };
  const auto digits = [&](std::size_t from) { return text.find_first_not_of("0123456789", from) - from; };
  if (text == "none") return q;
  const bool w = text.starts_with('w') && text.size() > 1 && text[1] >= '0' && text[1] <= '9';
  const bool a = text.starts_with('a') && text.size() > 1 && text[1] >= '0' && text[1] <= '9';
  if (w || a) {
    std::size_t at = 0;
    if (w) {
      const std::size_t n = std::min(digits(1), text.size() - 1);
      q.weights = known("int" + std::string(text.substr(1, n)));
      at = 1 + n;
    }
    if (at < text.size()) {
      expects(text[at] == 'a' && at + 1 < text.size(), "quantizer '{}' must look like w4, a8, w4a4, FORMAT or FORMAT/FORMAT", text);
      q.inputs = known("int" + std::string(text.substr(at + 1)));
    }
    return q;
  }
  const auto slash = text.find('/');
  const auto weights = text.substr(0, slash);
  if (weights != "none") q.weights = known(weights);
  if (slash != text.npos)
    if (const auto inputs = text.substr(slash + 1); inputs != "none") q.inputs = known(inputs);
  return q;
}

inline std::vector<quantizer> parse_quantizers(const std::vector<std::string>& texts) {
  std::vector<quantizer> out;
  for (const auto& t : texts) out.push_back(parse_quantizer(t));
  return out;
}

}  // namespace quench::study
