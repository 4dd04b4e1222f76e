#pragma once
/// \file  A place in a linear for a quantizer: any method with forward(x, tape) and backward(g, tape) (design
/// idea 7).
#include <quench/core/matrix.hpp>

#include <concepts>
#include <memory>
#include <utility>

namespace quench::inline QUENCH_ISA::nn {

/// Type-erased quantizer of a weight [out, in] or of the inputs [tokens, in] of a linear. Empty: the value
/// itself is used. Holds anything with a nested `tape` and
///
///     matrix<T> forward(const matrix<T>& x, tape&) const;       // what the product uses instead of x
///     matrix<T> backward(const matrix<T>& g, const tape&) const; // d loss / d x from d loss / d forward(x)
///
/// An input slot is called from several threads at once (each with its own tape), once for each chunk of
/// sequences: the result of a row may depend on that row only. A weight slot is called once a step with the
/// whole matrix.
template <class T>
class slot {
 public:
  /// What one forward leaves for its backward. Reused from step to step.
  class tape {
   public:
    tape() = default;
    tape(tape&&) noexcept = default;
    tape& operator=(tape&&) noexcept = default;
    virtual ~tape() = default;

   private:
    friend class slot;
    std::shared_ptr<const void> owner_;  // the method it was made for
  };

  slot() = default;
  template <class M>
  requires(!std::same_as<std::remove_cvref_t<M>, slot> &&
           requires(const M& m, const matrix<T>& x, typename M::tape& t) {
             { m.forward(x, t) } -> std::convertible_to<matrix<T>>;
             { m.backward(x, t) } -> std::convertible_to<matrix<T>>;
           }) slot(M m)
      : method_(std::make_shared<holder<M>>(std::move(m))) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return method_ != nullptr; }
  /// Makes `t` a tape of this slot's method, unless it is one.
  void ready(std::unique_ptr<tape>& t) const {
    if (t && t->owner_ == method_) return;
    t = method_->make_tape();
    t->owner_ = method_;
  }
  void forward(const matrix<T>& x, matrix<T>& out, tape& t) const { method_->forward(x, out, t); }
  void backward(const matrix<T>& g, matrix<T>& out, tape& t) const { method_->backward(g, out, t); }

 private:
  struct method {
    method() = default;
    method(const method&) = delete;
    method& operator=(const method&) = delete;
    virtual ~method() = default;
    virtual std::unique_ptr<tape> make_tape() const = 0;
    virtual void forward(const matrix<T>&, matrix<T>&, tape&) const = 0;
    virtual void backward(const matrix<T>&, matrix<T>&, tape&) const = 0;
  };
  template <class M>
  struct holder final : method {
    struct own_tape final : tape {
      typename M::tape value{};
    };
    M held;
    explicit holder(M m) : held(std::move(m)) {}
    std::unique_ptr<tape> make_tape() const override { return std::make_unique<own_tape>(); }
    void forward(const matrix<T>& x, matrix<T>& out, tape& t) const override {
      out = held.forward(x, static_cast<own_tape&>(t).value);
    }
    void backward(const matrix<T>& g, matrix<T>& out, tape& t) const override {
      out = held.backward(g, static_cast<own_tape&>(t).value);
    }
  };
  std::shared_ptr<const method> method_;
};

/// A slot whose forward rewrites a copy in place by `map(matrix<T>&)` and whose backward passes the gradient
/// through (straight-through estimator, Bengio et al. 2013):
///
///     site.weight = nn::pass_through<float>([](auto& w) { fake_quant_into<int4>(w, w); });
template <class T, class Map>
slot<T> pass_through(Map map) {
  struct method {
    struct tape {};
    Map map;
    matrix<T> forward(const matrix<T>& x, tape&) const {
      matrix<T> y = x;
      map(y);
      return y;
    }
    matrix<T> backward(const matrix<T>& g, const tape&) const { return g; }
  };
  return method{std::move(map)};
}

}  // namespace quench::inline QUENCH_ISA::nn
