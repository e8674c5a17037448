#!/bin/sh
# Consumers that take items in turn, on the emulator in the three modes of completion, hazards strict; and what it says
# of a text in which a turn, what is gone past or a release is missing. TAP on stdout.
#   usage: tests/emu/items.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_items_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - items in turn on the emulator # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac
spec=$PWD/tests/programs/pipeline_items.lua

# One, two or three clusters of blocks: each takes many items, an odd number of them, or one.
for way in '4 all' '12 random'; do
    sms=${way% *} mode=${way#* }
    "$program" run "$spec" --device emu --arch sm_90a --complete $mode --sms $sms --hazards strict >"$work/out" 2>&1 &&
        ! grep -q '^hazard' "$work/out"
    ok $? "$sms multiprocessors, completion $mode" "$work/out"
done

# A text by hand, in its folder: what NVRTC makes of it is kept by its content and its name.
"$program" gen "$spec" --kernel items_gemm --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
text=$work/gen/items_gemm.sm_90a.cu
# broken NAME HAZARD SED: the text, changed so, is reported under that hazard.
broken() {
    sed "$3" "$text" >"$work/broken.cu"
    ! cmp -s "$text" "$work/broken.cu" &&
        ! (cd "$work" && "$program" run "$spec" --kernel items_gemm --device emu --source broken.cu \
            --complete random --sms 2 --set M=600,N=392,K=520 --inputs integer --rows dense) >"$work/out" 2>&1 &&
        grep -q "$2" "$work/out"
    ok $? "$1: $2" "$work/out"
}
broken "no turn is waited for" "PHASE\|UNORDERED" 's/^            turn_wait(consumer);/            ;/'
broken "no turn is passed on" DEADLOCK 's/^            turn_pass(consumer);/            ;/'
broken "nobody begins" DEADLOCK '/^        if (consumer == 1)$/ { n; s/turn_pass(consumer);/;/; }'
broken "others' stages are not gone past" "PHASE\|UNORDERED\|DEADLOCK" 's/^ *ab_skip(ab_next, k_turns);/;/'
broken "one stage too few is gone past" "PHASE\|UNORDERED\|DEADLOCK" 's/ab_skip(ab_next, k_turns)/ab_skip(ab_next, k_turns - 1)/'
broken "what is released is not gone past" "DEADLOCK\|UNORDERED\|BARRIER" 's/^ *ab_oldest = ab_next;/;/'
broken "the parity stays where stages are gone past" "PHASE\|UNORDERED\|DEADLOCK" 's/^    p.phase ^= at .*/    ;/'
broken "the turn is passed on before the stages are waited for" "PHASE\|UNORDERED" \
    '/^            at_k = at_k_turn/ { n; s/turn_pass(consumer);/;/; }
     s/^            turn_wait(consumer);/            turn_wait(consumer); turn_pass(consumer);/'
broken "both consumers store from one buffer" "UNORDERED\|PROXY" 's/^\(    return shared_address([0-9]* + \)consumer \* [0-9]* + buffer/\1buffer/'
echo "1..$count"
[ "$failed" -eq 0 ]
