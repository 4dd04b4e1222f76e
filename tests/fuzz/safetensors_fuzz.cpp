// libFuzzer target: a safetensors header is read or refused with io_error; nothing else may happen.
#include <quench/io/safetensors_header.hpp>

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const auto header = quench::io::parse_safetensors(bytes, "fuzz", size);
    std::uint64_t at = header.data_offset;
    for (const auto& t : header.tensors) {  // what was accepted tiles the file
      if (t.begin != at || t.count() * static_cast<std::uint64_t>(quench::io::bits_of(t.type)) != t.bytes * 8) std::abort();
      at += t.bytes;
    }
    if (at != size) std::abort();
  } catch (const quench::io_error& e) {
    if (e.offset() > size + 8 && e.offset() != 0) std::abort();
  }
  return 0;
}
