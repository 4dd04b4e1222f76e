#pragma once
// The quantizer in the plainest words there are: the truth that every fast path is held against, bit for bit.
#include <quench/quant/packed.hpp>

#include <cstring>
#include <random>

namespace oracle {

namespace q = quench;

template <class T>
bool same_bits(T a, T b) {
  return (a != a && b != b) || std::memcmp(&a, &b, sizeof(T)) == 0;
}
template <class A, class B>
bool same(const A& a, const B& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return false;
  for (q::index r = 0; r < a.rows(); ++r)
    for (q::index c = 0; c < a.cols(); ++c)
      if (!same_bits(a(r, c), b(r, c))) return false;
  return true;
}

/// Nearest of the format's values by search over all of them; ties to the even code (or the smaller value).
template <class T>
T nearest(const q::value_grid& g, T x) {
  const q::codebook& b = g.book();
  T best = 0;
  double least = std::numeric_limits<double>::infinity();
  unsigned best_code = 0;
  for (std::size_t j = 0; j < b.values.size(); ++j) {
    if (b.values[j] < g.low || b.values[j] > g.high) continue;
    const double d = std::abs(double(x) - double(b.values[j]));
    const bool tie = d == least && g.name != "nf4" && b.codes[j] % 2 == 0 && best_code % 2 == 1;
    if (d < least || tie) least = d, best = T(b.values[j]), best_code = b.codes[j];
  }
  const bool signed_zero = g.kind == q::grid_kind::minifloat;
  return signed_zero && best == 0 ? std::copysign(best, x) : best;
}

/// Fake quantisation of one group by absmax, restricted, nearest even.
template <class T>
T scale_of(const q::value_grid& g, T amax) {
  if (!(amax <= std::numeric_limits<T>::max())) return std::numeric_limits<T>::quiet_NaN();
  if (amax == 0) return T(1);
  return std::max(T(amax / T(g.top())), std::numeric_limits<T>::denorm_min());
}

template <class T>
q::matrix<T> fake_quant(const q::value_grid& g, const q::matrix<T>& w, q::tile t) {
  q::matrix<T> out(w.rows(), w.cols());
  q::for_each_tile(w.rows(), w.cols(), t, [&](q::index r0, q::index c0, q::index nr, q::index nc) {
    T amax = 0;
    bool bad = false;
    for (q::index r = r0; r < r0 + nr; ++r)
      for (q::index c = c0; c < c0 + nc; ++c) {
        const T a = std::abs(w(r, c));
        bad = bad || !(a <= std::numeric_limits<T>::max());
        if (a > amax) amax = a;
      }
    const T s = bad ? std::numeric_limits<T>::quiet_NaN() : scale_of(g, amax);
    for (q::index r = r0; r < r0 + nr; ++r)
      for (q::index c = c0; c < c0 + nc; ++c) {
        const T limited = std::min(std::max(w(r, c), T(g.low) * s), T(g.high) * s);
        out(r, c) = s != s ? s : nearest(g, T(limited / s)) * s;
      }
  });
  return out;
}

inline std::vector<q::value_grid> all_grids() {
  std::vector<q::value_grid> all;
  q::builtin_formats::for_each([&]<class F>(F) { all.push_back(q::grid_of<F>()); });
  return all;
}
inline std::vector<q::tile> all_groups() {
  return {q::per_tensor(), q::per_row(), q::per_column(), q::per_block(16), q::per_block(32), q::per_block(5), q::per_tile(3, 8), q::per_tile(2, 0)};
}
inline std::vector<q::rounding> all_roundings() {
  return {q::nearest_even{}, q::nearest_away{}, q::toward_zero{}, q::round_down{}, q::round_up{}, q::stochastic{7}, q::stochastic{7, 1, 4}, q::dither{3}};
}

/// Gaussian, with a few exact ties of the int4 and fp8 grids mixed in.
template <class T = float>
q::matrix<T> sample(q::index rows, q::index cols, std::uint64_t seed = 1) {
  const q::random_stream random(seed, 0);
  q::matrix<T> w(rows, cols);
  for (q::index i = 0; i < w.size(); ++i) {
    const auto at = std::uint64_t(i);
    w.data()[i] = T(float(random.normal(at)));
    if (random.below(1000 + at, 7) == 0) w.data()[i] = T(std::round(w.data()[i] * 4) / 8);
  }
  return w;
}

}  // namespace oracle
