#pragma once
/// \file  Optimizers by name and key=value text: the list of rules with the grouping and learning rate each
/// one suits.
///
///     auto opt = make_optimizer<float>("muon", "lr=0.02,weight_decay=0.1,aux.lr=0.003");
///     opt.step(params, schedule.at(i), pool.run());
#include <quench/optim/adamw.hpp>
#include <quench/optim/any_optimizer.hpp>
#include <quench/optim/lion.hpp>
#include <quench/optim/muon.hpp>
#include <quench/optim/psgd.hpp>
#include <quench/optim/psgd_white.hpp>
#include <quench/optim/schedule_free.hpp>
#include <quench/optim/scion.hpp>
#include <quench/optim/sgd.hpp>
#include <quench/optim/shampoo.hpp>
#include <quench/optim/shampoo_google.hpp>
#include <quench/optim/signum.hpp>
#include <quench/optim/soap.hpp>

namespace quench::inline QUENCH_ISA {

/// One line of the list. `settings` are the defaults on top of the rule's own, found for byte-level
/// transformers of width about 100, batches of 4096 tokens, and a warmup-stable-decay schedule.
template <class T>
struct optimizer_entry {
  std::string_view name, summary, settings;
  std::vector<param_group<T>> (*groups)();
};

namespace detail {

/// One rule for everything; vectors are not decayed.
template <class T, class Rule>
std::vector<param_group<T>> everywhere() {
  return {{"main", [](const basic_param<T>& p) { return p.kind != role::vector; }, Rule{}},
          {"vector", {}, Rule{}}};
}
/// Unconstrained Scion: spectral for hidden weights, sign for the tables, root mean square for vectors.
template <class T>
std::vector<param_group<T>> scion_groups() {
  return {{"main", hidden_matrices(), scion{.norm = scion_norm::spectral, .unconstrained = true}},
          {"table", [](const basic_param<T>& p) { return p.kind != role::vector; },
           scion{.norm = scion_norm::sign, .unconstrained = true}},
          {"vector", {}, scion{.norm = scion_norm::bias_rms, .unconstrained = true}}};
}
/// A matrix rule for hidden weights, AdamW for embedding, head, vectors, and matrices with a side of one.
template <class T, class Rule>
std::vector<param_group<T>> hidden_only() {
  return {{"main", hidden_matrices(), Rule{}},
          {"aux", [](const basic_param<T>& p) { return p.kind != role::vector; }, adamw{}},
          {"vector", {}, adamw{}}};
}

}  // namespace detail

/// All rules, in the order tables show them.
template <class T>
const std::vector<optimizer_entry<T>>& optimizer_list() {
  static const std::vector<optimizer_entry<T>> list{
      {"sgd", "momentum 0.9, Nesterov", "lr=0.3,momentum=0.9,nesterov=true", detail::everywhere<T, sgd>},
      {"adamw", "Adam with decoupled weight decay", "lr=0.005,weight_decay=0.1",
       detail::everywhere<T, adamw>},
      {"lion", "sign of an interpolated momentum", "lr=0.001,beta1=0.95,beta2=0.98,weight_decay=0.3",
       detail::everywhere<T, lion>},
      {"signum", "sign of the momentum", "lr=0.001,momentum=0.95,weight_decay=0.3",
       detail::everywhere<T, signum>},
      {"schedule_free", "AdamW with an average in place of a schedule",
       "lr=0.005,beta2=0.95,weight_decay=0.1,warmup=50", detail::everywhere<T, schedule_free>},
      {"adam", "Adam with coupled weight decay", "lr=0.005,beta2=0.95,weight_decay=0,decay=coupled",
       detail::everywhere<T, adamw>},
      {"muon", "orthogonalised momentum; AdamW beside it", "lr=0.02,weight_decay=0.1,aux.lr=0.005",
       detail::hidden_only<T, muon>},
      {"normuon", "Muon with every neuron's step of one length",
       "lr=0.02,weight_decay=0.1,normalize=true,method=polar_express,aux.lr=0.005",
       detail::hidden_only<T, muon>},
      {"scion", "steepest step in a norm for each kind of layer", "lr=0.02,table.lr=1,vector.lr=0.003",
       detail::scion_groups<T>},
      {"shampoo", "both sides preconditioned by inverse fourth roots", "lr=0.005,weight_decay=0.1",
       detail::everywhere<T, shampoo>},
      {"shampoo_google", "roots by coupled Newton, grafted from SGD",
       "lr=0.1,beta2=0.95,momentum=0.9,graft=adagrad", detail::everywhere<T, shampoo_google>},
      {"soap", "Adam in Shampoo's eigenbasis", "lr=0.005,weight_decay=0.1", detail::everywhere<T, soap>},
      {"psgd", "whitening by triangular Kronecker factors", "lr=0.001,weight_decay=0.3",
       detail::everywhere<T, psgd>},
      {"psgd_white", "whitening by Kronecker factors, products only",
       "lr=0.001,weight_decay=0.3,init_scale=1", detail::everywhere<T, psgd_white>},
  };
  return list;
}

/// The names in the list. A template so that a program that does not call it does not compile every rule.
template <class T = float>
std::vector<std::string> optimizer_names() {
  std::vector<std::string> out;
  for (const auto& e : optimizer_list<T>()) out.emplace_back(e.name);
  return out;
}

/// An optimizer from the list. `settings` is "key=value,..."; a key may carry a group's name ("aux.lr"). Keys
/// without one go to the main rule and to the groups that run the same rule; `aux.` goes to the vectors'
/// AdamW too; the vectors' weight decay is 0 unless `vector.weight_decay` says otherwise.
/// `skip_nonfinite=true` is a key as well. The text may also come with the name, "muon:lr=0.02". \throws
/// error that lists the choices for an unknown name, group, key or value.
template <class T = float>
any_optimizer<T> make_optimizer(std::string_view name, std::string_view settings = {}) {
  std::string text(settings);
  if (const auto colon = name.find(':'); colon != name.npos) {
    text = std::string(name.substr(colon + 1)) + (settings.empty() ? "" : ",") + text;
    name = name.substr(0, colon);
  }
  const optimizer_entry<T>* entry = nullptr;
  for (const auto& e : optimizer_list<T>())
    if (e.name == name) entry = &e;
  expects(entry != nullptr, "make_optimizer: no optimizer is called '{}'; there are {}", name,
          detail::joined(optimizer_names<T>()));

  std::vector<param_group<T>> groups = entry->groups();
  bool skip = false;
  std::string group_names;
  for (std::size_t g = 1; g < groups.size(); ++g) (group_names += g > 1 ? ", " : "") += groups[g].name;
  auto pairs = parse_settings(entry->settings);
  pairs.emplace_back("vector.weight_decay", "0");
  for (auto& given : parse_settings(text)) pairs.push_back(std::move(given));
  // A key for a group beats one that reaches it from another group, wherever it stands: general keys first.
  for (int pass = 0; pass < 3; ++pass)
    for (const auto& [key, value] : pairs) {
      const auto dot = key.find('.');
      const std::string group = dot == key.npos ? "" : key.substr(0, dot),
                        field = dot == key.npos ? key : key.substr(dot + 1);
      if (pass != (group.empty() ? 0 : group == "aux" ? 1 : 2)) continue;
      if (key == "skip_nonfinite") {
        detail::read_setting(skip, key, value);
        continue;
      }
      bool known = group.empty();
      for (auto& g : groups) {
        const bool is_main = &g == &groups.front(), same = g.rule.name() == groups.front().rule.name();
        const bool named = !group.empty() && g.name == group;
        const bool inherits = (group.empty() && (is_main || same)) || (group == "aux" && g.name == "vector");
        known = known || named;
        if (named || inherits) {
          if (key == "vector.weight_decay" && !g.rule.has("weight_decay")) continue;
          g.rule.set(field, value);
        }
      }
      expects(known, "make_optimizer: {} has no group '{}' (of '{}'); it has {}", name, group, key,
              group_names);
    }
  any_optimizer<T> out(std::move(groups), std::string(name));
  out.skip_nonfinite = skip;
  return out;
}

}  // namespace quench::inline QUENCH_ISA
