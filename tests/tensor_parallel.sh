#!/bin/sh
# tests/embed/tensor_parallel without a GPU: a layer of an MLP split among processes, each with an emulator of its own,
# on stand-ins for NCCL and for streams that overlap. Its results, the order of what overlaps, planted bugs, and all of
# tests/gpu/tensor_parallel.sh at small sizes. TAP on stdout.
#   usage: tests/tensor_parallel.sh [PROGRAM], from the top of the tree
set -u
program=${1:-build/tilewright}
. tests/tap.sh
top=$PWD
case $program in /*) ;; *) program=$top/$program ;; esac
nvrtc=$("$program" doctor 2>/dev/null | sed -n 's/^nvrtc .*, path \([^,]*\),.*/\1/p')
if [ -z "$nvrtc" ]; then
    skip "a layer on several GPUs" "there is no NVRTC"
    echo "1..$count"
    exit 0
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_parallel_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C CUDA_HOME=${nvrtc%/*/*} PATH=${program%/*}:$PATH
export LC_ALL CUDA_HOME PATH
log=$work/log shown=$work/log
cp -r tests/embed/tensor_parallel "$work/layer"
cd "$work/layer" || exit 3

ninja >"$log" 2>&1 && ninja stand_ins >>"$log" 2>&1
ok $? "a ninja file of its own builds it, without CUDA and NCCL"
ninja >"$log" 2>&1 && grep -q 'no work to do' "$log"
ok $? "nothing is built twice"

# layer ORDER --ranks N OPTION...: streams of which the first, or the last, always goes first.
layer() {
    order=$1 ranks=$3
    shift
    rm -f "$work"/did.*
    STREAMS_ORDER=$order STREAMS_LOG=$work/did timeout 250 tilewright run-program env \
        LD_LIBRARY_PATH="$PWD/stand_ins/streams:${program%/*}/libcuda" ./tensor_parallel --no-graphs \
        --nccl stand_ins/libnccl.so.2 "$@" >"$log" 2>&1
}
# seen BUG, unseen BUG: was it found, or does it do no harm in this order?
seen() { grep -qE "^planted $1: [1-9][0-9]* wrong$" "$log"; }
unseen() { grep -qx "planted $1: 0 wrong" "$log"; }
# did WORK: the line of what was done, on each rank.
did() {
    [ "$(find "$work" -name 'did.*' | wc -l)" -eq "$ranks" ] &&
        [ "$(grep -lx "$1" "$work"/did.* | wc -l)" -eq "$ranks" ]
}
# ways N: so many equal, and none else.
ways() {
    [ "$(grep -cE ': 0 wrong(, at most 0\.[0-9]* of the bound)?$' "$log")" -eq "$1" ] &&
        grep -qx 'equal: 0 wrong' "$log"
}

# Kernels first: every product of a pass is done, but for what has no room, before the sum of the first chunk (h).
layer first --ranks 2 --sizes 128,64,128,64 --schedules static --plants
status=$?
[ $status -eq 0 ] && grep -q 'launches, 0 hazards$' "$log"
ok $? "two ranks, kernels first: no hazard"
# The single GPU twice, two ways of each collective with either kind of numbers, and "equal".
grep -vE '^planted' "$log" >"$work/kept" && cp "$log" "$work/all" && cp "$work/kept" "$log" && ways 11
ok $? "results equal one GPU's: whole numbers, and normal ones within their bound"
cp "$work/all" "$log"
did kkkkkhkkhkhh && did hkkhkkhhkkhhkkhh
ok $? "products of later chunks run before a chunk's sum, as far as there is room"
seen slice && seen no_room && seen no_rows && seen no_end && unseen nothing && unseen no_result
ok $? "planted bugs are seen: a slice, room, rows, the end"

layer last --ranks 3 --sizes 96,64,192,64 --schedules static,dynamic --plants
status=$?
cp "$log" "$work/all" && grep -vE '^planted' "$work/all" >"$log" && ways 19 && [ $status -eq 0 ] &&
    grep -q 'launches, 0 hazards$' "$log"
ok $? "three ranks, collectives first, tiles from a counter too: equal, no hazard"
cp "$work/all" "$log"
did kkhkkhkkhkkh && did hhkkhhkkhhkkhkkh
ok $? "a chunk's sum runs before the products of the next"
seen slice && seen no_result && seen no_end && unseen nothing && unseen no_room && unseen no_rows
ok $? "planted bugs are seen: a slice, a result, the end"

# What a machine with GPUs runs, whole, with graphs.
cd "$top" || exit 3
NCCL=$work/layer/stand_ins/libnccl.so.2 SIZES=120,64,128,64 SCHEDULES=static ROUNDS=1 RANKS=2 VERB=gen CTAS=4 PATIENCE=5 \
    RUN="$program run-program --hazards off" timeout 400 sh tests/gpu/tensor_parallel.sh "$work/out" "$program" \
    >"$log" 2>&1 && grep -qx 'tensor_parallel: passed' "$log" && grep -q 'overlapped, graph: 0 wrong$' "$log" &&
    grep -q '^  times: one GPU ' "$log" && grep -q '^  times, as graphs: one GPU ' "$log"
ok $? "tests/gpu/tensor_parallel.sh: results, times, graphs"
"$program" results merge "$work/out/tensor_parallel.json" -o "$work/merged.json" >"$log" 2>&1 &&
    grep -q ': 32 rows, 0 replaced$' "$log" && rows=$work/out/tensor_parallel.json &&
    [ "$(grep -c '"hidden": -*[0-9]' "$rows")" -eq 8 ] && [ "$(grep -c '"scaling": [0-9]' "$rows")" -eq 12 ] &&
    [ "$(grep -c '"nccl_max_ctas": 4, ' "$work/out/tensor_parallel_4.json")" -eq 16 ]
ok $? "rows of JSON, a way each, with scaling and the share that is hidden"
# A rank that dies takes the others with it, and says so.
timeout 60 "$program" run-program "$work/layer/tensor_parallel" --ranks 2 --nccl "$work/none.so" >"$log" 2>&1
[ $? -eq 1 ] && grep -q '^rank [01]: .*none.so: ' "$log"
ok $? "a library that is not there: all ranks end"
"$work/layer/tensor_parallel" --sizes 1,2 >"$log" 2>&1
[ $? -eq 2 ] && grep -q 'sizes are four numbers' "$log"
ok $? "arguments that are wrong"
echo "1..$count"
[ "$failed" -eq 0 ]
