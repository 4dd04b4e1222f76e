// libFuzzer target: a JSON text is read or refused with io_error, and what is read survives being written.
#include <quench/io/json.hpp>

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quench;
  try {
    const io::json value = io::parse_json({reinterpret_cast<const char*>(data), size}, "fuzz");
    const std::string line = io::to_line(value);
    if (line.find('\n') != line.npos || io::to_line(io::parse_json(line, "again")) != line) std::abort();
  } catch (const io_error& e) {
    if (e.offset() > size) std::abort();
  }
  return 0;
}
