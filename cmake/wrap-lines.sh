#!/usr/bin/env bash
# Wraps what is wider than 110 columns, and only that, by the rules of .clang-format: cmake/wrap-lines.sh [FILES...], default every header.
# Comments are left for you: their tables and formulas would not survive. Needs clang-format. check_layers.cmake is the test that asks for it.
set -euo pipefail
cd "$(dirname "$0")/.."
files=()
[ $# -gt 0 ] || mapfile -t files < <(git ls-files 'include/*.hpp')
for f in "$@" "${files[@]}"; do
  mapfile -t wide < <(awk 'length > 110 { printf "--lines=%d:%d\n", NR, NR }' "$f")
  [ ${#wide[@]} -eq 0 ] || clang-format -i "${wide[@]}" "$f"
done
