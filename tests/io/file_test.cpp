#include <quench/io/line_file.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <csignal>

#include "io/files.hpp"

using namespace quench;
using namespace quench::io;

TEST_CASE("io_error says file, reason and byte, and keeps them apart") {
  const io_error e("model.gguf", 24, "ends too early");
  CHECK(std::string(e.what()) == "model.gguf: ends too early (byte 24)");
  CHECK((e.file() == "model.gguf" && e.offset() == 24 && e.reason() == "ends too early"));
  CHECK(printable("a\n\x7f\xc3\xa9") == "a\\x0a\\x7f\xc3\xa9");
  CHECK(printable(std::string(200, 'x')).size() == 83);
}

TEST_CASE("mapped files: contents, bounds, empty, missing, folders, moves") {
  const files::folder dir;
  write_file(dir / "a", "hello");
  mapped_file a(dir / "a");
  CHECK(a.text() == "hello");
  CHECK(a.bytes(1, 4).size() == 4);
  CHECK(files::io_error_offset(dir / "a", "3 bytes wanted here, 2 left", [&] { a.bytes(3, 3); }) == 3);
  files::io_error_offset(dir / "a", "0 left", [&] { a.bytes(6, 0); });
  files::io_error_offset(dir / "a", "wanted", [&] { a.bytes(1, std::numeric_limits<std::uint64_t>::max()); });
  a.release(0, 5);
  mapped_file b = std::move(a);
  CHECK((b.text() == "hello" && a.size() == 0));
  a = std::move(b);
  CHECK(a.text() == "hello");
  write_file(dir / "empty", "");
  CHECK(mapped_file(dir / "empty").size() == 0);
  files::io_error_offset(dir / "none", "No such file", [&] { mapped_file f(dir / "none"); });
  files::io_error_offset(dir.at, "not a regular file", [&] { mapped_file f(dir.at); });
}

TEST_CASE("released pages of a large file come back when touched, and do not stay resident") {
  const files::folder dir;
  const std::string megabyte(1 << 20, 'x');
  {
    atomic_file out(dir / "big");
    for (int i = 0; i < 32; ++i) out.append(megabyte);
    out.commit();
  }
  const mapped_file big(dir / "big");
  const auto resident = [] {
    std::size_t pages = 0, total = 0;
    std::FILE* f = std::fopen("/proc/self/statm", "r");
    if (!f) return std::size_t{0};
    const int n = std::fscanf(f, "%zu %zu", &total, &pages);
    std::fclose(f);
    return n == 2 ? pages * 4096 : 0;
  };
  const std::size_t before = resident();
  std::size_t sum = 0, most = 0;
  for (std::uint64_t i = 0; i < 32; ++i) {
    for (const std::byte b : big.bytes(i << 20, 1 << 20)) sum += std::to_integer<std::size_t>(b);
    most = std::max(most, resident());
    big.release(i << 20, 1 << 20);
  }
  CHECK(sum == std::size_t{'x'} << 25);
  CHECK(big.text()[5] == 'x');
  if (before > 0) CHECK(most < before + (std::size_t{12} << 20));
}

TEST_CASE("atomic files: nothing before commit, everything after, permissions and links kept") {
  const files::folder dir;
  const path file = dir / "a";
  write_file(file, "old");
  ::chmod(file.c_str(), 0640);
  {
    atomic_file out(file);
    out.append("new");
    out.pad_to(8);
    out.append_number(std::uint16_t{0x4241});
    CHECK(out.position() == 10);
    out.write_at(1, std::as_bytes(std::span("E", 1)));
    CHECK(read_file(file) == "old");
  }
  CHECK(read_file(file) == "old");
  CHECK(dir.entries() == 1);
  {
    atomic_file out(file);
    out.append(std::string(3 << 20, 'y'));
    out.append("z");
    out.commit();
  }
  CHECK(read_file(file).size() == (3 << 20) + 1);
  CHECK(read_file(file).back() == 'z');
  CHECK(dir.entries() == 1);
  struct stat facts = {};
  REQUIRE(::stat(file.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0640);
  std::filesystem::create_symlink(file, dir / "link");
  write_file(dir / "link", "through the link");
  CHECK(std::filesystem::is_symlink(dir / "link"));
  CHECK(read_file(file) == "through the link");
  files::io_error_offset(dir / "no" / "a", "No such file", [&] { write_file(dir / "no" / "a", ""); });
  files::io_error_offset(dir.at, "not a regular file", [&] { write_file(dir.at, ""); });
}

TEST_CASE("a process killed while it writes leaves the old file") {
  const files::folder dir;
  write_file(dir / "a", "old");
  const ::pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    atomic_file out(dir / "a");
    out.append(std::string(4 << 20, 'n'));
    ::raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(read_file(dir / "a") == "old");
}

TEST_CASE("a line file takes back what did not fit") {
  const files::folder dir;
  line_file lines(dir / "log");
  lines.append("first");
  CHECK_THROWS_AS(lines.append("two\nlines"), error);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old = {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
  const rlimit small{20, old.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto at =
      files::io_error_offset(dir / "log", "cannot append", [&] { lines.append(std::string(100, 'x')); });
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &old) == 0);
  CHECK(at == 20);
  CHECK(read_file(dir / "log") == "first\n");
  lines.append("second");
  CHECK(read_file(dir / "log") == "first\nsecond\n");
  CHECK(lines.size() == 13);
}

TEST_CASE("a full device is named") {
  if (!std::filesystem::exists("/dev/full")) return;
  line_file full("/dev/full");
  files::io_error_offset("/dev/full", "No space left on device", [&] { full.append("x"); });
}
