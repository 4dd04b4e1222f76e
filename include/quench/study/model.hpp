#pragma once
/// \file  Networks from configurations and from files: a study's model shape, llama2.c checkpoints, and a
/// run's own weights.
#include <quench/io/llama2c.hpp>
#include <quench/io/safetensors.hpp>
#include <quench/io/safetensors_writer.hpp>
#include <quench/nn/transformer.hpp>
#include <quench/study/config.hpp>

namespace quench::inline QUENCH_ISA::study {

/// The network of a run. Norms of olmo2 add float32's epsilon, as its authors' code does in that type.
inline nn::model_config model_config_of(const model_shape& m) {
  nn::model_config c;
  c.arch = m.architecture == "llama" ? nn::architecture::llama : nn::architecture::olmo2;
  c.vocab = m.vocabulary;
  c.d = m.width;
  c.heads = m.heads;
  c.groups = m.groups();
  c.blocks = m.blocks;
  c.ctx = m.context;
  c.hidden = m.hidden();
  c.norm_eps = m.norm_eps();
  c.rope_base = m.architecture == "llama" ? 1e4 : 1024;
  c.check();
  return c;
}

inline json to_json(const nn::model_config& c) {
  return {{"architecture", names_of(std::type_identity<nn::architecture>{})[std::size_t(c.arch)]},
          {"vocab", c.vocab},
          {"d", c.d},
          {"heads", c.heads},
          {"groups", c.groups},
          {"hidden", c.hidden},
          {"blocks", c.blocks},
          {"ctx", c.ctx},
          {"rope_base", c.rope_base},
          {"norm_eps", c.norm_eps},
          {"tied", c.tied},
          {"rotary", c.rotary}};
}

/// Writes parameters and shape, whole or not at all. \throws io_error
template <class T>
void save_model(const io::path& file, const nn::model_config& c, const basic_param_list<T>& params) {
  std::vector<io::tensor_data> tensors;
  for (const auto& p : params) tensors.push_back(io::tensor_of(p.name, p.value, p.kind == role::vector));
  io::write_safetensors(file, tensors, {{"format", "quench model 1"}, {"model", io::to_line(to_json(c))}});
}

namespace detail {

template <class T, class Source>
void fill(basic_param<T>& p, const io::path& file, const Source& source) {
  io::require(source.rows() == p.value.rows() && source.cols() == p.value.cols(), file, 0,
              "tensor {} must be {} x {}, is {} x {}", p.name, p.value.rows(), p.value.cols(), source.rows(),
              source.cols());
  p.value = source.template cast<T>();
}

/// llama2.c's name of a parameter.
inline std::string llama2c_name(const std::string& name) {
  if (name == "embed") return "tok_embeddings.weight";
  if (name == "final_norm.gain") return "norm.weight";
  if (name == "head") return "output.weight";
  const auto dot = name.find('.', 7);  // behind "blocks.N"
  const std::string part = name.substr(dot + 1);
  constexpr std::pair<std::string_view, std::string_view> parts[] = {
      {"attn.wq", "attention.wq.weight"},          {"attn.wk", "attention.wk.weight"},
      {"attn.wv", "attention.wv.weight"},          {"attn.wo", "attention.wo.weight"},
      {"attn_norm.gain", "attention_norm.weight"}, {"mlp_norm.gain", "ffn_norm.weight"},
      {"mlp.w_gate", "feed_forward.w1.weight"},    {"mlp.w_up", "feed_forward.w3.weight"},
      {"mlp.w_down", "feed_forward.w2.weight"}};
  for (const auto& [ours, theirs] : parts)
    if (part == ours) return "layers." + name.substr(7, dot - 7) + "." + std::string(theirs);
  return name;
}

template <class T>
nn::transformer<T> load_llama2c(const io::path& file) {
  const io::llama2c_file source(file);
  const auto& f = source.config();
  nn::transformer<T> model(
      nn::llama(f.dim, f.heads, f.kv_heads, f.hidden_dim, f.layers, f.vocabulary, f.context, f.tied));
  for (auto& p : model.params()) fill(p, file, source.at(llama2c_name(p.name)).map());
  return model;
}

template <class T>
nn::transformer<T> load_own(const io::path& file) {
  const io::safetensors_file source(file);
  const auto format = source.metadata().find("format"), shape = source.metadata().find("model");
  io::require(format != source.metadata().end() && format->second == "quench model 1" &&
                  shape != source.metadata().end(),
              file, 8, "is not a model that a run has saved (no \"quench model 1\" in its metadata)");
  const json j = io::parse_json(shape->second, file, 8);
  nn::model_config c;
  const auto number = [&](const char* key, auto& out) {
    io::require(j.contains(key) && j[key].is_number(), file, 8, "model metadata: {} must be a number", key);
    out = j[key].get<std::remove_reference_t<decltype(out)>>();
  };
  const std::string name = j.value("architecture", "");
  constexpr auto names = names_of(std::type_identity<nn::architecture>{});
  const auto at = std::find(names.begin(), names.end(), name);
  io::require(at != names.end(), file, 8, "model metadata: unknown architecture {}", io::printable(name));
  c.arch = nn::architecture(at - names.begin());
  number("vocab", c.vocab), number("d", c.d), number("heads", c.heads), number("groups", c.groups),
      number("hidden", c.hidden);
  number("blocks", c.blocks), number("ctx", c.ctx), number("rope_base", c.rope_base),
      number("norm_eps", c.norm_eps);
  number("rotary", c.rotary);
  c.tied = j.value("tied", true);
  nn::transformer<T> model(c);
  for (auto& p : model.params()) fill(p, file, source.read<T>(p.name));
  return model;
}

}  // namespace detail

/// Reads a model: `.bin` as llama2.c's version 0, `.safetensors` as `save_model` wrote it.
/// \throws io_error for a file that is neither, damaged, or does not fit its own shape
template <class T = float>
nn::transformer<T> load_model(const io::path& file) {
  const auto ext = file.extension();
  io::require(ext == ".bin" || ext == ".safetensors", file, 0,
              "must be a llama2.c .bin or a .safetensors model");
  return ext == ".bin" ? detail::load_llama2c<T>(file) : detail::load_own<T>(file);
}

}  // namespace quench::inline QUENCH_ISA::study
