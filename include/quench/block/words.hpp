#pragma once
/// \file  Codes in 32-bit words, as GPTQ, AWQ and compressed-tensors checkpoints store them. One rule serves
/// all: code e of a line occupies bits [b e, b e + b) of a little-endian stream; they differ in the axis and
/// in small customs.
#include <quench/core/error.hpp>
#include <quench/core/matrix.hpp>

#include <array>

namespace quench::inline QUENCH_ISA::words {

using codes = Eigen::Matrix<std::uint8_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using words32 = Eigen::Matrix<std::int32_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Words that n codes of `bits` bits need. \throws error for bits outside 1 .. 8 or n < 0.
inline index word_count(index n, int bits) {
  expects(bits >= 1 && bits <= 8, "word_count: bits must be 1 .. 8, are {}", bits);
  expects(n >= 0, "word_count: the number of codes must not be negative, is {}", n);
  return n / 32 * bits + (n % 32 * bits + 31) / 32;
}

namespace detail {

inline void check_codes(const codes& q, int bits, const char* who) {
  for (index i = 0; i < q.size(); ++i)
    expects(int(q.data()[i]) < (1 << bits), "{}: code {} does not fit {} bits", std::string_view(who),
            int(q.data()[i]), bits);
}

}  // namespace detail

/// [lines, n] codes -> [lines, word_count(n)] words along each row. Unused bits are zero.
/// \throws error for a code that does not fit.
inline words32 pack_rows(const codes& q, int bits) {
  const index per_row = word_count(q.cols(), bits);
  detail::check_codes(q, bits, "pack_rows");
  words32 out = words32::Zero(q.rows(), per_row);
  for (index r = 0; r < q.rows(); ++r)
    for (index c = 0; c < q.cols(); ++c) {
      const index at = c * bits;
      const std::uint64_t window = std::uint64_t(q(r, c)) << (at % 32);
      out(r, at / 32) |= std::int32_t(std::uint32_t(window));
      if (window >> 32) out(r, at / 32 + 1) |= std::int32_t(std::uint32_t(window >> 32));
    }
  return out;
}

/// The inverse: the first n codes of each row. \throws error when a row has too few words.
inline codes unpack_rows(const words32& w, index n, int bits) {
  const index need = word_count(n, bits);
  expects(w.cols() >= need, "unpack_rows: {} codes of {} bits need {} words a row, there are {}", n, bits,
          need, w.cols());
  codes q(w.rows(), n);
  for (index r = 0; r < w.rows(); ++r)
    for (index c = 0; c < n; ++c) {
      const index at = c * bits, word = at / 32;
      std::uint64_t window = std::uint32_t(w(r, word));
      if (at % 32 + bits > 32) window |= std::uint64_t(std::uint32_t(w(r, word + 1))) << 32;
      q(r, c) = std::uint8_t(window >> (at % 32) & ((1u << bits) - 1));
    }
  return q;
}

// ---- compressed-tensors "pack-quantized": codes are the signed ones plus 2^(bits - 1)
// ---------------------------
/// weight_packed [out, word_count(in)] from codes [out, in].
inline words32 compressed_weight(const codes& out_in, int bits) { return pack_rows(out_in, bits); }
inline codes compressed_weight_codes(const words32& w, index in, int bits) {
  return unpack_rows(w, in, bits);
}
/// weight_zero_point [word_count(out), groups] from zero points [out, groups]: packed along dimension 0.
inline words32 compressed_zeros(const codes& out_groups, int bits) {
  return pack_rows(out_groups.transpose(), bits).transpose();
}
inline codes compressed_zero_codes(const words32& w, index out, int bits) {
  return unpack_rows(w.transpose(), out, bits).transpose();
}

// ---- GPTQ: qweight along the inputs, qzeros along the outputs
// ---------------------------------------------------
/// v1 ("gptq") stores zero - 1 modulo 2^bits, v2 ("gptq_v2") stores zero.
enum class gptq_version : std::uint8_t { v1, v2 };

/// qweight [word_count(in), out] from codes [out, in].
inline words32 gptq_qweight(const codes& out_in, int bits) { return pack_rows(out_in, bits).transpose(); }
inline codes gptq_codes(const words32& qweight, index in, int bits) {
  return unpack_rows(qweight.transpose(), in, bits);
}

/// qzeros [groups, word_count(out)] from zero points [out, groups].
inline words32 gptq_qzeros(const codes& out_groups, int bits, gptq_version v) {
  codes z = out_groups.transpose();
  detail::check_codes(z, bits, "gptq_qzeros");
  if (v == gptq_version::v1)
    for (index i = 0; i < z.size(); ++i) z.data()[i] = std::uint8_t((z.data()[i] - 1) & ((1 << bits) - 1));
  return pack_rows(z, bits);
}
inline codes gptq_zeros(const words32& qzeros, index out, int bits, gptq_version v) {
  codes z = unpack_rows(qzeros, out, bits);
  if (v == gptq_version::v1)
    for (index i = 0; i < z.size(); ++i) z.data()[i] = std::uint8_t((z.data()[i] + 1) & ((1 << bits) - 1));
  return z.transpose();
}

// ---- AWQ (GEMM): 4 bits, along the outputs, nibble i of word c is column 8 c + order[i]
// -------------------------
inline constexpr std::array<index, 8> awq_order = {0, 2, 4, 6, 1, 3, 5, 7};

/// [lines, n] -> [lines, n / 8]. \throws error when n is no multiple of 8 or a code does not fit 4 bits.
inline words32 awq_pack(const codes& q) {
  expects(q.cols() % 8 == 0, "awq_pack: columns must be a multiple of 8, are {}", q.cols());
  codes mixed(q.rows(), q.cols());
  for (index c = 0; c < q.cols(); ++c) mixed.col(c) = q.col(c / 8 * 8 + awq_order[std::size_t(c % 8)]);
  return pack_rows(mixed, 4);
}
inline codes awq_unpack(const words32& w) {
  const codes mixed = unpack_rows(w, 8 * w.cols(), 4);
  codes q(mixed.rows(), mixed.cols());
  for (index c = 0; c < q.cols(); ++c) q.col(c / 8 * 8 + awq_order[std::size_t(c % 8)]) = mixed.col(c);
  return q;
}
/// qweight [in, out / 8] from codes [out, in]; qzeros [groups, out / 8] from zero points [out, groups] (no
/// -1).
inline words32 awq_qweight(const codes& out_in) { return awq_pack(out_in.transpose()); }
inline words32 awq_qzeros(const codes& out_groups) { return awq_pack(out_groups.transpose()); }

}  // namespace quench::inline QUENCH_ISA::words
