#pragma once
// The goldens' folder, their indexes and inputs. QUENCH_GOLDENS_DIR names the goldens (the folder `formats`
// or the one above it); tests/data/formats otherwise.
#include <quench/core/matrix.hpp>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.hpp"

namespace goldens {

namespace q = quench;
using nlohmann::json;

inline std::filesystem::path folder() {
  const char* named = std::getenv("QUENCH_GOLDENS_DIR");
  const std::filesystem::path root = named && *named ? named : QUENCH_TEST_DATA;
  return std::filesystem::exists(root / "formats") ? root / "formats" : root;
}

inline std::vector<char> read_all(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  INFO("file " << path.string());
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class T>
std::vector<T> values(const std::vector<char>& blob, std::size_t offset, std::size_t count) {
  REQUIRE(offset <= blob.size());
  REQUIRE(count <= (blob.size() - offset) / sizeof(T));
  std::vector<T> v(count);
  if (count > 0) std::memcpy(v.data(), blob.data() + offset, count * sizeof(T));
  return v;
}

/// An index and its blob, entries by name.
struct golden_file {
  json index;
  std::vector<char> blob;

  explicit golden_file(const std::string& stem)
      : index(json::parse(read_all(folder() / (stem + ".json")))),
        blob(read_all(folder() / index.at("blob").get<std::string>())) {
    for (const json& e : index.at("entries"))
      if (e.contains("name")) by_name_[e.at("name")] = e;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, e] : by_name_) all.push_back(name);
    REQUIRE(!all.empty());
    return all;
  }
  bool has(const std::string& name) const { return by_name_.count(name) > 0; }
  template <class T>
  std::vector<T> array(const std::string& name) const {
    const json& e = by_name_.at(name);
    return values<T>(blob, e.at("offset"), e.at("bytes").get<std::size_t>() / sizeof(T));
  }
  std::vector<q::index> shape(const std::string& name) const {
    return by_name_.at(name).at("shape").get<std::vector<q::index>>();
  }

 private:
  std::map<std::string, json> by_name_;
};

/// The input matrices by case name, and the importance of their columns.
struct inputs {
  std::size_t rows, cols;
  std::vector<float> importance;

  inputs() {
    const json j = json::parse(read_all(folder() / "inputs.json"));
    rows = j.at("rows");
    cols = j.at("cols");
    for (const auto& [name, c] : j.at("cases").items()) load(name, c.at("file"));
    if (std::filesystem::exists(folder() / "in_special.bin")) load("special", "in_special.bin");
    if (std::filesystem::exists(folder() / "imatrix.bin"))
      importance = values<float>(read_all(folder() / "imatrix.bin"), 0, cols);
  }
  const q::matrix<float>& matrix(const std::string& name) const {
    INFO("input " << name);
    REQUIRE(cases_.count(name) == 1);
    return cases_.at(name);
  }

 private:
  void load(const std::string& name, const std::string& file) {
    const auto v = values<float>(read_all(folder() / file), 0, rows * cols);
    cases_[name] = Eigen::Map<const q::matrix<float>>(v.data(), q::index(rows), q::index(cols));
  }
  std::map<std::string, q::matrix<float>> cases_;
};

inline const inputs& given() {
  static const inputs all;
  return all;
}

inline std::vector<float> values_of(const q::matrix<float>& m) { return {m.data(), m.data() + m.size()}; }

inline std::vector<std::string> split(const std::string& s, char at) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    const auto to = s.find(at, from);
    parts.push_back(s.substr(from, to == s.npos ? to : to - from));
    if (to == s.npos) return parts;
    from = to + 1;
  }
}

/// The same bits, or both NaN.
template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (a != a && b != b);
  else
    return a == b;
}

template <class T>
void check_equal(const std::vector<T>& mine, const std::vector<T>& theirs) {
  REQUIRE(mine.size() == theirs.size());
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = mine.size(); i-- > 0;)
    if (!same(mine[i], theirs[i])) {
      ++wrong;
      first = i;
    }
  CHECK(wrong == 0);
  if (wrong > 0)
    FAIL_CHECK(wrong << " of " << mine.size() << " differ, first at " << first << ": " << +mine[first]
                     << ", reference " << +theirs[first]);
}

/// No further apart than `tolerance`.
inline void check_within(const std::vector<float>& mine, const std::vector<float>& theirs, double tolerance) {
  REQUIRE(mine.size() == theirs.size());
  double worst = 0;
  for (std::size_t i = 0; i < mine.size(); ++i)
    worst = std::max(worst, std::fabs(double(mine[i]) - double(theirs[i])));
  CHECK(worst <= tolerance);
}

}  // namespace goldens
