#!/usr/bin/env bash
# The first study: trains small transformers with every optimizer, quantizes them along the way, and writes a report to look at.
#   examples/run.sh [--quick] [MORE OPTIONS OF quench study optimizers]
# Installs what is missing (Debian, Ubuntu), builds the command-line program, runs the study.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake/install-deps.sh
cmake --preset release
cmake --build build/release --target quench_program -j "$(nproc)"
exec build/release/quench study optimizers "$@"
