#pragma once
/// \file  Memory that grows and is then kept: the workspace of a step allocates only the first time a size is seen.
#include <quench/core/matrix.hpp>

#include <vector>

namespace quench::inline QUENCH_ISA::nn {

/// A row-major scratch matrix, aligned for vectors. Contents are unspecified after reshape().
template <class T>
class buffer {
 public:
  /// Sets the shape; allocates only when it needs more than ever before. Returns the first element.
  T* reshape(index rows, index cols) {
    rows_ = rows;
    cols_ = cols;
    if (const auto n = static_cast<std::size_t>(rows * cols); n > store_.size()) {
      store_.clear();
      store_.resize(n);
    }
    return store_.data();
  }
  T* data() { return store_.data(); }
  const T* data() const { return store_.data(); }
  index rows() const { return rows_; }
  index cols() const { return cols_; }
  index size() const { return rows_ * cols_; }
  std::size_t bytes() const { return store_.capacity() * sizeof(T); }
  matrix_view<const T> view() const { return {store_.data(), rows_, cols_, cols_}; }

 private:
  std::vector<T, Eigen::aligned_allocator<T>> store_;
  index rows_ = 0, cols_ = 0;
};

}  // namespace quench::nn
