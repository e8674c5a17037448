#!/bin/sh
# Rows of a tile that stays in shared memory as second operands of dots (tests/programs/pipeline_slices.lua), on the
# emulator in every completion, hazards strict, against references by hand; and texts that take other rows, or do not
# wait for the tile. TAP on stdout.
#   usage: tests/emu/slices.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_slices_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - slices on the emulator # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac
spec=$PWD/tests/programs/pipeline_slices.lua

for arch in sm_80 sm_90a; do
    "$program" run "$spec" --device emu --arch $arch --complete all --hazards strict --sms 1 >"$work/out" 2>&1 &&
        grep -q '^verified 28 cases of 7 kernels' "$work/out" && ! grep -q '^hazard' "$work/out"
    ok $? "$arch, in every completion" "$work/out"
done

# The tile comes once an item, and nothing in a turn waits.
"$program" plan "$spec" --kernel slices_copied --arch sm_90a >"$work/out" 2>&1
! awk '/^role block/ { role = 1 } role && $2 == "slots" { turn = 1 } role && turn { print } $2 == "end" { exit }' \
    "$work/out" | grep -q 'barrier\|wait\|fill'
ok $? "no wait within a turn" "$work/out"

# broken KERNEL SAID SED: the kernel's text, changed so, fails, and of it is said what SAID has.
broken() {
    "$program" gen "$spec" --kernel "$1" --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
    sed "$3" "$work/gen/$1.sm_90a.cu" >"$work/broken.cu"
    ! cmp -s "$work/gen/$1.sm_90a.cu" "$work/broken.cu" &&
        ! (cd "$work" && "$program" run "$spec" --kernel "$1" --device emu --complete late --source broken.cu --sms 1) \
            >"$work/out" 2>&1 && grep -q "$2" "$work/out"
    ok $? "$1: $2, seen where '$3'" "$work/out"
}
beyond='beyond their bounds'
broken slices "$beyond" 's/ + b_row \* 128)/)/'
broken slices BOUNDS 's/ + b_row \* 128)/ + (b_row ^ 32) * 128)/' # another block; of the last one that behind it
broken slices "$beyond" 's/at_q + (int)warp_m;/at_q;/' # all warps multiply the first query's
broken slices_wide BOUNDS 's/ + b_row \* 128)/ + b_row * 256)/'
broken slices_copied BOUNDS 's/ + b_row \* 64)/ + (b_row + 4) * 64)/' # within a group of rows
broken slices_copied UNORDERED-READ 's/^        copies_wait_0();$//'
broken slices_copied UNORDERED-READ '/copies_wait_0();/{n;s/block_meet();//;}'
broken slices UNORDERED-READ '/ void qk_wait_full(/,/^}/s/barrier_wait(.*/;/'
broken slices UNORDERED-READ '/ void v_wait_full(/,/^}/s/barrier_wait(.*/;/'
# A block's next item, whose tile comes over the one that other warps may read.
broken slices_bytes UNORDERED '/^    while (items_next/,/ab_a_load/s/block_meet();//'
broken slices_lines PROXY-FENCE 's/^ *ab_read();$//'
broken slices_lines UNORDERED '/ab_wait_full(ab_next);/s/$/ ab_read(); ab_release(ab_stage);/; s/^        ab_release(ab_stage);$//'
echo "1..$count"
[ "$failed" -eq 0 ]
