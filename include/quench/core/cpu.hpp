#pragma once
/// \file  What this processor and its operating system can run, asked of the processor itself (Intel SDM vol. 1, 14.3 and 15.2).
#include <quench/core/config.hpp>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace quench::inline QUENCH_ISA {

/// The instruction sets cmake/QuenchMultiArch.cmake builds for, each a superset of the one before it.
enum class instruction_set {
  baseline,  ///< what the compiler targets by itself: SSE2 on x86-64, NEON on aarch64
  avx2,      ///< AVX2, FMA, F16C, BMI1, BMI2 (x86-64-v3)
  avx512     ///< AVX-512 F, BW, CD, DQ, VL beside avx2 (x86-64-v4)
};

/// The best of them that runs here. The processor must have the instructions and the system must save the registers they
/// use on a task switch (XCR0). Costs about 100 ns where the answer is not kept: keep it.
inline instruction_set best_instruction_set() {
#if defined(__x86_64__) || defined(__i386__)
  const auto has = [](unsigned word, unsigned bits) { return (word & bits) == bits; };
  unsigned a = 0, b = 0, c = 0, d = 0, extended_c = 0;
  constexpr unsigned fma = 1u << 12, movbe = 1u << 22, osxsave = 1u << 27, avx = 1u << 28, f16c = 1u << 29;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, fma | movbe | osxsave | avx | f16c)) return instruction_set::baseline;
  unsigned saved = 0, high = 0;  // XCR0; by hand because the intrinsic needs -mxsave
  __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  constexpr unsigned ymm = 0x6, zmm = 0xE6, lzcnt = 1u << 5;
  unsigned unused = 0;
  if (!has(saved, ymm) || !__get_cpuid(0x80000001u, &a, &unused, &extended_c, &d) || !has(extended_c, lzcnt) ||
      !__get_cpuid_count(7, 0, &a, &b, &c, &d))
    return instruction_set::baseline;
  constexpr unsigned bmi1 = 1u << 3, avx2 = 1u << 5, bmi2 = 1u << 8;
  if (!has(b, bmi1 | avx2 | bmi2)) return instruction_set::baseline;
  constexpr unsigned f = 1u << 16, dq = 1u << 17, cd = 1u << 28, bw = 1u << 30, vl = 1u << 31;
  return has(saved, zmm) && has(b, f | dq | cd | bw | vl) ? instruction_set::avx512 : instruction_set::avx2;
#else
  return instruction_set::baseline;
#endif
}

/// The one of three builds of the same thing (a table of functions) that suits this machine.
template <class T>
const T& best_of(const T& baseline, const T& avx2, const T& avx512) {
  const instruction_set best = best_instruction_set();
  return best == instruction_set::avx512 ? avx512 : best == instruction_set::avx2 ? avx2 : baseline;
}

}  // namespace quench
