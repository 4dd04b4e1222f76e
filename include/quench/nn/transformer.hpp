#pragma once
/// \file  Decoder-only transformers with a hand-written backward: OLMo2-like, Llama and GPT-NeoX in one
/// frame.
#include <quench/core/parallel.hpp>
#include <quench/nn/chunk.hpp>
#include <quench/nn/cross_entropy.hpp>
#include <quench/nn/parameters.hpp>

namespace quench::inline QUENCH_ISA::nn {

/// How a batch is cut, whatever the threads: sequence s of B belongs to shard floor(s S / B), S = min(shards,
/// B); a shard walks its sequences in chunks of about `rows` tokens. Gradients are summed inside a shard in
/// order, then over shards in order: results depend on these two numbers, never on the executor. At most
/// `shards` threads find work.
struct partition {
  index shards = 4;
  index rows = 256;
};

/// A model: parameters, gradients, quantizer slots, observers, and the workspace of a step.
///
/// T is float or double. Values are read from params() at every call, so an optimizer may change them in
/// between. Memory of a training step, in numbers: for each of min(shards, sequences) shards one gradient
/// (parameter_count) and the states of one chunk, about rows * blocks * (8 d + 2 kv + 2 hidden + heads *
/// length); packed weights twice parameter_count. After the first step of a shape nothing is allocated (slots
/// and observers may). Not safe for concurrent calls on one model. Non-finite numbers propagate into loss and
/// gradients.
template <class T>
class transformer {
 public:
  /// Parameters start at zero; call init or fill params(). \throws error when the config is inconsistent
  explicit transformer(const model_config& config, partition cut = {})
      : config_(config),
        cut_(cut),
        params_(make_parameters<T>(config)),
        sites_(detail::make_sites(config, params_)) {
    expects(cut.shards >= 1 && cut.rows >= 1,
            "transformer: shards and rows must be at least 1, are {} and {}", cut.shards, cut.rows);
    ready_.resize(sites_.size());
    detail::rope_tables(config.ctx, config.rotary_dim(), config.rope_base, cosines_, sines_);
  }

  /// Start values of the paper; a pure function of seed, parameter name and position.
  void init(std::uint64_t seed) { initialise(params_, config_, seed); }

  const model_config& config() const { return config_; }
  basic_param_list<T>& params() { return params_; }
  const basic_param_list<T>& params() const { return params_; }

  /// Every linear in the order they run, the output matrix last; set `weight` and `input` to quantize it.
  std::vector<linear_site<T>>& linears() { return sites_; }
  const std::vector<linear_site<T>>& linears() const { return sites_; }
  /// A slot for the embedding as the lookup reads it (a tied output matrix has its own slots, in
  /// linears().back()).
  slot<T>& lookup() { return lookup_; }

  /// Calls `see` with every linear's name and input, in order of sequences; an empty function ends that.
  /// While an observer is set, work is done in the calling thread.
  void observe_inputs(input_observer<T> see) { inputs_ = std::move(see); }
  /// Calls `see` with the output of every module, and in backward with the gradient of that output.
  void observe_modules(module_observer<T> see) { modules_ = std::move(see); }

  /// Mean nats per predicted token (summed in double). \throws error: no sequences, length outside 2 .. ctx +
  /// 1, a token outside the vocabulary
  double loss(const batch_view& batch, const executor& run = {}) { return step(batch, run, false); }

  /// The same, and params()[i].grad = d loss / d value (overwritten, not added to).
  double loss_and_grad(const batch_view& batch, const executor& run = {}) { return step(batch, run, true); }

  /// Logits [n, vocab] of one sequence of n inputs, 1 <= n <= ctx.
  matrix<T> logits(const std::int32_t* tokens, index n, const executor& run = {}) {
    expects(n >= 1 && n <= config_.ctx, "transformer::logits: n must be 1 to {}, is {}", config_.ctx, n);
    check_tokens(tokens, n);
    prepare(run, false);
    open_shards(1, false);
    const auto p = make_pass(0, 1, n, false);
    detail::chunk_forward(p, table(), tokens, n);
    return Eigen::Map<const matrix<T>>(p.own.logits.data(), n, config_.vocab);
  }

  /// The model as a chain x -> module 0 -> ... -> logits. olmo2 and llama: the attention and the MLP half of
  /// each block with their residual, then final_norm and head; gptneox: whole blocks (its halves read the
  /// same input).
  index module_count() const { return config_.blocks * halves() + 2; }
  std::string module_name(index m) const {
    expects(m >= 0 && m < module_count(), "transformer::module_name: m must be 0 to {}, is {}",
            module_count() - 1, m);
    if (m == module_count() - 1) return "head";
    if (m == module_count() - 2) return "final_norm";
    const std::string block = "blocks." + std::to_string(m / halves());
    return halves() == 1 ? block : block + (m % 2 == 0 ? ".attn_sub" : ".mlp_sub");
  }
  /// Sites first .. last-1 of linears() lie in module m.
  std::pair<std::size_t, std::size_t> module_linears(index m) const {
    if (m >= module_count() - 2) return {sites_.size() - (m == module_count() - 1 ? 1 : 0), sites_.size()};
    const auto per_block = (sites_.size() - 1) / static_cast<std::size_t>(config_.blocks);
    const auto begin = static_cast<std::size_t>(m / halves()) * per_block;
    if (halves() == 1) return {begin, begin + per_block};
    return m % 2 == 0 ? std::pair{begin, begin + 4} : std::pair{begin + 4, begin + per_block};
  }
  /// The input of module 0: rows of the embedding, [n, d].
  matrix<T> embed(const std::int32_t* tokens, index n) {
    check_tokens(tokens, n);
    prepare_lookup();
    matrix<T> x(n, config_.d);
    for (index r = 0; r < n; ++r) x.row(r) = table().row(tokens[r]);
    return x;
  }
  /// Module m on x: whole sequences of `length` rows below each other. Slots act; nothing is kept for a
  /// backward.
  matrix<T> apply_module(index m, const matrix<T>& x, index length) {
    expects(m >= 0 && m < module_count(), "transformer::apply_module: m must be 0 to {}, is {}",
            module_count() - 1, m);
    expects(x.cols() == config_.d && length >= 1 && length <= config_.ctx && x.rows() % length == 0,
            "transformer::apply_module: x must be sequences of {} rows (at most {}) by {}, is {} x {}",
            length, config_.ctx, config_.d, x.rows(), x.cols());
    const auto [first, last] = module_linears(m);
    for (auto i = first; i < last; ++i) detail::prepare_linear(sites_[i], params_, ready_[i], false);
    open_shards(1, false);
    const auto p = make_pass(0, x.rows() / length, length, false);
    const bool is_head = m == module_count() - 1;
    matrix<T> y(x.rows(), is_head ? config_.vocab : config_.d);
    if (is_head)
      detail::linear_forward(p, sites_.size() - 1, x.data(), y.data());
    else if (m == module_count() - 2)
      detail::final_norm(p, x.data(), y.data());
    else
      detail::with_block(p, m / halves(), [&](const auto& block) {
        if constexpr (requires { block.mlp_branch(x.data(), y.data()); }) {
          if (m % 2 == 0)
            block.attention_branch(x.data(), y.data());
          else
            block.mlp_branch(x.data(), y.data());
        } else {
          block.forward(x.data(), y.data());
        }
      });
    return y;
  }

 private:
  index halves() const { return config_.arch == architecture::gptneox ? 1 : 2; }
  const matrix<T>& table() const { return lookup_ ? lookup_table_ : params_[0].value; }
  bool split_head() const { return config_.tied && (lookup_ || sites_.back().weight); }

  void check_tokens(const std::int32_t* tokens, index n) const {
    for (index i = 0; i < n; ++i)
      expects(tokens[i] >= 0 && tokens[i] < config_.vocab, "transformer: token {} must be 0 to {}, is {}", i,
              config_.vocab - 1, tokens[i]);
  }
  void prepare_lookup() {
    if (!lookup_) return;
    lookup_.ready(lookup_tape_);
    lookup_.forward(params_[0].value, lookup_table_, *lookup_tape_);
  }
  void prepare(const executor& run, bool backward) {
    prepare_lookup();
    for_all(run, static_cast<index>(sites_.size()), [&](index i) {
      detail::prepare_linear(sites_[static_cast<std::size_t>(i)], params_,
                             ready_[static_cast<std::size_t>(i)], backward);
    });
  }
  void open_shards(index count, bool backward) {
    if (shards_.size() < static_cast<std::size_t>(count)) shards_.resize(static_cast<std::size_t>(count));
    const auto states = static_cast<std::size_t>(backward ? config_.blocks : 1);
    for (auto& s : shards_) {
      if (s.blocks.size() < states) s.blocks.resize(states);
      s.stream.resize(static_cast<std::size_t>(config_.blocks) + 1);
      s.inputs.resize(sites_.size());
      s.grads.resize(params_.size() + (split_head() ? 1 : 0));
    }
  }
  detail::pass<T> make_pass(std::size_t shard, index sequences, index length, bool keep) {
    return {config_,
            params_,
            sites_,
            ready_,
            cosines_,
            sines_,
            shards_[shard],
            sequences,
            length,
            keep,
            inputs_ ? &inputs_ : nullptr,
            modules_ ? &modules_ : nullptr};
  }
  double step(const batch_view& b, const executor& given, bool backprop) {
    expects(b.sequences >= 1, "transformer: a batch must have at least 1 sequence, has {}", b.sequences);
    expects(b.length >= 2 && b.length <= config_.ctx + 1,
            "transformer: length must be 2 to ctx + 1 = {}, is {}", config_.ctx + 1, b.length);
    expects(b.stride == 0 || b.stride >= 1, "transformer: stride must not be negative, is {}", b.stride);
    for (index s = 0; s < b.sequences; ++s) check_tokens(b.sequence(s), b.length);
    const executor none;
    const executor& run = inputs_ || modules_ ? none : given;
    const index count = std::min(cut_.shards, b.sequences), length = b.length - 1;
    const index stride = b.stride > 0 ? b.stride : b.length, each = std::max<index>(1, cut_.rows / length);
    const T weight = T(1) / T(b.predictions());
    prepare(run, backprop);
    open_shards(count, backprop);
    for_all(run, count, [&](index k) {
      auto& own = shards_[static_cast<std::size_t>(k)];
      own.loss = 0;
      if (backprop)
        for (std::size_t i = 0; i < own.grads.size(); ++i) {
          const auto& like = params_[i < params_.size() ? i : 0].value;
          T* g = own.grads[i].reshape(like.rows(), like.cols());
          std::fill(g, g + like.size(), T(0));
        }
      const index last = b.sequences * (k + 1) / count;
      for (index s = b.sequences * k / count; s < last; s += each) {
        const auto p = make_pass(static_cast<std::size_t>(k), std::min(each, last - s), length, backprop);
        detail::chunk_forward(p, table(), b.sequence(s), stride);
        for (index r = 0; r < p.rows(); ++r) {
          T* z = own.logits.data() + r * config_.vocab;
          own.loss += detail::cross_entropy_row(z, config_.vocab, b.sequence(s + r / length)[r % length + 1],
                                                backprop ? z : nullptr, weight);
        }
        if (backprop) detail::chunk_backward(p, b.sequence(s), stride);
      }
    });
    if (backprop) reduce(run, static_cast<std::size_t>(count));
    double sum = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) sum += shards_[k].loss;
    return sum / double(b.predictions());
  }

  /// grad = sum over shards, in order; then back through the weight slots.
  void reduce(const executor& run, std::size_t count) {
    const auto sum_into = [&](std::size_t i, matrix<T>& g) {
      T* out = g.data();
      for (std::size_t k = 0; k < count; ++k) {
        const T* from = shards_[k].grads[i].data();
        detail::for_row<T>(g.size(), [&]<class V>(index j, V) {
          detail::put(out + j,
                      k == 0 ? detail::get<V>(from + j) : detail::get<V>(out + j) + detail::get<V>(from + j));
        });
      }
    };
    for_all(run, static_cast<index>(params_.size()), [&](index i) {
      auto& p = params_[static_cast<std::size_t>(i)];
      p.grad.resize(p.value.rows(), p.value.cols());
      sum_into(static_cast<std::size_t>(i), p.grad);
    });
    matrix<T> passed;
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      if (!sites_[i].weight || (sites_[i].head && config_.tied)) continue;
      auto& g = params_[sites_[i].parameter].grad;
      sites_[i].weight.backward(g, passed, *ready_[i].tape);
      g = passed;
    }
    if (lookup_) {
      lookup_.backward(params_[0].grad, passed, *lookup_tape_);
      params_[0].grad = passed;
    }
    if (!split_head()) return;
    matrix<T> head(config_.vocab, config_.d);
    sum_into(params_.size(), head);
    if (sites_.back().weight) {
      sites_.back().weight.backward(head, passed, *ready_.back().tape);
      head = passed;
    }
    params_[0].grad += head;
  }

  model_config config_;
  partition cut_;
  basic_param_list<T> params_;
  std::vector<linear_site<T>> sites_;
  std::vector<detail::ready_linear<T>> ready_;
  std::vector<detail::shard<T>> shards_;
  buffer<T> cosines_, sines_;
  slot<T> lookup_;
  matrix<T> lookup_table_;
  std::unique_ptr<typename slot<T>::tape> lookup_tape_;
  input_observer<T> inputs_;
  module_observer<T> modules_;
};

}  // namespace quench::inline QUENCH_ISA::nn
