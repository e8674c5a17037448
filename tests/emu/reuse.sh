#!/bin/sh
# Tiles that an item leaves in the ring for the next, on the emulator in all completions, hazards strict, on grids of
# several sizes; that fewer tiles are loaded; and what it says of a text in which a stage has another tile than its turn
# is of, is not announced as it comes, or items are taken twice. TAP on stdout.
#   usage: tests/emu/reuse.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_reuse_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - tiles that stay, on the emulator # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac
spec=$PWD/tests/programs/pipeline_reuse.lua

"$program" run "$spec" --device emu --arch sm_90a --complete all --sms 4 --hazards strict >"$work/out" 2>&1 &&
    ! grep -q '^hazard' "$work/out"
ok $? "all completions" "$work/out"
for sms in 3 10; do
    "$program" run "$spec" --device emu --arch sm_90a --sms $sms --hazards strict >"$work/out" 2>&1
    ok $? "$sms multiprocessors" "$work/out"
done
# A condition that sizes leave going one way only: tiles either all come or all stay. All of what they leave is looked at.
left='if (at_k_turn >= left_of_at_k)[^"]*going one way only'
# Shipped set-ups that have it: blocks take several items of the same rows there.
for of in "specs/gemm.lua gemm_bf16 328" "specs/gemm_types.lua gemm_fp8 656"; do
    # shellcheck disable=SC2086
    set -- $of
    "$program" run "$1" --kernel "$2" --device emu --arch sm_90a --setups --sms 4 --set "M=512,N=776,K=$3" \
        --hazards strict --json >"$work/out" 2>&1 && grep -q "$2__.*reuse_rows" "$work/out" &&
        ! grep -q "$left" "$work/out"
    ok $? "the set-ups of $2" "$work/out"
done
# On two multiprocessors each block has one of two rows of items throughout.
one_way() {
    "$program" run "$spec" --device emu --arch sm_90a --kernel "$1" --sms "$2" --set "$3" --json 2>/dev/null >"$work/json"
    grep -q "$left" "$work/json"
}
! one_way reuse_late 2 M=256,N=256,K=264 && grep -q '"status"' "$work/json"
ok $? "some tiles come and some stay" "$work/json"
one_way reuse_late 2 M=256,N=256,K=64
ok $? "of fewer turns than the ring has stages all come" "$work/json"
one_way reuse_late 8 M=256,N=256,K=264
ok $? "of a block's only item all come" "$work/json"

"$program" plan "$spec" --kernel reuse_late --arch sm_90a --json 2>/dev/null >"$work/json" &&
    grep -q '"reuse": *1[,}]' "$work/json" && grep -q '"reuse": *16384' "$work/json"
ok $? "what stays is in the Plan" "$work/json"

# A text by hand, in its folder: what NVRTC makes of it is kept by its content and its name.
"$program" gen "$spec" --kernel reuse_late --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
text=$work/gen/reuse_late.sm_90a.cu
broken() {
    awk "$3"' { print }' "$text" >"$work/broken.cu"
    ! cmp -s "$text" "$work/broken.cu" &&
        ! (cd "$work" && "$program" run "$spec" --kernel reuse_late --device emu --source broken.cu --sms "${4:-2}" \
            --complete random --set "${5:-M=256,N=264,K=264}" --inputs integer --rows dense) >"$work/out" 2>&1 &&
        grep -q "$2" "$work/out"
    ok $? "$1: $2" "$work/out"
}
wrong='UNINIT\|FAILED' # a result that is not there, or another
broken "turns begin where the last item's did" "$wrong" '/begin_of_at_k = k_turns/ { sub(/=.*/, "= 0;") }'
broken "turns begin one too early" "$wrong" '/begin_of_at_k = k_turns/ { gsub(/- 2/, "- 1") }'
broken "a turn more is taken as left" "$wrong" '/const int left_of_at_k/ { sub(/\? 2/, "? 3") }'
broken "other rows are taken as left" "$wrong" '/const int left_of_at_k/ { sub(/at_m == before_m/, "before_m >= 0") }' 1
broken "the first item takes what nobody left" UNINIT '/const int left_of_at_k/ { sub(/at_m == before_m/, "1") }'
broken "turns are fewer than stages" "$wrong" '/begin_of_at_k = k_turns|const int left_of_at_k/ { sub(/k_turns (<|>=) 2/, "k_turns == -1"); sub(/k_turns == -1 &&/, "1 \\&\\&") }' \
    2 M=256,N=264,K=64
broken "all bytes are announced" DEADLOCK '/left \? 8192/ { sub(/left \? 8192 : /, "") }'
broken "what stays comes again, and is not announced" 'OVERFLOW\|BYTES\|UNORDERED\|PHASE\|FAILED' \
    '/if \(at_k_turn >= left_of_at_k\)/ { next }'
broken "an item is taken twice" "$wrong" '/if \(own < here/ { sub(/here/, "(here + side)") }' 3
echo "1..$count"
[ "$failed" -eq 0 ]
