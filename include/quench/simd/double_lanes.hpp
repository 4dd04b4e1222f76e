#pragma once
/// \file  Registers of doubles for sums: floats widened as they are loaded, and lanes added up in one fixed tree.
#include <quench/simd/vector.hpp>

namespace quench::inline QUENCH_ISA::simd {

using double_lanes = vec<double, lanes_of<double>>;

/// lanes_of<double> numbers at p, as doubles.
QUENCH_INLINE double_lanes load_doubles(const double* p) { return load_vec<double_lanes>(p); }
QUENCH_INLINE double_lanes load_doubles(const float* p) {
#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)   // g++ 12 would convert by halves
  return double_lanes(_mm512_cvtps_pd(_mm256_loadu_ps(p)));
#else
  using F = vec<float, lanes_of<double>>;
  return __builtin_convertvector(load_vec<F>(p), double_lanes);
#endif
}

/// Sum of 16 doubles: halves added to halves, the same tree on every machine.
QUENCH_INLINE double add_16(const double* lane) {
  double t[8], u[4];
  for (int i = 0; i < 8; ++i) t[i] = lane[i] + lane[i + 8];
  for (int i = 0; i < 4; ++i) u[i] = t[i] + t[i + 4];
  return (u[0] + u[2]) + (u[1] + u[3]);
}

}  // namespace quench::simd
