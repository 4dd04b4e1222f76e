#!/bin/sh
# run.sh [SECONDS [LIMIT]], LIMIT such as -runs=5000 in place of the seconds: builds the libFuzzer targets with clang and runs each on its seed corpus (60 seconds unless told).
# Exit 77 when there is no clang with libFuzzer. The seed is fixed: two runs walk the same way. New inputs go to $TMPDIR/quench-fuzz.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
seconds=${1:-60}
limit=${2:--max_total_time=$seconds}
work=${TMPDIR:-/tmp}/quench-fuzz
mkdir -p "$work"
cxx=""
for c in ${CXX:-} clang++ clang++-19 clang++-18 clang++-16 clang++-15 clang++-14; do
  if echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    "$c" -x c++ -fsanitize=fuzzer,address,undefined - -o "$work/probe" 2> /dev/null; then
    cxx=$c
    break
  fi
done
if [ -z "$cxx" ]; then
  echo "quench-skip: no clang with libFuzzer here"
  exit 77
fi
eigen=$(pkg-config --cflags-only-I eigen3 2> /dev/null | sed 's/-I/-isystem /' || true)
for name in safetensors gguf json; do
  echo "fuzz: $name, $seconds s, $cxx"
  # shellcheck disable=SC2086
  "$cxx" -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all ${eigen:--isystem /usr/include/eigen3} \
    -I"$here/../../include" "$here/${name}_fuzz.cpp" -o "$work/$name"
  rm -rf "$work/found-$name"
  mkdir -p "$work/found-$name"
  if ! "$work/$name" -seed=1 "$limit" -max_len=4096 -rss_limit_mb=512 -malloc_limit_mb=64 \
    -artifact_prefix="$work/crash-$name-" "$work/found-$name" "$here/corpus/$name" > "$work/$name.log" 2>&1; then
    tail -40 "$work/$name.log"
    echo "fuzz: $name failed; the input is in $work"
    exit 1
  fi
  grep '^Done' "$work/$name.log"
done
