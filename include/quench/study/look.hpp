#pragma once
/// \file  One look at a model: validation loss in full precision and quantized, and how heavy the tails of
/// the inputs of its linear layers are.
#include <quench/nn/transformer.hpp>
#include <quench/study/quantizer.hpp>
#include <quench/study/records.hpp>
#include <quench/study/tap_metrics.hpp>
#include <quench/study/windows.hpp>

namespace quench::inline QUENCH_ISA::study {

inline nn::batch_view view_of_batch(const window_batch& b) {
  return {b.tokens.data(), b.sequences, b.length + 1, b.length + 1};
}

/// Puts a quantizer into the slots of every linear layer (the output matrix only when `head`; a tied lookup
/// keeps full precision), and empties the slots again at the end.
template <class T>
class quantized_scope {
 public:
  quantized_scope(nn::transformer<T>& model, const quantizer& q, bool head) : model_(model) {
    for (auto& l : model.linears()) {
      if (l.head && !head) continue;
      if (!q.weights.none)
        l.weight = nn::pass_through<T>([spec = q.weights](auto& w) { fake_quant_into(spec, w, w); });
      if (!q.inputs.none)
        l.input = nn::pass_through<T>([spec = q.inputs](auto& x) { fake_quant_into(spec, x, x); });
    }
  }
  quantized_scope(const quantized_scope&) = delete;
  quantized_scope& operator=(const quantized_scope&) = delete;
  ~quantized_scope() {
    for (auto& l : model_.linears()) l.weight = {}, l.input = {};
  }

 private:
  nn::transformer<T>& model_;
};

/// Takes the looks of one run: always at the same windows.
template <class T>
class watcher {
 public:
  watcher(const run_config& c, std::span<const token_id> validation)
      : windows_(spread_windows(validation, c.eval_windows, c.length)),
        taps_(c.tap_windows > 0
                  ? spread_windows(validation, std::min(c.tap_windows, c.eval_windows), c.length)
                  : window_batch{}),
        quantizers_(parse_quantizers(c.quantizers)),
        head_(c.quantize_head) {}

  /// Everything of a point but its step, rate and training means. The bits do not depend on `run`.
  point look(nn::transformer<T>& model, const executor& run) const {
    point p;
    p.val_loss = model.loss(view_of_batch(windows_), run);
    for (const quantizer& q : quantizers_) {
      const quantized_scope<T> scope(model, q, head_);
      p.quantized.push_back({q.label, model.loss(view_of_batch(windows_), run)});
    }
    if (taps_.sequences > 0) p.outliers = input_outliers(model);
    double squares = 0;
    for (const auto& l : model.linears())
      if (!l.head) squares += model.params()[l.parameter].value.template cast<double>().squaredNorm();
    p.weight_norm = std::sqrt(squares);
    return p;
  }

 private:
  /// Of the linears that get quantized, in the order they run.
  outlier_summary input_outliers(nn::transformer<T>& model) const {
    std::map<std::string, tap_metrics, std::less<>> layers;
    for (const auto& l : model.linears())
      if (!l.head || head_) layers[l.name];
    model.observe_inputs([&](std::string_view name, matrix_view<const T> x) {
      if (const auto it = layers.find(name); it != layers.end()) it->second.add(x);
    });
    model.loss(view_of_batch(taps_));
    model.observe_inputs({});
    std::vector<outlier_summary> all;
    for (const auto& [name, metrics] : layers) all.push_back(metrics.summary());
    return mean_of(all);
  }

  window_batch windows_, taps_;
  std::vector<quantizer> quantizers_;
  bool head_;
};

}  // namespace quench::inline QUENCH_ISA::study
