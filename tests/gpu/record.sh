#!/bin/sh
# Launches of Triton's kernels of six kinds recorded on a GPU and replayed on the emulator. TAP on stdout. Needs a GPU of
# capability 9.0, torch and Triton. tests/golden/records has what an H200 gave.
#   usage: sh tests/gpu/record.sh [PROGRAM [FOLDER]], from the top of the tree; FOLDER: the records, compressed, stay there
set -u
program=${1:-build/tilewright}
library=$PWD/build/libtilewright-explain.so
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_record_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
. tests/tap.sh
. tests/record/triton.sh
shown="$work/out $work/err"

# A process for each, so that no record holds what another's tensors left.
for kind in $kinds; do
    CUDA_INJECTION64_PATH=$library TILEWRIGHT_RECORD=$work/$kind TILEWRIGHT_RECORD_KERNEL='record_*' \
        TILEWRIGHT_RECORD_PTX=$work/triton.$kind TRITON_CACHE_DIR=$work/triton.$kind \
        "${PYTHON:-python3}" tests/gpu/record/triton_kernels.py "$kind" >"$work/$kind.out" 2>"$work/$kind.err" &
done
wait
for kind in $kinds; do
    grep -q "^$kind right$" "$work/$kind.out" && [ "$(ls "$work/$kind" | wc -l)" -eq 1 ]
    ok $? "$kind is right and recorded" "$work/$kind.out $work/$kind.err"
    replay_of "$kind" "$work/$kind"/*.record
    if [ $# -gt 1 ]; then
        mkdir -p "$2" && gzip -9nc "$work/$kind"/*.record >"$2/$kind.record.gz"
    fi
done
echo "1..$count"
[ "$failed" -eq 0 ]
