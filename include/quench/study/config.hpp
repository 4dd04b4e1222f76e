#pragma once
/// \file  A run's configuration: everything its results depend on, as JSON, and the hash that names it.
#include <quench/core/random.hpp>
#include <quench/io/json.hpp>
#include <quench/optim/any.hpp>
#include <quench/optim/schedule.hpp>

#include <string>
#include <vector>

namespace quench::inline QUENCH_ISA::study {

using io::json;

/// The model of a run.
struct model_shape {
  std::string architecture = "olmo2";  ///< olmo2 or llama
  int heads = 6;  ///< query heads; key/value groups are heads / 3 when that divides, else heads
  int blocks = 4;
  int width = 96;
  int vocabulary = 256;
  int context = 128;

  int groups() const { return heads % 3 == 0 ? heads / 3 : heads; }
  /// 4 width; for llama's three matrices 8/3 width, rounded up to a multiple of 8.
  int hidden() const { return architecture == "llama" ? (8 * width / 3 + 7) / 8 * 8 : 4 * width; }
  double norm_eps() const { return architecture == "llama" ? 1e-5 : 0x1p-23; }
};

/// Which text, told by content: two files with equal bytes are the same data wherever they lie.
struct data_facts {
  std::vector<std::string> train, validation;  ///< file names, for people
  std::int64_t train_tokens = 0, validation_tokens = 0;
  std::uint64_t train_hash = 0, validation_hash = 0;
};

struct run_config {
  std::string label;  ///< short name for legends; empty = the optimizer's. Not part of the hash
  model_shape model;
  data_facts data;
  std::string optimizer = "adamw";   ///< name in the optimizers' registry
  double lr = 1e-3;                  ///< peak learning rate
  std::string settings;              ///< every setting of the rule, "key=value,..."; see `use_optimizer`
  quench::schedule schedule;         ///< its `steps` are the run's
  int sequences = 16, length = 128;  ///< windows a step, predictions a window
  double clip = 1.0;                 ///< global gradient norm; 0 = no clipping
  std::uint64_t seed = 1;
  int points = 20;        ///< looks at the model after step 0, evenly spaced, the last at the last step
  int eval_windows = 64;  ///< evenly spaced validation windows of `length` predictions
  int tap_windows = 8;    ///< how many of them the outlier metrics are taken from
  std::vector<std::string> quantizers = {"w4", "w3", "w4a4"};
  bool quantize_head = false;  ///< quantize the output matrix too (a tied lookup stays in full precision)
};

/// 64-bit FNV-1a over bytes, finished with mix_bits: names data and configurations.
class hasher {
 public:
  hasher& add(const void* data, std::size_t bytes) {
    const auto* p = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) h_ = (h_ ^ p[i]) * 0x100000001B3ull;
    return *this;
  }
  std::uint64_t value() const { return mix_bits(h_, 0); }

 private:
  std::uint64_t h_ = 0xCBF29CE484222325ull;
};

inline std::string hex16(std::uint64_t x) {
  std::string s(16, '0');
  for (std::size_t i = 0; i < 16; ++i) s[15 - i] = "0123456789abcdef"[(x >> (4 * i)) & 15u];
  return s;
}

inline json to_json(const model_shape& m) {
  return {{"architecture", m.architecture},
          {"heads", m.heads},
          {"groups", m.groups()},
          {"blocks", m.blocks},
          {"width", m.width},
          {"hidden", m.hidden()},
          {"vocabulary", m.vocabulary},
          {"context", m.context},
          {"norm_eps", m.norm_eps()}};
}
inline json to_json(const data_facts& d) {
  return {{"train", d.train},
          {"validation", d.validation},
          {"train_tokens", d.train_tokens},
          {"validation_tokens", d.validation_tokens},
          {"train_hash", hex16(d.train_hash)},
          {"validation_hash", hex16(d.validation_hash)}};
}
inline json to_json(const schedule& s) {
  const std::int64_t decay = s.kind == schedule_kind::wsd        ? s.cooldown
                             : s.kind == schedule_kind::constant ? 0
                                                                 : s.steps - s.warmup;
  return {{"name", names_of(std::type_identity<schedule_kind>{})[std::size_t(s.kind)]},
          {"warmup", s.warmup},
          {"stable", s.steps - s.warmup - decay},
          {"decay", decay},
          {"shape", names_of(std::type_identity<cooldown_shape>{})[std::size_t(s.shape)]},
          {"convention", names_of(std::type_identity<step_convention>{})[std::size_t(s.convention)]},
          {"start", s.start},
          {"end", s.end}};
}

/// "a=1,b=x" -> {"a": 1, "b": "x"}
inline json settings_json(std::string_view text) {
  json j = json::object();
  for (const auto& [key, value] : parse_settings(text)) {
    const json parsed =
        json::parse(value, nullptr, false);  // numbers and booleans are what JSON calls so, the rest is words
    j[key] = parsed.is_number() || parsed.is_boolean() ? parsed : json(value);
  }
  return j;
}

/// Takes the rule called `name` with `changes` ("lr=0.02,weight_decay=0.1") on top of its defaults, and
/// writes all of its settings down: a default that changes later makes another configuration. 	hrows error
/// listing the choices for an unknown name, key or value
inline void use_optimizer(run_config& c, std::string_view name, std::string_view changes = {}) {
  const auto rule = make_optimizer<float>(name, changes);
  c.optimizer = rule.name();
  c.settings = rule.settings();
  c.lr = rule.lr();
}

/// The whole configuration. File names are left out of the hash (see `config_hash`): only the bytes count.
inline json to_json(const run_config& c) {
  return {{"model", to_json(c.model)},
          {"data", to_json(c.data)},
          {"optimizer", c.optimizer},
          {"lr", c.lr},
          {"settings", settings_json(c.settings)},
          {"schedule", to_json(c.schedule)},
          {"steps", c.schedule.steps},
          {"sequences", c.sequences},
          {"length", c.length},
          {"clip", c.clip},
          {"seed", c.seed},
          {"points", c.points},
          {"eval", {{"windows", c.eval_windows}, {"length", c.length}, {"tap_windows", c.tap_windows}}},
          {"quantizers", c.quantizers},
          {"quantize_head", c.quantize_head}};
}

/// Two runs have one hash exactly when they ask for the same results; 16 hexadecimal digits.
inline std::string config_hash(const run_config& c) {
  nlohmann::json j =
      nlohmann::json::parse(to_json(c).dump());  // this kind sorts its keys: dump() is canonical
  j["data"].erase("train");
  j["data"].erase("validation");
  j["schema"] = 1;
  const std::string text = j.dump();
  return hex16(hasher().add(text.data(), text.size()).value());
}

inline std::string run_id(const run_config& c) { return c.optimizer + "-" + config_hash(c); }

/// Steps at which the model is looked at: 0, then `points` steps evenly spaced up to the last.
inline std::vector<std::int64_t> point_steps(const run_config& c) {
  std::vector<std::int64_t> steps{0};
  for (std::int64_t k = 1; k <= c.points; ++k)
    if (const std::int64_t s = c.schedule.steps * k / c.points; s > steps.back()) steps.push_back(s);
  return steps;
}

/// A warmup-stable-decay schedule split by percentages with the largest-remainder rule, so that the parts add
/// up, as the code of Vlassis et al. 2025 does; linear warm-up from 0.001 of the peak, linear cooldown to 0.
inline schedule split_wsd(std::int64_t steps, int warmup_percent, int decay_percent) {
  const std::int64_t percent[3] = {warmup_percent, 100 - warmup_percent - decay_percent, decay_percent};
  std::int64_t part[3], left = steps;
  for (int i = 0; i < 3; ++i) left -= part[i] = steps * percent[i] / 100;
  bool given[3] = {};
  for (; left > 0; --left) {
    int best = -1;
    for (int i = 0; i < 3; ++i)
      if (!given[i] && (best < 0 || steps * percent[i] % 100 > steps * percent[best] % 100)) best = i;
    given[best] = true;
    ++part[best];
  }
  return {.kind = schedule_kind::wsd, .steps = steps, .warmup = part[0], .cooldown = part[2], .start = 1e-3};
}

/// Refuses configurations that cannot run. \throws error naming the field, the rule and the value.
inline void check(const run_config& c) {
  const auto& m = c.model;
  expects(m.architecture == "olmo2" || m.architecture == "llama",
          "study: architecture must be olmo2 or llama, is '{}'", m.architecture);
  expects(m.heads >= 1 && m.blocks >= 1 && m.width >= 2,
          "study: model needs heads >= 1, blocks >= 1, width >= 2, has {},{},{}", m.heads, m.blocks, m.width);
  expects(m.width % m.heads == 0, "study: width must be a multiple of heads, is {} with {} heads", m.width,
          m.heads);
  expects(m.width / m.heads % 2 == 0, "study: width / heads must be even (rotary pairs), is {}",
          m.width / m.heads);
  expects(c.schedule.steps >= 1, "study: steps must be at least 1, is {}", c.schedule.steps);
  expects(c.sequences >= 1 && c.length >= 1, "study: sequences and length must be at least 1, are {} and {}",
          c.sequences, c.length);
  expects(c.length <= m.context, "study: length must be at most the model's context {}, is {}", m.context,
          c.length);
  expects(c.points >= 1 && c.eval_windows >= 1 && c.tap_windows >= 0,
          "study: points and eval windows must be at least 1, are {} and {}", c.points, c.eval_windows);
  expects(c.lr > 0 && c.lr < 1e6, "study: learning rate must be above 0 and below 1e6, is {}", c.lr);
  expects(c.clip >= 0, "study: clip must be a gradient norm, or 0 for none, is {}", c.clip);
  static_cast<void>(c.schedule.at(0));  // refuses parts that do not fit
  expects(c.data.train_tokens > c.length, "study: the training text has {} tokens, one window needs {}",
          c.data.train_tokens, c.length + 1);
  expects(c.data.validation_tokens > c.length,
          "study: the validation text has {} tokens, one window needs {}", c.data.validation_tokens,
          c.length + 1);
}

}  // namespace quench::inline QUENCH_ISA::study
