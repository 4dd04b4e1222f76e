#pragma once
/// \file  How much quantization hurts: the two errors of Catalan-Tatjer, Ajroldi & Geiping 2025 (arXiv
/// 2510.06213, section 3).
#include <quench/core/config.hpp>

namespace quench::inline QUENCH_ISA::study {

/// e_CE = CE(W_hat) / CE(W) - 1: the relative error, "quantization error" in the paper. Losses in nats per
/// token. NaN when either is NaN; full == 0 gives an infinity or NaN, as the division says.
constexpr double relative_error(double quantized, double full) { return quantized / full - 1.0; }

/// delta_PTQ = CE(W_hat) - CE(W): the absolute error of Kumar et al. 2024 ("Scaling Laws for Precision").
constexpr double absolute_error(double quantized, double full) { return quantized - full; }

}  // namespace quench::inline QUENCH_ISA::study
