// quench formats: every number format of the registry with the facts derived from its values.
#include "command.hpp"

#include <quench/format/registry.hpp>

#include <cmath>
#include <limits>
#include <set>

namespace cli {
namespace {

template <class F>
std::vector<cell> facts() {
  std::set<double> values;
  bool infinite = false, nan = false, negative_zero = false;
  for (unsigned code = 0; code < (1u << F::bits); ++code) {
    const double v = double(F::decode(code));
    if (std::isnan(v))
      nan = true;
    else if (std::isinf(v))
      infinite = true;
    else {
      negative_zero = negative_zero || (v == 0 && std::signbit(v));
      values.insert(v);
    }
  }
  const auto positive = values.upper_bound(0.0);
  std::string special;
  const auto also = [&](bool has, const char* what) {
    if (has) (special += special.empty() ? "" : " ") += what;
  };
  also(negative_zero, "-0");
  also(infinite, "Inf");
  also(nan, "NaN");
  return {std::string(F::name),
          std::int64_t(F::bits),
          std::int64_t(values.size()),
          *values.begin(),
          *values.rbegin(),
          positive == values.end() ? std::numeric_limits<double>::quiet_NaN() : *positive,
          special.empty() ? std::string("-") : special};
}

}  // namespace

void add_formats(CLI::App& app, int& code) {
  auto* command = app.add_subcommand("formats", "List every number format with its facts");
  auto out = std::make_shared<outputs>();
  add_outputs(*command, *out);
  command->callback([out, &code] {
    table t({{"format"},
             {"bits"},
             {"values"},
             {"least", "%.6g"},
             {"largest", "%.6g"},
             {"smallest positive", "%.6g"},
             {"also holds"}});
    quench::builtin_formats::for_each([&]<class F>(F) { t.add(facts<F>()); });
    out->print(t);
    code = done;
  });
}

}  // namespace cli
