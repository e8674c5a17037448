#!/bin/sh
# Products whose second operand takes the rows of wgmma, on the emulator. TAP on stdout.
#   usage: tests/emu/swap.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU. FULL=1: in every completion.
# tests/emu/swap.lua; what is chosen for few rows; planted bugs.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_swap_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE program
. tests/tap.sh

# A constant of at most 56 rows is swapped, with tiles of as many 8 rows as hold it; of 64 either way is the same.
chosen() { # KERNEL FIELD VALUE
    "$program" plan tests/emu/swap.lua --kernel "$1" --variant 0 --why >"$work/out"
    value=$(awk -v field="$2" '$1 == "why" { why = 1 } why && $1 == field { print $2; exit }' "$work/out")
    [ "$value" = "$3" ]
    ok $? "$1: $2 is '$3'" "$work/out"
}
chosen rows_1 tile.m 8
chosen rows_1 pipeline.swap true
chosen rows_17 tile.m 24
chosen rows_17 tile.n 64
chosen rows_50 pipeline.swap true
chosen rows_64 tile.m 64
chosen rows_64 pipeline.swap ''
chosen rows_7_not pipeline.swap false
chosen rows_7_not tile.m 128

# The instruction is as wide as the tile has rows.
"$program" gen tests/emu/swap.lua --kernel rows_17 -o "$work/gen" >"$work/out" 2>&1 &&
    grep -q 'wgmma.mma_async.sync.aligned.m64n24k16' "$work/gen/rows_17.sm_90a.cu"
ok $? "rows_17: m64n24k16" "$work/out"

if ! "$program" doctor >/dev/null 2>&1; then
    skip "products on the emulator" "there is no NVRTC"
    echo "1..$count"
    exit
fi
completion=random
[ "${FULL:-0}" = 0 ] || completion=all
"$program" run tests/emu/swap.lua --device emu --complete $completion --hazards fatal >"$work/out" 2>&1
ok $? "tests/emu/swap.lua, $completion" "$work/out"

for bug in no_wait_empty no_wait_full release_early stage_ahead no_wgmma_fence no_wgmma_wait no_wgmma_wait_1 \
    swizzle_descriptor; do
    "$program" run specs/gemm_small.lua --kernel gemm_bf16_m8 --device emu --break $bug --hazards on \
        --inputs normal --set M=17,N=264,K=2056 >"$work/out" 2>&1
    grep -q "^found $bug as" "$work/out"
    ok $? "gemm_bf16_m8, planted: $bug" "$work/out"
done
echo "1..$count"
[ "$failed" -eq 0 ]
