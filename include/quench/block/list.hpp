#pragma once
/// \file  The one list of block codecs: tests, benchmarks, the GGUF writer and the command line all iterate
/// it.
#include <quench/block/ggml_fp4.hpp>
#include <quench/block/ggml_iq4.hpp>
#include <quench/block/ggml_k_symmetric.hpp>
#include <quench/block/ggml_plain.hpp>
#include <quench/block/ggml_ternary.hpp>
#include <quench/block/mx.hpp>

#include <string>
#include <vector>

namespace quench::inline QUENCH_ISA {

template <class... C>
struct codec_list {
  template <class... More>
  using with = codec_list<C..., More...>;
  /// visit(C{}) for every codec.
  template <class Visitor>
  static void for_each(Visitor&& visit) {
    (visit(C{}), ...);
  }
};

using block_codecs =
    codec_list<ggml::f16, ggml::bf16, ggml::q4_0, ggml::q4_1, ggml::q5_0, ggml::q5_1, ggml::q8_0, ggml::q2_k,
               ggml::q3_k, ggml::q4_k, ggml::q5_k, ggml::q6_k, ggml::iq4_nl, ggml::iq4_xs, ggml::mxfp4,
               ggml::nvfp4, ggml::tq1_0, ggml::tq2_0, ggml::q1_0, ggml::q2_0, mx::e2m1, mx::e2m3, mx::e3m2,
               mx::e4m3, mx::e5m2, mx::i8>;

/// What can be said about a codec without its type.
struct codec_facts {
  std::string_view name;
  index elements = 0, bytes = 0;
  int ggml_type = -1;       ///< the type number in GGUF files, -1 when it has none
  bool importance = false;  ///< takes an importance matrix
  double bits_per_weight() const { return 8.0 * double(bytes) / double(elements); }
};

template <block_codec C>
constexpr codec_facts facts_of(C = {}) {
  return {C::name, C::elements, C::bytes, ggml_type_of<C>(), takes_importance<C>};
}

/// The facts of every codec in List, in its order.
template <class List = block_codecs>
std::vector<codec_facts> block_codec_facts() {
  std::vector<codec_facts> all;
  List::for_each([&](auto codec) { all.push_back(facts_of(codec)); });
  return all;
}

/// Calls visit(C{}) for the codec called `name`.
/// \throws error that lists the choices when there is none.
template <class List = block_codecs, class Visitor>
void with_block_codec(std::string_view name, Visitor&& visit) {
  bool found = false;
  std::string choices;
  List::for_each([&](auto codec) {
    choices += (choices.empty() ? "" : ", ") + std::string(codec.name);
    if (!found && codec.name == name) {
      found = true;
      visit(codec);
    }
  });
  expects(found, "with_block_codec: no block codec is called '{}'; choose one of {}", name, choices);
}

/// The same by GGUF type number.
template <class List = block_codecs, class Visitor>
void with_ggml_type(int type, Visitor&& visit) {
  bool found = false;
  std::string choices;
  List::for_each([&](auto codec) {
    constexpr int number = ggml_type_of<decltype(codec)>();
    if (number < 0) return;
    choices += (choices.empty() ? "" : ", ") + std::to_string(number) + " (" + std::string(codec.name) + ")";
    if (!found && number == type) {
      found = true;
      visit(codec);
    }
  });
  expects(found, "with_ggml_type: GGUF type {} is not supported; choose one of {}", type, choices);
}

}  // namespace quench::inline QUENCH_ISA
