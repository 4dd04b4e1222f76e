#!/usr/bin/env bash
# Builds and runs every test: tests/run.sh [PRESET], default ci. Other presets: dev release asan-ubsan scalar clang.
# Installs what is missing (Debian, Ubuntu). Ends with ctest's own summary and its exit code.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-ci}
more=()
[ "$preset" != clang ] || more+=(clang)
cmake/install-deps.sh "${more[@]}"
jobs=$(nproc)
cmake --preset "$preset"
cmake --build --preset "$preset" -j "$jobs"
ctest --preset "$preset" -j "$jobs"
