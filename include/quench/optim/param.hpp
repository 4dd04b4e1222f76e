#pragma once
/// \file  What an optimizer sees of a network: named matrices with gradients, and the part each plays.
#include <quench/core/matrix.hpp>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace quench::inline QUENCH_ISA {

/// What a matrix is in the network. Routes parameters to rules (matrix methods take `hidden`) and to weight
/// decay.
enum class role {
  hidden,     ///< 2-D weight inside a block, [out, in]
  embedding,  ///< token table, [vocabulary, d]; a table tied to the output counts as this
  head,       ///< untied output matrix, [vocabulary, d]
  vector      ///< gains, biases, per-head scales: 1 x n
};
constexpr auto names_of(std::type_identity<role>) {
  return std::array<std::string_view, 4>{"hidden", "embedding", "head", "vector"};
}

/// One trainable tensor. `grad` has the shape of `value` when a step is taken; no rule writes it. Tensors of
/// more than two axes are given as [out, everything else].
template <class T>
struct basic_param {
  std::string name;
  matrix<T> value;
  matrix<T> grad;
  role kind = role::hidden;
};
template <class T>
using basic_param_list = std::vector<basic_param<T>>;

using param = basic_param<float>;
using param_list = basic_param_list<float>;

}  // namespace quench::inline QUENCH_ISA
