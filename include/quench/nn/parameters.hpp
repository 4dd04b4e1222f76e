#pragma once
/// \file  The parameters of a model: names, shapes, order, roles, and where training starts (N(0, 0.02^2),
/// gains 1, biases 0, head scales sqrt(head_dim); paper 2509.23500 section 2).
#include <quench/core/random.hpp>
#include <quench/nn/config.hpp>
#include <quench/optim/param.hpp>

#include <string>

namespace quench::inline QUENCH_ISA::nn {

/// Every tensor of the model in order, zero, with its gradient allocated. Matrices are [out, in]; vectors 1 x
/// n.
template <class T>
basic_param_list<T> make_parameters(const model_config& c) {
  c.check();
  basic_param_list<T> all;
  const auto add = [&](std::string name, index rows, index cols, role kind) {
    all.push_back({std::move(name), matrix<T>::Zero(rows, cols), matrix<T>::Zero(rows, cols), kind});
  };
  const auto hidden = [&](std::string name, index rows, index cols) {
    add(std::move(name), rows, cols, role::hidden);
  };
  const auto vector = [&](std::string name, index n) { add(std::move(name), 1, n, role::vector); };
  add("embed", c.vocab, c.d, role::embedding);
  for (index i = 0; i < c.blocks; ++i) {
    const std::string b = "blocks." + std::to_string(i) + ".";
    const auto attention = [&] {
      hidden(b + "attn.wq", c.d, c.d);
      hidden(b + "attn.wk", c.kv_dim(), c.d);
      hidden(b + "attn.wv", c.kv_dim(), c.d);
      hidden(b + "attn.wo", c.d, c.d);
    };
    const auto affine = [&](const std::string& name, index out, index in) {
      hidden(name + ".weight", out, in);
      vector(name + ".bias", out);
    };
    const auto layer_norm = [&](const std::string& name) {
      vector(name + ".gain", c.d);
      vector(name + ".bias", c.d);
    };
    switch (c.arch) {
      case architecture::olmo2:
        attention();
        vector(b + "attn.scale", c.heads);
        vector(b + "attn_norm.gain", c.d);
        hidden(b + "mlp.w1", c.hidden, c.d);
        hidden(b + "mlp.w2", c.d, c.hidden);
        vector(b + "mlp_norm.gain", c.d);
        break;
      case architecture::llama:
        vector(b + "attn_norm.gain", c.d);
        attention();
        vector(b + "mlp_norm.gain", c.d);
        hidden(b + "mlp.w_gate", c.hidden, c.d);
        hidden(b + "mlp.w_up", c.hidden, c.d);
        hidden(b + "mlp.w_down", c.d, c.hidden);
        break;
      case architecture::gptneox:
        layer_norm(b + "ln1");
        affine(b + "attn.qkv", 3 * c.d, c.d);
        affine(b + "attn.dense", c.d, c.d);
        layer_norm(b + "ln2");
        affine(b + "mlp.fc1", c.hidden, c.d);
        affine(b + "mlp.fc2", c.d, c.hidden);
        break;
    }
  }
  vector("final_norm.gain", c.d);
  if (c.arch == architecture::gptneox) vector("final_norm.bias", c.d);
  if (!c.tied) add("head", c.vocab, c.d, role::head);
  return all;
}

namespace detail {
constexpr std::uint64_t hash_name(std::string_view name) {  // FNV-1a (Fowler, Noll, Vo)
  std::uint64_t h = 0xCBF29CE484222325ull;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return h;
}
}  // namespace detail

/// Start values: a pure function of (seed, name, position), so a model grown by a block keeps the start of
/// the others.
template <class T>
void initialise(basic_param_list<T>& params, const model_config& c, std::uint64_t seed) {
  for (auto& p : params) {
    if (p.kind != role::vector) {
      const random_stream noise(seed, detail::hash_name(p.name));
      for (index i = 0; i < p.value.size(); ++i)
        p.value.data()[i] = static_cast<T>(0.02 * noise.normal(static_cast<std::uint64_t>(i)));
    } else if (p.name.ends_with(".gain")) {
      p.value.setOnes();
    } else if (p.name.ends_with(".scale")) {
      p.value.setConstant(static_cast<T>(std::sqrt(double(c.head_dim()))));
    } else {
      p.value.setZero();
    }
    p.grad.setZero(p.value.rows(), p.value.cols());
  }
}

}  // namespace quench::inline QUENCH_ISA::nn
