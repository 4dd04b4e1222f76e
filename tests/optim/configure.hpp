#pragma once
// Turns a golden case's own `hyperparameters` into rules. Every key must be understood: an unknown one fails
// the case.
#include "problem.hpp"

#include <quench/optim/adamw.hpp>
#include <quench/optim/any_optimizer.hpp>
#include <quench/optim/lion.hpp>
#include <quench/optim/muon.hpp>
#include <quench/optim/schedule_free.hpp>
#include <quench/optim/scion.hpp>
#include <quench/optim/sgd.hpp>
#include <quench/optim/signum.hpp>
#include <quench/optim/soap.hpp>

#include <limits>
#include <set>

namespace golden {

/// Hyper-parameters that remember which of them were read.
class keys {
 public:
  explicit keys(json j, std::string where = {}) : j_(std::move(j)), where_(std::move(where)) {}
  bool has(const std::string& k) const { return j_.contains(k) && !j_.at(k).is_null(); }
  const json& raw(const std::string& k) {
    used_.insert(k);
    return j_.at(k);
  }
  static double number(const json& v) {
    if (v.is_number()) return v.get<double>();
    if (v.is_string() && v.get<std::string>() == "inf") return std::numeric_limits<double>::infinity();
    throw std::runtime_error("not a number: " + v.dump());
  }
  /// Reads k into `out` when it is there; null keeps the default.
  template <class V>
  keys& into(const std::string& k, V& out) {
    used_.insert(k);
    if (!has(k)) return *this;
    if constexpr (std::is_same_v<V, bool>)
      out = raw(k).get<bool>();
    else if constexpr (std::is_integral_v<V>) {
      const double x = number(raw(k));
      out = std::isinf(x) ? std::numeric_limits<V>::max() : V(x);
    } else
      out = V(number(raw(k)));
    return *this;
  }
  keys& betas(const std::string& k, double& b1, double& b2) {
    if (has(k)) b1 = raw(k)[0], b2 = raw(k)[1];
    return *this;
  }
  std::string text(const std::string& k, std::string fallback = {}) {
    used_.insert(k);
    return has(k) ? raw(k).get<std::string>() : fallback;
  }
  keys sub(const std::string& k) {
    used_.insert(k);
    return keys(has(k) ? raw(k) : json::object(), where_ + k + ".");
  }
  keys& ignore(std::initializer_list<const char*> list) {
    for (const char* k : list) used_.insert(k);
    return *this;
  }
  void done() const {
    for (const auto& [k, v] : j_.items())
      if (!used_.count(k))
        throw std::runtime_error("hyper-parameter not understood: " + where_ + k + " = " + v.dump());
  }
  const json& all() const { return j_; }

 private:
  json j_;
  std::string where_;
  std::set<std::string> used_;
};

[[noreturn]] inline void unknown(const std::string& what) {
  throw std::runtime_error("cannot configure " + what);
}

template <class T>
std::function<bool(const q::basic_param<T>&)> called(std::string name) {
  return [name](const q::basic_param<T>& p) { return p.name == name; };
}
template <class T>
std::function<bool(const q::basic_param<T>&)> matrices() {
  return [](const q::basic_param<T>& p) { return p.kind != q::role::vector; };
}

inline q::sgd sgd_of(keys h) {
  q::sgd r;
  h.into("lr", r.lr)
      .into("momentum", r.momentum)
      .into("dampening", r.dampening)
      .into("weight_decay", r.weight_decay);
  h.into("nesterov", r.nesterov).into("maximize", r.maximize).done();
  return r;
}
/// torch's AdamW defaults.
inline q::adamw torch_adamw() { return {.beta2 = 0.999, .weight_decay = 0.01}; }
inline q::adamw adam_of(keys h, q::adamw r) {
  h.into("lr", r.lr).betas("betas", r.beta1, r.beta2).into("eps", r.eps).into("weight_decay", r.weight_decay);
  h.into("amsgrad", r.amsgrad).into("maximize", r.maximize).done();
  return r;
}
inline q::adamw adamc_of(keys h) {  // kozistr: eps beside the raw root, 1e-15 inside it
  q::adamw r{.beta2 = 0.999, .weight_decay = 0, .eps_corrected = false, .eps_inside = 1e-15};
  bool normalized = false;
  h.into("normalized", normalized).into("lr", r.lr).betas("betas", r.beta1, r.beta2).into("eps", r.eps);
  h.into("weight_decay", r.weight_decay).done();
  if (normalized) r.decay = q::decay_kind::corrected;
  return r;
}
inline q::lion lion_of(keys h) {
  q::lion r;
  bool decoupled = false;
  h.into("lr", r.lr)
      .betas("betas", r.beta1, r.beta2)
      .into("weight_decay", r.weight_decay)
      .into("cautious_factor", r.cautious);
  h.into("decoupled_weight_decay", decoupled).done();
  if (decoupled) r.decay = q::decay_kind::independent;  // lr_t (weight_decay / lr_init)
  return r;
}
inline q::signum signum_of(keys h) {
  q::signum r{.momentum = 0, .first_twice = true};
  h.into("lr", r.lr)
      .into("momentum", r.momentum)
      .into("dampening", r.dampening)
      .into("weight_decay", r.weight_decay)
      .done();
  return r;
}

inline q::muon muon_of(keys h, q::muon r) {
  const std::string adjust = h.text("adjust_lr_fn", "original");
  if (adjust == "match_rms_adamw")
    r.gain = q::polar_gain::match_rms;
  else if (adjust != "original")
    unknown("adjust_lr_fn " + adjust);
  h.into("lr", r.lr)
      .into("momentum", r.momentum)
      .into("mu", r.momentum)
      .into("weight_decay", r.weight_decay)
      .into("wd", r.weight_decay);
  h.into("nesterov", r.nesterov)
      .into("ns_steps", r.polar.steps)
      .into("eps", r.polar.eps)
      .into("beta2", r.beta2);
  if (h.has("ns_coefficients")) {
    const json& c = h.raw("ns_coefficients");
    r.polar.method = q::polar_method::custom;
    r.polar.custom = {c[0], c[1], c[2]};
  }
  h.ignore({"adamw_betas", "adamw_eps", "variant"}).done();
  return r;
}
inline q::muon jordan() { return {.polar = {.scaling = q::polar_scaling::additive_eps}}; }
inline q::muon track3() {
  q::muon r = jordan();
  r.polar.method = q::polar_method::converging;
  return r;
}

inline q::scion scion_of(const json& group, keys& h, bool light) {
  q::scion r{.sum = light, .polar = {.scaling = q::polar_scaling::additive_eps}};
  keys g(group, "groups.");
  double alpha = 1;
  h.into("lr", r.lr).into("momentum", alpha).into("unconstrained", r.unconstrained).into("scale", r.scale);
  g.into("scale", r.scale).into("lr", r.lr).into("momentum", alpha).into("unconstrained", r.unconstrained);
  r.momentum = 1 - alpha;
  const std::map<std::string, q::scion_norm> names{
      {"Auto", q::scion_norm::automatic},        {"Spectral", q::scion_norm::spectral},
      {"SpectralConv", q::scion_norm::spectral}, {"Sign", q::scion_norm::sign},
      {"ColNorm", q::scion_norm::column},        {"RowNorm", q::scion_norm::row},
      {"BiasRMS", q::scion_norm::bias_rms}};
  r.norm = names.at(g.text("norm", "Auto"));
  keys k = g.sub("norm_kwargs");
  bool normalized = true;
  if (k.has("normalized")) k.into("normalized", normalized), r.normalized = normalized;
  k.into("max", r.max_gain).into("steps", r.polar.steps).into("transpose", r.transpose).done();
  g.done();
  return r;
}

inline q::schedule_free schedule_free_of(keys h, bool sgd) {
  q::schedule_free r{.sgd = sgd};
  if (sgd) r.lr = 1;
  h.into("lr", r.lr)
      .betas("betas", r.beta1, r.beta2)
      .into("momentum", r.beta1)
      .into("eps", r.eps)
      .into("weight_decay", r.weight_decay);
  h.into("warmup_steps", r.warmup)
      .into("r", r.r)
      .into("weight_lr_power", r.lr_power)
      .into("inner_momentum", r.inner_momentum);
  h.ignore({"foreach"}).done();
  return r;
}

inline q::soap soap_of(keys h) {
  q::soap r;
  h.into("lr", r.lr).betas("betas", r.beta1, r.beta2).into("shampoo_beta", r.shampoo_beta).into("eps", r.eps);
  h.into("weight_decay", r.weight_decay)
      .into("precondition_frequency", r.frequency)
      .into("max_precond_dim", r.max_dim);
  h.into("merge_dims", r.merge)
      .into("precondition_1d", r.precondition_1d)
      .into("normalize_grads", r.normalize);
  h.into("correct_bias", r.bias_correction).done();
  return r;
}

}  // namespace golden
