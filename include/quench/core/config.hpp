#pragma once
/// \file  Compiler switches: the only macros of the library besides the version.
#include <cstddef>
#include <cstdint>

#if defined(__FAST_MATH__) && !defined(QUENCH_ALLOW_FAST_MATH)
#error "quench: -ffast-math removes NaN checks and exact rounding; compile without it"
#endif

#if defined(__GNUC__) || defined(__clang__)
#define QUENCH_INLINE inline __attribute__((always_inline))
#define QUENCH_INLINE_LAMBDA __attribute__((always_inline))   // after a lambda's parameter list
#define QUENCH_NOINLINE __attribute__((noinline, cold))
#else
#define QUENCH_INLINE inline
#define QUENCH_INLINE_LAMBDA
#define QUENCH_NOINLINE
#endif

// xsimd is used when it can be found, unless QUENCH_NO_XSIMD says no. Its version header holds macros only.
#if !defined(QUENCH_NO_XSIMD) && __has_include(<xsimd/xsimd.hpp>)
#define QUENCH_HAS_XSIMD 1
#include <xsimd/config/xsimd_config.hpp>
#else
#define QUENCH_HAS_XSIMD 0
#endif

// The whole library lives in an inline namespace named after what it was compiled for: instruction set, and xsimd
// with its major version (or "plain"). Two translation units built with different -m flags, or against different
// xsimd releases, never share a symbol (one definition rule).
#define QUENCH_JOIN_(a, b) a##b
#define QUENCH_JOIN(a, b) QUENCH_JOIN_(a, b)
#if QUENCH_HAS_XSIMD
#define QUENCH_LANES QUENCH_JOIN(_xsimd, XSIMD_VERSION_MAJOR)
#else
#define QUENCH_LANES _plain
#endif

#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define QUENCH_ISA QUENCH_JOIN(isa_avx512bw, QUENCH_LANES)
#elif defined(__AVX2__) && defined(__FMA__)
#define QUENCH_ISA QUENCH_JOIN(isa_avx2, QUENCH_LANES)
#elif defined(__AVX__)
#define QUENCH_ISA QUENCH_JOIN(isa_avx, QUENCH_LANES)
#elif defined(__SSE4_1__)
#define QUENCH_ISA QUENCH_JOIN(isa_sse4, QUENCH_LANES)
#elif defined(__aarch64__)
#define QUENCH_ISA QUENCH_JOIN(isa_neon64, QUENCH_LANES)
#else
#define QUENCH_ISA QUENCH_JOIN(isa_baseline, QUENCH_LANES)
#endif

// The same as text, for records and messages.
#define QUENCH_TEXT_(x) #x
#define QUENCH_TEXT(x) QUENCH_TEXT_(x)
#define QUENCH_ISA_NAME QUENCH_TEXT(QUENCH_ISA)
