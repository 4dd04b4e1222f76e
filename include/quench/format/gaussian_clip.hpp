#pragma once
/// \file  The clip of least expected square error for Gaussian data: minimise over c the distance between X ~ N(0, 1)
/// and its nearest value on the grid whose top sits at c (Max 1960; constants as used by Panferov et al. 2025).
#include <quench/format/grid.hpp>

namespace quench::inline QUENCH_ISA {

/// E (X - Q(X))^2 for X ~ N(0, 1), where Q picks the nearest of step * values[j] (those >= low * step).
inline double gaussian_error(const codebook& b, double low, double step) {
  const auto density = [](double x) { return 0.3989422804014327 * std::exp(-0.5 * x * x); };
  const auto below = [](double x) { return 0.5 * std::erfc(-x * 0.7071067811865476); };
  double error = 0, from = -std::numeric_limits<double>::infinity();
  double p0 = 0, d0 = 0, x0 = 0;   // probability, density, and x * density at the lower edge of the cell
  for (std::size_t j = 0; j < b.values.size(); ++j) {
    if (double(b.values[j]) < low) continue;
    const bool last = j + 1 == b.values.size();
    const double v = step * double(b.values[j]);
    const double to = last ? std::numeric_limits<double>::infinity() : step * 0.5 * (double(b.values[j]) + double(b.values[j + 1]));
    const double p1 = last ? 1 : below(to), d1 = last ? 0 : density(to), x1 = last ? 0 : to * d1;
    // Integral of (x - v)^2 over the cell, in closed form.
    error += (1 + v * v) * (p1 - p0) - (x1 - x0) + 2 * v * (d1 - d0);
    from = to;
    p0 = p1, d0 = d1, x0 = x1;
  }
  static_cast<void>(from);
  return error;
}

/// The clip c (in standard deviations) that puts the grid's top where the expected square error is least, to about
/// 1e-6. Grids of more than 4096 values are fine enough everywhere: they give a clip of 8.
inline double optimal_gaussian_clip(const codebook& b, double low, double top) {
  if (b.values.size() > 4096 || !(top > 0)) return 8;
  const auto cost = [&](double c) { return gaussian_error(b, low, c / top); };
  double best = 1, least = cost(1);
  for (double c = 0.25; c <= 12; c += 0.05)
    if (const double e = cost(c); e < least) least = e, best = c;
  double a = best - 0.05, d = best + 0.05;
  for (int k = 0; k < 40; ++k) {   // golden section inside the best cell
    const double step = 0.3819660112501051 * (d - a);
    if (cost(a + step) < cost(d - step)) d -= step;
    else a += step;
  }
  return 0.5 * (a + d);
}

}  // namespace quench
