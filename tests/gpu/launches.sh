#!/bin/sh
# The emitted code of tests/gpu/launches/launches.lua on a GPU: a million launches from 8 threads, captures, replays and
# updates of graphs, programmatic launches that depend on each other, and drivers whose tensor-map encoder fails or
# errs. TAP on stdout. Needs a GPU of compute capability 9.0, NVRTC and a C compiler ($CC, cc).
#   usage: tests/gpu/launches.sh [PROGRAM [LAUNCHES]], from the top of the tree
set -u
program=${1:-build/tilewright}
launches=${2:-1000000}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_launches_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
"$program" build tests/gpu/launches/launches.lua -o "$work" --arch sm_90a >&2 || exit 1
${CC:-cc} -std=c99 -O2 -Wall -Wextra -Werror -pthread "-I$work" tests/gpu/launches/launches.c "$work/many.c" \
    "$work/chained.c" -o "$work/launches" -ldl || exit 1
"$work/launches" "$launches"
