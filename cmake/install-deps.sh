#!/usr/bin/env bash
# Sees to it that what Quench is built with is on this machine: cmake/install-deps.sh [MORE-PACKAGES...]
# Does nothing when all is there (and needs no network then); installs with apt as root or through sudo; elsewhere says what is missing.
set -euo pipefail
packages=(g++ cmake ninja-build libeigen3-dev libxsimd-dev catch2 libbenchmark-dev nlohmann-json3-dev libcli11-dev "$@")

missing=()
if command -v dpkg-query >/dev/null; then
  for p in "${packages[@]}"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || missing+=("$p")
  done
  [ ${#missing[@]} -gt 0 ] || exit 0
else
  missing=("${packages[@]}")
fi

if [ "$(id -u)" = 0 ]; then as_root=(env); elif command -v sudo >/dev/null; then as_root=(sudo env); else as_root=(); fi
if command -v apt-get >/dev/null && [ ${#as_root[@]} -gt 0 ]; then
  echo "installing: ${missing[*]}"
  apt() { "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -qq "$@"; }
  log=$(mktemp)
  if apt update >"$log" 2>&1 && apt install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
    rm -f "$log"
    exit 0
  fi
  tail -n 20 "$log" >&2
  rm -f "$log"
  echo "install-deps: apt-get could not install: ${missing[*]}" >&2
  exit 1
fi

# No apt, or no right to use it: what counts is whether CMake finds the tools and headers.
top=$(cd "$(dirname "$0")/.." && pwd)
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
if command -v cmake >/dev/null && command -v ninja >/dev/null &&
   cmake -S "$top" -B "$probe" -G Ninja -DQUENCH_BUILD_BENCHMARKS=ON >"$probe/log" 2>&1; then
  exit 0
fi
[ ! -s "$probe/log" ] || grep -A 6 'CMake Error' "$probe/log" >&2 || true
cat >&2 <<END
install-deps: this machine lacks something Quench is built with, and apt-get cannot be used here. Please install
  a C++20 compiler (g++ >= 12 or clang >= 14), CMake >= 3.21, Ninja, Eigen 3.4, xsimd >= 8.1, Catch2 (2.13 or 3),
  Google Benchmark, nlohmann-json >= 3.11 and CLI11 >= 2.1
On Debian and Ubuntu these are: ${packages[*]}
END
exit 1
