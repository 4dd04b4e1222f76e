#pragma once
/// \file  Is a name UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
#include <quench/core/config.hpp>

#include <string_view>

namespace quench::inline QUENCH_ISA::io {

/// O(length), never allocates.
constexpr bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto at = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
    const unsigned lead = at(i);
    std::size_t more = 0;
    if (lead >= 0xc2 && lead < 0xe0)
      more = 1;
    else if (lead >= 0xe0 && lead < 0xf0)
      more = 2;
    else if (lead >= 0xf0 && lead < 0xf5)
      more = 3;
    else if (lead >= 0x80)
      return false;
    if (more >= text.size() - i) return false;
    for (std::size_t k = 1; k <= more; ++k)
      if ((at(i + k) & 0xc0) != 0x80) return false;
    if (more >= 2) {
      const unsigned second = at(i + 1);
      if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return false;
      if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return false;
    }
    i += more + 1;
  }
  return true;
}

}  // namespace quench::inline QUENCH_ISA::io
