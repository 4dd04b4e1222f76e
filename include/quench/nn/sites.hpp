#pragma once
/// \file  The linears and modules of each architecture: which parameters they use, in the order they run.
#include <quench/nn/block_gptneox.hpp>
#include <quench/nn/block_llama.hpp>
#include <quench/nn/block_olmo2.hpp>

namespace quench::inline QUENCH_ISA::nn::detail {

/// Every linear in order; the output matrix is the last.
template <class T>
std::vector<linear_site<T>> make_sites(const model_config& c, const basic_param_list<T>& params) {
  std::vector<linear_site<T>> sites;
  const auto find = [&](std::string_view name) {
    for (std::size_t i = 0; i < params.size(); ++i)
      if (params[i].name == name) return i;
    expects(false, "transformer: there is no parameter {}", name);
    return std::size_t{0};
  };
  const auto add = [&](const std::string& name, bool affine) {
    linear_site<T> site;
    site.name = name;
    site.parameter = find(affine ? name + ".weight" : name);
    if (affine) site.bias = static_cast<std::ptrdiff_t>(find(name + ".bias"));
    sites.push_back(std::move(site));
  };
  for (index i = 0; i < c.blocks; ++i) {
    const std::string b = "blocks." + std::to_string(i) + ".";
    if (c.arch == architecture::gptneox) {
      for (const char* name : {"attn.qkv", "attn.dense", "mlp.fc1", "mlp.fc2"}) add(b + name, true);
    } else {
      for (const char* name : {"attn.wq", "attn.wk", "attn.wv", "attn.wo"}) add(b + name, false);
      if (c.arch == architecture::olmo2)
        for (const char* name : {"mlp.w1", "mlp.w2"}) add(b + name, false);
      else
        for (const char* name : {"mlp.w_gate", "mlp.w_up", "mlp.w_down"}) add(b + name, false);
    }
  }
  linear_site<T> head;
  head.name = "head";
  head.parameter = c.tied ? 0 : params.size() - 1;
  head.head = true;
  sites.push_back(std::move(head));
  return sites;
}

/// Calls use(block) with the block type of the architecture.
template <class T, class Use>
void with_block(const pass<T>& p, index block, Use&& use) {
  switch (p.config.arch) {
    case architecture::olmo2:
      use(olmo2_block<T>{p, block});
      break;
    case architecture::llama:
      use(llama_block<T>{p, block});
      break;
    case architecture::gptneox:
      use(gptneox_block<T>{p, block});
      break;
  }
}

/// y = final norm of x [rows, d].
template <class T>
void final_norm(const pass<T>& p, const T* x, T* y) {
  const model_config& c = p.config;
  const bool layered = c.arch == architecture::gptneox;
  const std::size_t gain = p.params.size() - (c.tied ? 0 : 1) - (layered ? 2 : 1);
  T* inv = p.own.inv_final.reshape(p.rows(), 1);
  if (layered)
    layer_norm(x, p.rows(), c.d, p.param(gain), p.param(gain + 1), T(c.norm_eps),
               p.own.mean_final.reshape(p.rows(), 1), inv, y);
  else
    rms_norm(x, p.rows(), c.d, p.param(gain), T(c.norm_eps), inv, y);
}
/// dx from dy; adds the gradients of gain and bias.
template <class T>
void final_norm_backward(const pass<T>& p, const T* x, const T* dy, T* dx) {
  const model_config& c = p.config;
  const bool layered = c.arch == architecture::gptneox;
  const std::size_t gain = p.params.size() - (c.tied ? 0 : 1) - (layered ? 2 : 1);
  const T* inv = p.own.inv_final.data();
  if (layered)
    layer_norm_backward(x, p.rows(), c.d, p.param(gain), p.own.mean_final.data(), inv, dy, p.grad(gain),
                        p.grad(gain + 1), dx, false);
  else
    rms_norm_backward(x, p.rows(), c.d, p.param(gain), inv, dy, p.grad(gain), dx, false);
}

}  // namespace quench::inline QUENCH_ISA::nn::detail
