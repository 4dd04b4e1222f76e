#pragma once
/// \file  A rule whose type is known at run time: hyper-parameters as text, state behind one pointer a
/// parameter.
#include <quench/optim/rule.hpp>
#include <quench/optim/settings.hpp>
#include <quench/optim/state.hpp>

#include <memory>
#include <utility>

namespace quench::inline QUENCH_ISA {

/// State of one parameter under a rule of unknown type.
struct any_state {
  virtual ~any_state() = default;
  /// Calls f(name, part) for every part, always in the same order.
  virtual void visit(const state_visitor& f) = 0;
};

/// Any rule for scalar T, by value. Rules that list `settings` can be read and written as text; rules whose
/// state lists `entries` can be saved.
template <class T>
class any_rule {
 public:
  template <update_rule<T> Rule>
  requires(!std::same_as<Rule, any_rule>) any_rule(Rule rule)
      : self_(std::make_unique<model<Rule>>(std::move(rule))) {}  // NOLINT(google-explicit-constructor)
  any_rule(const any_rule& o) : self_(o.self_->clone()) {}
  any_rule(any_rule&&) noexcept = default;
  any_rule& operator=(any_rule o) noexcept {
    self_.swap(o.self_);
    return *this;
  }
  ~any_rule() = default;

  std::string name() const { return self_->name(); }
  double lr() const { return self_->lr(); }
  std::string settings() const { return self_->settings(); }
  bool has(std::string_view key) const { return self_->has(key); }
  /// \throws error naming the key and the choices.
  void set(std::string_view key, std::string_view value) { self_->set(key, value); }

  std::unique_ptr<any_state> init(const basic_param<T>& p) const { return self_->init(p); }
  void begin(const std::vector<const basic_param<T>*>& all, const std::vector<any_state*>& s,
             step_info t) const {
    self_->begin(all, s, t);
  }
  void update(basic_param<T>& p, any_state& s, step_info t) const { self_->update(p, s, t); }
  /// The weights to evaluate and store: the parameter itself, or the average that the rule keeps
  /// (schedule-free).
  matrix<T> evaluation(const basic_param<T>& p, const any_state& s) const { return self_->evaluation(p, s); }

 private:
  struct base {
    virtual ~base() = default;
    virtual std::unique_ptr<base> clone() const = 0;
    virtual std::string name() const = 0;
    virtual double lr() const = 0;
    virtual std::string settings() const = 0;
    virtual bool has(std::string_view key) const = 0;
    virtual void set(std::string_view key, std::string_view value) = 0;
    virtual std::unique_ptr<any_state> init(const basic_param<T>& p) const = 0;
    virtual void begin(const std::vector<const basic_param<T>*>& all, const std::vector<any_state*>& s,
                       step_info t) const = 0;
    virtual void update(basic_param<T>& p, any_state& s, step_info t) const = 0;
    virtual matrix<T> evaluation(const basic_param<T>& p, const any_state& s) const = 0;
  };

  template <class Rule>
  struct model final : base {
    using state_type = state_of<Rule, T>;
    struct slot final : any_state {
      explicit slot(state_type v) : value(std::move(v)) {}
      void visit([[maybe_unused]] const state_visitor& f) override {
        const auto give = [&](std::string_view name, auto& part) { f(std::string(name), state_ref(&part)); };
        if constexpr (requires { value.entries(give); })
          value.entries(give);
        else
          expects(false, "any_rule: the state of this rule lists no `entries`, so it cannot be saved");
      }
      state_type value;
    };

    explicit model(Rule r) : rule(std::move(r)) {}
    std::unique_ptr<base> clone() const override { return std::make_unique<model>(rule); }
    std::string name() const override {
      if constexpr (requires { Rule::name; })
        return std::string(Rule::name);
      else
        return "custom";
    }
    double lr() const override {
      if constexpr (requires { rule.lr; })
        return double(rule.lr);
      else
        return 1;
    }
    std::string settings() const override {
      if constexpr (has_settings<Rule>)
        return settings_text(rule);
      else
        return {};
    }
    bool has(std::string_view key) const override {
      bool found = false;
      if constexpr (has_settings<Rule>)
        Rule::settings(rule, [&](std::string_view k, const auto&) { found = found || k == key; });
      return found;
    }
    void set(std::string_view key, std::string_view value) override {
      if constexpr (has_settings<Rule>)
        set_setting(rule, key, value);
      else
        expects(false, "any_rule: this rule lists no settings, so '{}' cannot be set", key, value);
    }
    std::unique_ptr<any_state> init(const basic_param<T>& p) const override {
      return std::make_unique<slot>(rule.init(p));
    }
    void begin(const std::vector<const basic_param<T>*>& all, const std::vector<any_state*>& s,
               step_info t) const override {
      if constexpr (requires(std::vector<state_type*> states) { rule.begin(all, states, t); }) {
        std::vector<state_type*> states;
        for (any_state* a : s) states.push_back(&static_cast<slot*>(a)->value);
        rule.begin(all, states, t);
      } else {
        (static_cast<void>(all), static_cast<void>(s), static_cast<void>(t));
      }
    }
    void update(basic_param<T>& p, any_state& s, step_info t) const override {
      rule.update(p, static_cast<slot&>(s).value, t);
    }
    matrix<T> evaluation(const basic_param<T>& p, const any_state& s) const override {
      if constexpr (requires { rule.evaluation(p, static_cast<const slot&>(s).value); })
        return rule.evaluation(p, static_cast<const slot&>(s).value);
      else
        return (static_cast<void>(s), p.value);
    }
    Rule rule;
  };

  std::unique_ptr<base> self_;
};

}  // namespace quench::inline QUENCH_ISA
