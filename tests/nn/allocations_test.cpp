#include "allocations.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

// The address sanitizer brings its own operator new; allocations are counted in every other build.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NN_TESTS_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define NN_TESTS_SANITIZED
#endif

#ifdef NN_TESTS_SANITIZED
namespace allocations {
long count = 0;
}
#else
namespace allocations {
long count = 0;
static void* take(std::size_t n, std::size_t align) {
  ++count;
  void* p = std::aligned_alloc(align, (n + align - 1) / align * align + (n == 0 ? align : 0));
  if (!p) throw std::bad_alloc();
  return p;
}
}  // namespace allocations

void* operator new(std::size_t n) { return allocations::take(n, alignof(std::max_align_t)); }
void* operator new(std::size_t n, std::align_val_t a) {
  return allocations::take(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
#endif
