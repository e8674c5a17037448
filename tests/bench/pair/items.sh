#!/bin/sh
# The kernels of items.lua beside each other and beside cuBLASLt: rows of pair.c on stdout, a table on stderr. Needs a
# GPU of compute capability 9.0 and a CUDA toolkit.
#   usage: sh tests/bench/pair/items.sh [M N K]..., from the top of the tree. SECONDS_EACH: of the sustained rounds, 2.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_items_XXXXXX")
trap 'rm -rf "$work"' EXIT
cuda=${CUDA_HOME:-/usr/local/cuda}
[ $# -gt 0 ] || set -- 4096 4096 4096 8192 8192 8192 2048 2048 2048 4096 7168 2048
build/tilewright build tests/bench/pair/items.lua --arch sm_90a -o "$work" >&2
list=
for name in $(sed -n 's/.*kernel "\([a-z0-9_]*\)".*/\1/p' tests/bench/pair/items.lua); do
    gcc -O2 -shared -fPIC -DNAME="$name" -DHEADER="\"$name.h\"" -I"$work" tests/bench/pair/candidate.c "$work/$name.c" \
        -o "$work/$name.so"
    list="$list $work/$name.so"
done
gcc -O2 -Itests/bench/pair -I"$cuda/include" tests/bench/pair/pair.c -L"$cuda/lib64" -lcublasLt -lcudart -lm -ldl \
    -o "$work/pair"
# shellcheck disable=SC2086
"$work/pair" --sustained "${SECONDS_EACH:-2}" $list -- "$@"
