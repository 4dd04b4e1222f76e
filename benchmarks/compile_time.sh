#!/usr/bin/env bash
# What a header costs: seconds of processor time to compile a file that only includes it, least of three.
# usage: benchmarks/compile_time.sh FILE, whose one line is the compiler and its include flags (run.sh --compile-time).
set -euo pipefail
read -r compile < "$1"
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
TIMEFORMAT='%U %S'

# seconds HEADER FLAGS...: least of three
seconds() {
  local header=$1 least=''; shift
  printf '#include <%s>\n' "$header" > "$work/one.cpp"
  for _ in 1 2 3; do
    t=$({ time $compile "$@" -c "$work/one.cpp" -o "$work/one.o" 2> "$work/errors"; } 2>&1) || { cat "$work/errors" >&2; return 1; }
    t=$(awk '{ printf "%.2f", $1 + $2 }' <<< "$t")
    least=$(awk -v a="$t" -v b="${least:-$t}" 'BEGIN { print a < b ? a : b }')
  done
  printf '%.2f' "$least"
}
echo "${compile%% *}: seconds to include, least of three"
printf '%-40s %6s %6s %20s\n' header -O0 -O2 '-O3 -march=native'
root=$(cd "$(dirname "$0")/.." && pwd)
for header in Eigen/Core xsimd/xsimd.hpp \
    $(cd "$root/include" && ls quench/core/*.hpp quench/simd/*.hpp quench/format/*.hpp quench/quant/*.hpp quench/stats/*.hpp) quench/quench.hpp; do
  printf '%-40s %6s %6s %20s\n' "$header" "$(seconds "$header" -O0)" "$(seconds "$header" -O2)" "$(seconds "$header" -O3 -march=native)"
done
