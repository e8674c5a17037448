#!/bin/sh
# Asks the GPU the questions of tests/gpu/probes/questions.def and writes its answers, a JSON object with a row for each
# case. Needs a GPU of compute capability 9.0, NVRTC ($CUDA_HOME, or where a toolkit is) and a C compiler ($CC, cc).
#   usage: tests/gpu/probes.sh OUT [QUESTION]..., from the top of the tree
#          tests/gpu/probes.sh table     tests/golden/probes.json, for the page
set -u
[ $# -gt 0 ] || { sed -n '2,5s/^# //p' "$0" >&2 && exit 2; }
out=$1
shift
if [ "$out" = table ]; then
    exec awk -f tests/gpu/probes/answers.awk -v how=table tests/gpu/probes/questions.def tests/golden/probes.json
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_probes_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra tests/gpu/probes/probes.c -o "$work/probes" -ldl || exit 1
export CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:-0}"
"$work/probes" "$@" >"$work/answers" || exit
cp "$work/answers" "$out"
