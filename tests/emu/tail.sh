#!/bin/sh
# The last wave by halves of rows, on the emulator in all completions, hazards strict, on grids of several sizes; and
# what it says of a text in which a consumer that goes past an item does not wait, does not give stages back, or halves
# are others. TAP on stdout.
#   usage: tests/emu/tail.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_tail_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - the last wave by halves, on the emulator # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac
spec=$PWD/tests/programs/pipeline_tail.lua

"$program" run "$spec" --device emu --arch sm_90a --complete all --sms 4 --hazards strict >"$work/out" 2>&1 &&
    ! grep -q '^hazard' "$work/out"
ok $? "all completions" "$work/out"
# What sizes leave out, all of it: the branch of who goes past an item, where no item is halved, and nowhere else.
one_way() {
    "$program" run "$spec" --device emu --arch sm_90a --json "$@" >"$work/json" 2>/dev/null
    grep -q 'if (items.halved[^"]*going one way only' "$work/json"
}
one_way --kernel tail_late --sms 3 --set M=128,N=64,K=200
ok $? "where one item is all there is none is halved" "$work/json"
! one_way --sms 4 && grep -q '"status"' "$work/json"
ok $? "some items are halved and some are not, in every kernel" "$work/json"
for sms in 6 10; do
    "$program" run "$spec" --device emu --arch sm_90a --sms $sms --hazards strict >"$work/out" 2>&1
    ok $? "$sms multiprocessors" "$work/out"
done
"$program" run specs/gemm.lua --kernel gemm_bf16 --device emu --arch sm_90a --setups --set M=520,N=200,K=136 \
    --hazards strict >"$work/out" 2>&1 && grep -q '^verified gemm_bf16__.*tail_halves' "$work/out"
ok $? "the set-ups of specs/gemm.tuned.lua" "$work/out"

# Who may rest is in the Plan, and is proved.
"$program" plan "$spec" --kernel tail_late --arch sm_90a --json 2>/dev/null | grep -q '"resting": *1'
ok $? "one of two consumers may rest" "$work/out"

# A text by hand, in its folder: what NVRTC makes of it is kept by its content and its name.
of_kernel() {
    kernel=$1
    "$program" gen "$spec" --kernel "$kernel" --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
    text=$work/gen/$kernel.sm_90a.cu
}
of_kernel tail_late
# broken NAME HAZARD AWK [SIZES]: the text, edited so, is reported under that hazard. Of 9 items four blocks take two
# each and the last by halves. `rests`: within the lines for who goes past an item.
broken() {
    awk '/if \(items.halved/ { rests = 1 } rests && /break;/ { rests = 0 } '"$3"' { print }' "$text" >"$work/broken.cu"
    ! cmp -s "$text" "$work/broken.cu" &&
        ! (cd "$work" && "$program" run "$spec" --kernel "$kernel" --device emu --source broken.cu --sms 4 \
            --complete random --set "${4:-M=384,N=136,K=328}" --inputs integer --rows dense) >"$work/out" 2>&1 &&
        grep -q "$2" "$work/out"
    ok $? "$1: $2" "$work/out"
}
wrong='UNINIT\|FAILED' # a result that is not there, or another
broken "who goes past gives no stage back" DEADLOCK 'rests && /ab_release\(/ { sub(/ab_release\(.*\)/, "") }'
broken "who goes past gives stages back twice" 'OVERFLOW\|UNORDERED\|ARRIV\|DEADLOCK' \
    'rests && /ab_release\(/ { sub(/ab_release/, "if (1) { ab_position p = ab_oldest; ab_release(p); } ab_release") }'
broken "nobody is left to give stages back" DEADLOCK '/if \(items.halved/ { print; print "break;"; next }'
broken "both halves are the first" "$wrong" '/at_m \+= \(int\)half/ { sub(/half/, "0 * half") }'
broken "the second half begins too early" "$wrong" '/at_m \+= \(int\)half/ { sub(/64/, "32") }'
broken "more than half a wave is halved" DEADLOCK '/2 \* last <= takers/ { sub(/2 \* last <= takers/, "last > 0") }' \
    M=384,N=264,K=328
broken "the wrong consumer goes past" "$wrong" '/if \(items.halved/ { sub(/consumer >= 1/, "consumer < 1") }'
broken "who goes past forgets what was late" "$wrong" 'rests && /break;/ { sub(/break;/, "D_late_next = 1; break;") }
    /^ *break;/ && was { sub(/break;/, "D_late_next = 1; break;") } { was = rests }'
of_kernel tail_late_pairs # whose fillers wait, as they end, until other blocks have given everything back
broken "who goes past keeps the last stage" DEADLOCK \
    'rests && /ab_release\(/ && ++n == 2 { sub(/ab_release\(.*\)/, "") }' \
    M=768,N=136,K=328
echo "1..$count"
[ "$failed" -eq 0 ]
