#!/usr/bin/env bash
# Builds the release preset's benchmarks, runs them, prints one table.
set -euo pipefail
usage() {
  cat <<'TEXT'
usage: benchmarks/run.sh [--filter RE] [--json OUT] [--instructions] [--no-build] [--compile-time]
  --filter RE      only benchmarks whose name matches, such as 'fake_quant.*/L2'
  --json OUT       also write Google Benchmark's JSON, all layers in one file
  --instructions   count instructions per element too (smallest size; exact, slow)
  --no-build       run what is built
  --compile-time   measure instead what including the headers costs
TEXT
}
die() { echo "benchmarks/run.sh: $*" >&2; exit 1; }

filter='.*' json='' build=1 compile_time=0
while [ $# -gt 0 ]; do
  case $1 in
    --filter) [ $# -ge 2 ] || { usage >&2; exit 2; }; filter=$2; shift 2 ;;
    --json) [ $# -ge 2 ] || { usage >&2; exit 2; }; json=$2; shift 2 ;;
    --instructions) export QUENCH_BENCH_INSTRUCTIONS=1; shift ;;
    --no-build) build=0; shift ;;
    --compile-time) compile_time=1; shift ;;
    -h|--help) usage; exit 0 ;;
    *) echo "benchmarks/run.sh: unknown argument '$1'" >&2; usage >&2; exit 2 ;;
  esac
done
if [ -n "$json" ]; then { : > "$json"; } 2> /dev/null || die "cannot write '$json'"; fi

root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build/release
log=$(mktemp); parts=$(mktemp -d); trap 'rm -rf "$log" "$parts"' EXIT
quietly() { "$@" > "$log" 2>&1 || { tail -n 30 "$log" >&2; die "'$1' failed, see above"; }; }

cd "$root"
if [ $build = 1 ]; then
  for tool in cmake ninja; do
    command -v $tool > /dev/null || die "'$tool' is missing; install cmake (3.21 or later) and ninja, or run cmake/install-deps.sh"
  done
  echo "configuring and building (release) ..." >&2
  launcher=(); command -v ccache > /dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  if ! cmake --preset release "${launcher[@]}" -DQUENCH_BUILD_BENCHMARKS=ON > "$log" 2>&1; then
    tail -n 30 "$log" >&2
    grep -q benchmarkConfig.cmake "$log" && die "Google Benchmark is missing; install it (libbenchmark-dev) or run cmake/install-deps.sh"
    die "configuring failed, see above"
  fi
  [ $compile_time = 1 ] || quietly cmake --build build/release --target quench_benchmarks
fi
[ -f "$out/benchmarks/programs.txt" ] || die "nothing is built in build/release; leave out --no-build"

if [ $compile_time = 1 ]; then
  exec "$root/benchmarks/compile_time.sh" "$out/benchmarks/compile.txt"
fi

header='' rows=0 status=0
while read -r program; do
  [ -n "$program" ] || continue
  exe=$out/benchmarks/$program
  [ -x "$exe" ] || die "$exe is not built; leave out --no-build"
  [ "$("$exe" --benchmark_list_tests --benchmark_filter="$filter" 2> /dev/null | wc -l)" -gt 0 ] || continue
  part=$parts/$program.json
  "$exe" $header --benchmark_filter="$filter" --benchmark_out="$part" --benchmark_out_format=json || status=1
  header=--no_header rows=1
  ! grep -q '"error_occurred": true' "$part" || status=1
done < "$out/benchmarks/programs.txt"
[ $rows = 1 ] || die "no benchmark matches '$filter'"

# One document: the first one's context, everybody's rows.
if [ -n "$json" ]; then
  awk 'FNR == 1 { file++; inside = 0; held = "" }
       /^  "benchmarks": \[/ { inside = 1; if (file == 1) print; next }
       !inside { if (file == 1) print; next }
       /^  \]/ { inside = 0; nextfile }
       { if (/^    \{/ && seen++) print "    ,"; sub(/^    \},$/, "    }"); print }
       END { print "  ]\n}" }' "$parts"/*.json > "$json"
fi
exit $status
