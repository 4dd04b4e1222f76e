#pragma once
/// \file  Compiler switches: the only macros of the library besides the version.
#include <cstddef>
#include <cstdint>

#if defined(__FAST_MATH__) && !defined(QUENCH_ALLOW_FAST_MATH)
#error "quench: -ffast-math removes NaN checks and exact rounding; compile without it"
#endif

#if defined(__GNUC__) || defined(__clang__)
#define QUENCH_INLINE inline __attribute__((always_inline))
#define QUENCH_NOINLINE __attribute__((noinline, cold))
#else
#define QUENCH_INLINE inline
#define QUENCH_NOINLINE
#endif

// The whole library lives in an inline namespace named after what it was compiled for (instruction set, and
// whether xsimd is used), so that two translation units built with different -m flags never share a symbol (ODR).
#if !defined(QUENCH_NO_XSIMD) && __has_include(<xsimd/xsimd.hpp>)
#define QUENCH_HAS_XSIMD 1
#else
#define QUENCH_HAS_XSIMD 0
#endif

#if !QUENCH_HAS_XSIMD
#if defined(__AVX512BW__)
#define QUENCH_ISA isa_avx512bw_scalar
#elif defined(__AVX2__)
#define QUENCH_ISA isa_avx2_scalar
#else
#define QUENCH_ISA isa_baseline_scalar
#endif
#elif defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define QUENCH_ISA isa_avx512bw
#elif defined(__AVX2__) && defined(__FMA__)
#define QUENCH_ISA isa_avx2
#elif defined(__aarch64__)
#define QUENCH_ISA isa_neon64
#else
#define QUENCH_ISA isa_baseline
#endif

// The same as text, for records and messages.
#define QUENCH_TEXT_(x) #x
#define QUENCH_TEXT(x) QUENCH_TEXT_(x)
#define QUENCH_ISA_NAME QUENCH_TEXT(QUENCH_ISA)
