#pragma once
/// \file  Memory that grows and is then kept: the workspace of a step allocates only the first time a size is
/// seen.
#include <quench/core/matrix.hpp>

#include <algorithm>
#include <memory>
#include <new>

namespace quench::inline QUENCH_ISA::nn {

/// A row-major scratch matrix, aligned to a cache line. Contents are unspecified after reshape().
template <class T>
class buffer {
 public:
  /// Sets the shape; allocates only when it needs more than ever before. Returns the first element.
  T* reshape(index rows, index cols) {
    rows_ = rows;
    cols_ = cols;
    if (const index n = rows * cols; n > capacity_) {
      store_.reset();
      store_.reset(
          static_cast<T*>(::operator new (static_cast<std::size_t>(n) * sizeof(T), std::align_val_t{64})));
      std::uninitialized_fill_n(store_.get(), n, T(0));
      capacity_ = n;
    }
    return store_.get();
  }
  T* data() { return store_.get(); }
  const T* data() const { return store_.get(); }
  index rows() const { return rows_; }
  index cols() const { return cols_; }

 private:
  struct release {
    void operator()(T* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::unique_ptr<T, release> store_;
  index rows_ = 0, cols_ = 0, capacity_ = 0;
};

}  // namespace quench::inline QUENCH_ISA::nn
