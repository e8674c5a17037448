#!/bin/sh
# Deformable attention (specs/deform_attn.lua): every kernel in the completions, hazards strict, nothing left out; more
# shapes, samples that are all outside; bugs planted into the emitted text, each of which is seen; what a launch refuses.
# TAP on stdout.
#   usage: tests/emu/deform.sh [PROGRAM], from the top of the tree. Needs NVRTC and a C compiler, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_deform_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - deformable attention # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac

run() { # SPEC OPTION...
    "$program" run "$@" --device emu --hazards strict >"$work/out" 2>&1
}
for how in 'sm_90a late' 'sm_80 random'; do
    run specs/deform_attn.lua --arch ${how% *} --complete ${how#* } && ! grep -q RUN-COVERAGE "$work/out" &&
        grep -q '^verified 15 cases of 7 kernels' "$work/out"
    ok $? "specs/deform_attn.lua, $how" "$work/out"
done

mkdir -p "$work/specs/lib"
cp specs/lib/deform_attn.lua "$work/specs/lib"
cat >"$work/specs/more.lua" <<'LUA'
local deform = require "deform_attn"
local small = { { 4, 8 }, { 3, 2 } }
local function inside(b, q, s) return ((b * 7 + q * 5 + s * 3) % 65) / 64 end
local function outside(b, q, s) return (b + q + s) % 2 == 0 and -1 or 2.5 end
local run = { { B = 2, Q = 33 } }
-- Four points: a turn of two levels; each level for itself; one level, of all channels a thread has two vectors.
kernel "two_levels" (deform { levels = small, points = 4, channels = 16, dtype = "fp32", fill = inside, run = run })
kernel "apart" (deform {
  levels = small, points = 8, channels = 40, dtype = "fp16", of = "bf16", fill = inside, unrolled = true, run = run,
})
kernel "wide" (deform {
  levels = { { 5, 3 } }, points = 8, channels = 64, dtype = "bf16", softmax = true, tile = { q = 32 }, fill = inside,
  run = run,
})
kernel "outside" (deform {
  levels = small, points = 8, channels = 8, dtype = "fp16", sums = "fp16", fill = outside, run = run,
  reference = nil,
})
LUA
run "$work/specs/more.lua" --arch sm_90a --rows padded && grep -q '^verified 4 cases of 4 kernels' "$work/out"
ok $? "more shapes" "$work/out"
run "$work/specs/more.lua" --kernel outside --arch sm_90a --verbose && grep -q 'error 0 bound 0, integers equal' "$work/out"
ok $? "samples that are all outside give 0" "$work/out"

spec=$PWD/specs/deform_attn.lua
"$program" gen "$spec" -o "$work/text" --arch sm_90a >/dev/null || ok 1 "gen"
# name; kernel; what is to be said of it; an edit of sed, which changes so many lines.
while IFS='|' read -r name kernel expected lines edit; do
    text=$work/text/deform_attn_$kernel.sm_90a.cu
    sed "$edit" "$text" >"$work/$name.cu"
    [ "$(diff "$text" "$work/$name.cu" | grep -c '^<')" = "$lines" ]
    ok $? "$name is planted $lines times" "$work/$name.cu"
    (cd "$work" && "$program" run "$spec" --device emu --source "$name.cu" --set B=2,Q=5) >"$work/out" 2>&1
    [ $? = 1 ] && grep -q "$expected" "$work/out"
    ok $? "$name" "$work/out"
done <<'END'
clamp_missing|fp16|hazard BOUNDS|1|/float ew_min/,/^}/s/fminf(a, b)/a/
pixel_of_another|fp16|FAILED|16|s/_load_near<64>/_load_near<0>/
weight_of_another|fp16|FAILED|1|s/loc_3 = fp16_element(loc\[0\], 3)/loc_3 = fp16_element(loc[0], 2)/
far_ones_count|fp16|FAILED|1|/float ew_saturate/,/^}/s/__saturatef(x)/x/
nearest_alone|fp16|FAILED|1|/float ew_floor/,/^}/s/floorf(x)/rintf(x)/
level_of_another|fp16|FAILED|1|0,/v24 = v1 ? 11600/s//v24 = v1 ? 14500/
pair_unrounded|fp16|FAILED|1|/u32 pair_fma/,/^}/s/fma.rn.f16x2 %0, %1, %2, %3/fma.rn.f16x2 %0, %1, %3, %2/
row_of_another|fp16|FAILED|1|s/const int row1 = threadIdx.x \/ 4;/const int row1 = threadIdx.x \/ 8;/
sum_of_last|fp16_softmax|FAILED|1|s/^\( *\)levels_2 = v[0-9]*;/\1;/
END
echo "1..$count"
[ "$failed" -eq 0 ]
