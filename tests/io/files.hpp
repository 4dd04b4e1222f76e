#pragma once
// A folder of its own for a test, gone afterwards; files made from text; and the three parts of an io_error.
#include <quench/io/atomic_file.hpp>

#include <cstdlib>

#include "catch.hpp"

namespace files {

struct folder {
  quench::io::path at;
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "quench-io-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    at = name;
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(at, ignored);
  }
  quench::io::path operator/(std::string_view name) const { return at / name; }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(at), std::filesystem::directory_iterator()));
  }
};

/// Runs `f`, requires an io_error about `file` whose reason holds `words`, and returns its offset.
template <class F>
std::uint64_t io_error_offset(const quench::io::path& file, std::string_view words, F&& f) {
  try {
    f();
  } catch (const quench::io_error& e) {
    INFO(e.what());
    CHECK(e.file().starts_with(file.string()));
    CHECK(e.reason().find(words) != std::string::npos);
    CHECK(std::string_view(e.what()).find(e.reason()) != std::string_view::npos);
    return e.offset();
  }
  FAIL("no io_error; expected one about: " << words);
  return 0;
}

/// The shared reference folder, when this machine has it.
inline quench::io::path shared_folder() {
  const char* set = std::getenv("QUENCH_SHARED_DIR");
  return set ? quench::io::path(set) : quench::io::path(QUENCH_SOURCE_DIR) / ".." / "shared";
}

}  // namespace files
