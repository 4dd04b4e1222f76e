#pragma once
/// \file  How far a quantised tensor is from the original: one pass, mergeable, in double. Idea of the report after
/// gemma.cpp's DistortionStats: error, signal, extremes, what vanished and what changed sign.
#include <quench/core/error.hpp>
#include <quench/core/matrix.hpp>

#include <cmath>
#include <algorithm>
#include <limits>

namespace quench::inline QUENCH_ISA {

/// Sums over pairs (original x, quantised q). Pairs of which either is not finite are counted and left out.
struct distortion {
  double count = 0;               ///< finite pairs
  double error2 = 0, signal2 = 0; ///< sum (q - x)^2, sum x^2
  double quantized2 = 0, dot = 0; ///< sum q^2, sum x q
  double error1 = 0;              ///< sum |q - x|
  double max_error = 0;           ///< max |q - x|
  double rounded_to_zero = 0;     ///< x != 0, q == 0
  double sign_flips = 0;          ///< x q < 0
  double non_finite = 0;          ///< pairs left out

  void add(double x, double q) {
    if (!(std::isfinite(x) && std::isfinite(q))) {
      non_finite += 1;
      return;
    }
    const double e = q - x;
    count += 1;
    error2 += e * e, signal2 += x * x, quantized2 += q * q, dot += x * q;
    error1 += std::abs(e);
    max_error = std::max(max_error, std::abs(e));
    rounded_to_zero += x != 0 && q == 0 ? 1 : 0;
    sign_flips += (x < 0 && q > 0) || (x > 0 && q < 0) ? 1 : 0;
  }
  void merge(const distortion& b) {
    count += b.count, error2 += b.error2, signal2 += b.signal2, quantized2 += b.quantized2, dot += b.dot, error1 += b.error1;
    max_error = std::max(max_error, b.max_error);
    rounded_to_zero += b.rounded_to_zero, sign_flips += b.sign_flips, non_finite += b.non_finite;
  }

  double mse() const { return count > 0 ? error2 / count : 0; }
  double mean_abs_error() const { return count > 0 ? error1 / count : 0; }
  /// ||q - x|| / ||x||; 0 when nothing changed, infinite when a zero signal did.
  double relative_error() const { return error2 == 0 ? 0 : std::sqrt(error2 / signal2); }
  /// Signal to quantization noise ratio, 10 log10(sum x^2 / sum (q - x)^2), in dB; infinite when nothing changed.
  double sqnr_db() const { return error2 == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal2 / error2); }
  /// Cosine of the angle between x and q; 1 when both vanish, 0 when one does.
  double cosine() const {
    const double norms = std::sqrt(signal2) * std::sqrt(quantized2);
    return norms > 0 ? dot / norms : signal2 == quantized2 ? 1 : 0;
  }
};

/// The distortion of q against x. Rows are summed on their own and merged in order, so that any executor and either
/// storage order give the same numbers. \throws error when shapes differ.
template <class X, class Q>
distortion distortion_of(const X& x, const Q& q) {
  const auto a = real_view_of(x);
  const auto b = real_view_of(q);
  expects(a.rows == b.rows && a.cols == b.cols, "distortion_of: q must be {} x {} as x, is {} x {}", a.rows, a.cols, b.rows, b.cols);
  distortion total;
  for (index r = 0; r < a.rows; ++r) {
    distortion row;
    for (index c = 0; c < a.cols; ++c) row.add(double(a(r, c)), double(b(r, c)));
    total.merge(row);
  }
  return total;
}

}  // namespace quench
