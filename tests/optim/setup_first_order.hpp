#pragma once
// Golden files of elementwise rules, Muon and Scion. Files that no other family claims land here, and fail
// when unknown.
#include "setup.hpp"

namespace golden {

template <class T>
setup<T> configure_first_order(const std::string& file, const json& c, lcg&) {
  setup<T> s;
  const json hyper = c.value("hyperparameters", json::object());
  keys h(hyper);
  const std::string kind = file.substr(0, file.find('.'));
  const auto beside = [&](q::any_rule<T> matrix_rule, q::any_rule<T> other) {
    s.groups.push_back({"matrices", matrices<T>(), std::move(matrix_rule)});
    s.groups.push_back({"rest", {}, std::move(other)});
  };
  s.declining = c.value("note", std::string()).find("(1-t/32)") != std::string::npos;
  if (kind == "sgd")
    everywhere<T>(s, sgd_of(h));
  else if (kind == "adam")
    everywhere<T>(s, adam_of(h, q::adam()));
  else if (kind == "adamw")
    everywhere<T>(s, adam_of(h, torch_adamw()));
  else if (kind == "adamc")
    s.declining = true, everywhere<T>(s, adamc_of(h));
  else if (kind == "lion" || kind == "lion_lucidrains")
    everywhere<T>(s, lion_of(h));
  else if (kind == "signsgd_plainlm")
    everywhere<T>(s, signum_of(h));
  else if (kind == "clip_grad_norm") {
    h.into("max_norm", s.clip).into("norm_type", s.clip_order);
    q::sgd r;
    h.into("lr", r.lr).done();
    everywhere<T>(s, r);
  } else if (kind == "averaging") {
    s.average = h.text("average");
    everywhere<T>(s, adam_of(h.sub("adamw"), torch_adamw()));
    h.done();
  } else if (kind == "schedulefree") {
    everywhere<T>(s, schedule_free_of(h, c.at("name").get<std::string>().starts_with("sgd")));
  } else if (kind == "muon_kj" && h.has("muon")) {
    beside(muon_of(h.sub("muon"), jordan()),
           adam_of(h.sub("adam"), q::adamw{.lr = 3e-4, .eps = 1e-10, .weight_decay = 0}));
  } else if (kind == "muon_kj") {
    everywhere<T>(s, muon_of(h, jordan()));
  } else if (kind == "muon_moonlight") {
    q::muon r = jordan();
    r.sum = true, r.gain = q::polar_gain::match_rms, r.lr = 1e-3, r.weight_decay = 0.1;
    q::adamw aux{.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .eps_corrected = false};
    h.into("lr", aux.lr)
        .into("wd", aux.weight_decay)
        .betas("adamw_betas", aux.beta1, aux.beta2)
        .into("adamw_eps", aux.eps);
    beside(muon_of(h, r), aux);
  } else if (kind == "muon_torch") {
    q::muon r{.lr = 1e-3, .weight_decay = 0.1, .polar = {.scaling = q::polar_scaling::maximum_eps}};
    everywhere<T>(s, muon_of(h, r));
  } else if (kind == "muon_track3") {
    everywhere<T>(s, muon_of(h, track3()));
  } else if (kind == "normuon_track3") {
    q::muon r = track3();
    r.normalize = true;
    everywhere<T>(s, muon_of(h, r));
  } else if (kind == "muon_polar_express") {
    q::muon r = jordan();
    r.polar.method = q::polar_method::polar_express, r.polar.eps = 1e-6;
    r = muon_of(h, r);
    r.momentum = double(float(r.momentum));  // upstream holds it in a float32 tensor
    everywhere<T>(s, r);
  } else if (kind == "muon_bf16") {
    everywhere<T>(s, muon_of(h, h.text("variant") == "kj" ? jordan() : track3()));
  } else if (kind == "scion") {
    const bool light = c.at("name").get<std::string>().starts_with("scionlight");
    for (const auto& [name, group] : h.raw("groups").items())
      s.groups.push_back({name, called<T>(name), scion_of(group, h, light)});
    h.done();
  } else {
    unknown(file);
  }
  return s;
}

}  // namespace golden
