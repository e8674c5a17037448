#!/bin/sh
# `run` says what its sizes leave out: rings, lines, ifs, loops, variants; and nothing where nothing is. TAP on stdout.
#   usage: tests/emu/coverage.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
# That the shipped specs leave nothing out is tested by tests/emu/family.sh.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_coverage_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - what run leaves out # SKIP there is no NVRTC"
    exit 0
fi

# run STATUS NAME OPTION...: a run on the emulator that ends with this status; what it prints is in $work/out.
run() {
    wanted=$1 name=$2
    shift 2
    "$program" run "$@" --device emu >"$work/out" 2>&1
    status=$?
    [ $status = "$wanted" ]
    ok $? "$name: status $wanted" "$work/out"
}
# notes PATTERN NAME: a note has the pattern. silent PATTERN NAME: none has.
notes() {
    grep '^tilewright run: note: .*\[RUN-COVERAGE\]$' "$work/out" | grep -q -e "$1"
    ok $? "$2" "$work/out"
}
silent() {
    ! grep '\[RUN-COVERAGE\]$' "$work/out" | grep -q -e "$1"
    ok $? "$2" "$work/out"
}
mkdir "$work/spec" && cp specs/gemm.lua "$work/spec" # without the set-ups beside it
gemm="$work/spec/gemm.lua --kernel gemm_bf16"

# ---- rings: what is too short for one passes as verified, and is told
short='--set M=257,N=512,K=192 --sms 132'
run 0 "three steps of four stages" $gemm $short
notes '^tilewright run: note: gemm_bf16 sm_90a: .*ring ab unwrapped (3 of 4 stages filled)' "a ring that does not wrap"
notes 'gemm_bf16__unaligned sm_90a: .*ring ab unwrapped' "of every entry point"
notes '; write a run size with K >= 449 ' "the size that would do"
notes "for (; more; more = items_next(args, items, at_m, at_n)) {' without a second round" "a persistent loop with one tile a block"
run 1 "a missing wait for wgmma is verified at these sizes" $gemm $short --break no_wgmma_wait_1
notes 'ring ab unwrapped' "and they are said to leave the ring unwrapped"
grep -q '^verified gemm_bf16 sm_90a' "$work/out" && grep -q '^NOT FOUND' "$work/out"
ok $? "so that it is not found" "$work/out"
run 0 "at the spec's sizes" $gemm --break no_wgmma_wait_1
grep -q '^found no_wgmma_wait_1' "$work/out"
ok $? "it is found" "$work/out"
run 0 "and at the size that the note named" $gemm --set M=257,N=512,K=449 --sms 132 --rows padded --break no_wgmma_wait_1
silent 'ring' "where the ring wraps"
run 0 "a size less" $gemm --set M=128,N=256,K=448 --sms 132
notes 'ring ab unwrapped (3 of 4 stages filled twice)' "leaves one stage with one fill"
run 0 "on two multiprocessors" $gemm --set M=257,N=512,K=192 --sms 2
silent 'ring\|while' "blocks have several tiles, and rings wrap over them"

run 0 "a stage that was asked for never comes early" specs/gemm_types.lua --kernel gemm_fp8_blocks --arch sm_90a --complete late
silent 'came' "which is no matter of sizes"

# A block an item: a ring that turns of a loop fill can wrap, one that the item fills once cannot.
sed 's/schedule = { order = "grouped", group = 8 }/schedule = { persistent = false }/' specs/gemm.lua >"$work/once.lua"
run 0 "a block an item" "$work/once.lua" --kernel gemm_bf16 --arch sm_90a $short
notes 'gemm_bf16 sm_90a: .*ring ab unwrapped (3 of 4 stages filled)' "its turns fill the ring"
run 0 "a copy of a block an item" specs/tile_copy.lua --kernel tile_copy --arch sm_90a
silent . "its ring is filled once"

run 0 "a ring of cp.async" $gemm --arch sm_80 --set M=64,N=64,K=320
notes 'gemm_bf16 sm_80: .*ring ab unwrapped (2 of 3 stages filled twice)' "is short by a step"
notes 'gemm_bf16__unaligned sm_80: .*ring ab unwrapped (2 of 3 stages filled twice)' "and one that threads fill"
notes 'K >= 321 ' "with its size"
run 0 "which does" $gemm --arch sm_80 --set M=64,N=64,K=321
silent 'ring' "wrap both"
silent 'while' "a block of a grid as large as the tiles has no second one"

# ---- code
run 0 "K = 0" $gemm --set M=64,N=40,K=0
notes "'ab_wait_empty(ab_fill);' of role producer not executed" "lines of a role, by its calls"
run 0 "an odd number of columns" $gemm --arch sm_80 --set M=64,N=41,K=328
silent "at\[" "executes all stores"
run 0 "an even one" $gemm --arch sm_80 --set M=64,N=40,K=328 --rows dense
notes "gemm_bf16.sm_80.cu:[0-9]*-[0-9]* 'if (inside\[0\])' not executed" "leaves out those of single elements"
notes "'if (first_at_k_turn < k_turns) {' going one way only" "and K > 64 a condition"

cp specs/rms_norm.lua specs/rms_norm.cu "$work/"
awk '/x_wait_full\(read\)/ { print "            if (args.C > 5000)\n                args.y[row] = 0;" } { print }' \
    specs/rms_norm.cu >"$work/rms_norm.cu"
line=$(grep -n 'args.y\[row\] = 0;' "$work/rms_norm.cu" | cut -d: -f1)
run 0 "a template by hand" "$work/rms_norm.lua"
notes "rms_norm sm_90a: .*rms_norm.cu:$line 'args.y\[row\] = 0;' not executed" "a line that no size comes to"
"$program" gen specs/rms_norm.lua --arch sm_90a -o "$work/gen" >/dev/null
awk '/x_wait_full\(read\)/ { print "            if (args.C > 5000)\n                asm volatile(\"trap;\");" } { print }' \
    "$work/gen/rms_norm_ring.sm_90a.cu" >"$work/trap.cu"
run 0 "a trap" specs/rms_norm.lua --source "$work/trap.cu"
silent . "is nothing that is left out"
run 0 "rows of one block" specs/rms_norm.lua --set R=1,C=1024
notes 'ring x unwrapped (2 of 2 stages filled)' "fill the template's ring once"

# ---- what else
cat >"$work/odd.lua" <<'LUA'
local M, N, K = dims "M N K"
kernel "odd" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  run = { { M = 64, N = 41, K = 64 } },
}
LUA
run 0 "sizes that the aligned variant cannot take" "$work/odd.lua" --arch sm_90a
notes '^tilewright run: note: odd sm_90a: .*it unlaunched' "leave it unlaunched"
run 0 "where they are asked for" "$work/odd.lua" --arch sm_90a --set M=64,N=41,K=64
silent 'unlaunched' "that is meant"
run 1 "a case that failed" $gemm --break no_release --hazards fatal --set M=64,N=40,K=0
run 0 "a deadlock" $gemm --break no_release --hazards fatal --set M=257,N=512,K=192
silent . "is told alone"

# On one line, with one blank between what is on several.
flat() { tr -s '\n ' '  ' <"$work/json" >"$work/flat" && mv "$work/flat" "$work/json"; }
"$program" run $gemm $short --device emu --json >"$work/json" 2>"$work/out"
ok $? "as JSON: status 0" "$work/out"
flat
silent . "no line beside it"
grep -q '"entry": "gemm_bf16", "arch": "sm_90a", "kind": "ring", "what": "ring ab unwrapped (3 of 4 stages filled)", "write": "K >= 449"' "$work/json"
ok $? "the ring" "$work/json"
grep -q '"kind": "loop", .*"file": "gemm_bf16.sm_90a.cu", "line": [1-9]' "$work/json"
ok $? "the loop" "$work/json"
"$program" run $gemm --device emu --json >"$work/json" 2>"$work/out"
flat
grep -q '"left_out": \[ \],' "$work/json"
ok $? "nothing" "$work/json"

echo "1..$count"
[ "$failed" -eq 0 ]
