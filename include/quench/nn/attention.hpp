#pragma once
/// \file  Causal softmax attention with shared keys and values (Vaswani et al. 2017; Ainslie et al. 2023),
/// head by head as small products that skip the keys a block of queries cannot see.
#include <quench/nn/gemm.hpp>
#include <quench/nn/rope.hpp>

namespace quench::inline QUENCH_ISA::nn::detail {

struct attention_shape {
  index sequences, length, heads, groups, width;
  index stride() const { return (length + 15) / 16 * 16; }  ///< of a row of probabilities
  index head_size() const { return length * stride(); }
};

/// p[0..t] = softmax(scale z[0..t]) in place; zeros up to `end`.
template <class T>
QUENCH_INLINE void softmax_row(T* z, index visible, index end, T scale) {
  wide<T> top = wide<T>{} - std::numeric_limits<T>::infinity();
  T most = -std::numeric_limits<T>::infinity();
  for_row<T>(visible, [&]<class V>(index j, V) {
    const V a = get<V>(z + j) * scale;
    if constexpr (std::is_same_v<V, T>)
      most = a > most ? a : most;
    else
      top = a > top ? a : top;
  });
  if (const T m = max_lanes<T>(top); m > most) most = m;
  const T sum = sum_row<T>(visible, [&]<class V>(index j, V) {
    const V e = exp_of<V>(get<V>(z + j) * scale - most);
    put(z + j, e);
    return e;
  });
  const T s = T(1) / sum;
  for_row<T>(visible, [&]<class V>(index j, V) { put(z + j, get<V>(z + j) * s); });
  for (index j = visible; j < end; ++j) z[j] = T(0);
}

/// out = softmax(scale[h] q k^T) v. probs [sequence, head, query, stride()] keeps the probabilities; beyond
/// the block of tile_rows keys that holds the query's own they are unspecified. `packed` is scratch.
template <class T>
void attention(const attention_shape& a, head_rows<const T> q, head_rows<const T> k, head_rows<const T> v,
               const T* scale, T* probs, head_rows<T> out, buffer<T>& packed, buffer<T>& packed_v) {
  const index n = a.length, ratio = a.heads / a.groups;
  T* kt = packed.reshape(1, packed_size<T>(a.width, n));
  T* vp = packed_v.reshape(1, packed_size<T>(n, a.width));
  for (index s = 0; s < a.sequences; ++s)
    for (index h = 0; h < a.heads; ++h, probs += a.head_size()) {
      const index r = s * n;
      if (h % ratio == 0) {
        pack_panels(k.at(r, h / ratio), 1, k.row, a.width, n, kt);
        pack_panels(v.at(r, h / ratio), v.row, 1, n, a.width, vp);
      }
      for (index i = 0; i < n; i += tile_rows) {
        const index rows = std::min(tile_rows, n - i), end = i + rows;
        T* p = probs + i * a.stride();
        multiply<T>({q.at(r + i, h), q.row, 1}, rows, kt, a.width, end, p, a.stride(), false);
        for (index t = 0; t < rows; ++t) softmax_row(p + t * a.stride(), i + t + 1, end, scale[h]);
        multiply_causal<T>({p, a.stride(), 1}, rows, vp, n, end, a.width, out.at(r + i, h), out.row);
      }
    }
}

/// From dout: writes dq, dk, dv and adds to dscale[h] unless it is null. With P the probabilities, dP = dout
/// v^T and dZ = P (dP - sum_j P dP): dv = P^T dout, dq = scale dZ k, dk = scale dZ^T q, dscale = <dZ, q k^T>.
template <class T>
void attention_backward(const attention_shape& a, head_rows<const T> q, head_rows<const T> k,
                        head_rows<const T> v, const T* scale, const T* probs, head_rows<const T> dout,
                        head_rows<T> dq, head_rows<T> dk, head_rows<T> dv, T* dscale, buffer<T>& b1,
                        buffer<T>& b2, buffer<T>& b3, buffer<T>& dz_store) {
  const index n = a.length, ratio = a.heads / a.groups, ld = a.stride();
  T* vt = b1.reshape(1, packed_size<T>(a.width, n));
  T* kp = b2.reshape(1, packed_size<T>(n, a.width));
  T* right = b3.reshape(1, packed_size<T>(n, a.width));
  T* dz = dz_store.reshape(n, ld);
  for (index s = 0; s < a.sequences; ++s)
    for (index h = 0; h < a.heads; ++h, probs += a.head_size()) {
      const index r = s * n, g = h / ratio;
      const bool first = h % ratio == 0;
      if (first) {
        pack_panels(v.at(r, g), 1, v.row, a.width, n, vt);
        pack_panels(k.at(r, g), k.row, 1, n, a.width, kp);
      }
      for (index i = 0; i < n; i += tile_rows) {
        const index rows = std::min(tile_rows, n - i), end = i + rows;
        T* d = dz + i * ld;
        multiply<T>({dout.at(r + i, h), dout.row, 1}, rows, vt, a.width, end, d, ld, false);
        for (index t = 0; t < rows; ++t) {
          const T* p = probs + (i + t) * ld;
          T* z = d + t * ld;
          const T mean =
              sum_row<T>(i + t + 1, [&]<class V>(index j, V) { return get<V>(p + j) * get<V>(z + j); });
          for_row<T>(end, [&]<class V>(index j, V) { put(z + j, get<V>(p + j) * (get<V>(z + j) - mean)); });
        }
        multiply_causal<T>({d, ld, 1}, rows, kp, n, end, a.width, dq.at(r + i, h), dq.row);
      }
      T ds{};
      for (index t = 0; t < n; ++t) {
        T* x = dq.at(r + t, h);
        const T* y = q.at(r + t, h);
        if (dscale)
          ds += sum_row<T>(a.width, [&]<class V>(index j, V) { return get<V>(x + j) * get<V>(y + j); });
        for_row<T>(a.width, [&]<class V>(index j, V) { put(x + j, get<V>(x + j) * scale[h]); });
      }
      if (dscale) dscale[h] += ds;
      const auto transposed = [&](const T* left,
                                  head_rows<T> to) {  // to[j] (+)= sum over i >= j of left[i][j] right[i]
        for (index j = 0; j < n; j += tile_rows)
          multiply_lower<T>({left + j * ld + j, 1, ld}, std::min(tile_rows, n - j), right, n, j, a.width,
                            to.at(r + j, g), to.row, !first);
      };
      pack_panels(q.at(r, h), q.row, 1, n, a.width, right, scale[h]);
      transposed(dz, dk);
      pack_panels(dout.at(r, h), dout.row, 1, n, a.width, right);
      transposed(probs, dv);
    }
}

}  // namespace quench::inline QUENCH_ISA::nn::detail
