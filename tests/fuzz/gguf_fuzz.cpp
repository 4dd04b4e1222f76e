// libFuzzer target: a GGUF header is read or refused with io_error; nothing else may happen.
#include <quench/io/gguf_header.hpp>

#include <cstdlib>

// A message may name the place where data would begin, which alignment moves past the end.
constexpr std::uint64_t header_slack = std::uint64_t{1} << 31;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const auto header = quench::io::parse_gguf(bytes, "fuzz");
    std::size_t held = 0;
    for (const auto& [key, value] : header.metadata) {
      held += value.bytes().size();
      if (value.type() == quench::io::gguf_type::array && value.element() == quench::io::gguf_type::string &&
          value.strings().size() != value.size())
        std::abort();
    }
    if (held > size) std::abort();
    for (const auto& t : header.tensors)
      if (t.begin > size || t.bytes > size - t.begin) std::abort();
  } catch (const quench::io_error& e) {
    if (e.offset() > size + header_slack) std::abort();
  }
  return 0;
}
