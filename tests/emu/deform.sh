#!/bin/sh
# Deformable attention (specs/deform_attn.lua, specs/deform_attn_bwd.lua): every kernel in the completions, hazards
# strict, nothing left out; more shapes, samples that are all outside; bugs planted into the emitted text, and into the
# reference of backward, each of which is seen; what a launch refuses. TAP on stdout.
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
while read -r arch completion what; do
    run specs/deform_attn.lua --arch $arch --complete $completion && ! grep -q RUN-COVERAGE "$work/out" &&
        grep -q "^verified $what" "$work/out"
    ok $? "specs/deform_attn.lua, $arch $completion" "$work/out"
done <<'END'
sm_90a late 24 cases of 13 kernels
sm_80 random 18 cases of 10 kernels
END

run specs/deform_attn_bwd.lua --arch sm_90a --complete random && ! grep -q RUN-COVERAGE "$work/out" &&
    grep -q '^verified 7 cases of 4 kernels' "$work/out"
ok $? "specs/deform_attn_bwd.lua, sm_90a" "$work/out"
run specs/deform_attn_bwd.lua --arch sm_80 --kernel deform_attn_bwd_fp16_heads_odd
ok $? "specs/deform_attn_bwd.lua, sm_80" "$work/out"

# Rows more bytes apart than the offset of an instruction says, to both sides.
cat >"$work/far.lua" <<'LUA'
local T, V = dims "T V"
kernel "far" {
  X = tensor { V, 64, dtype = "fp32" },
  above = tensor { T, dtype = "int32", fill = "integers 20000001 20000009" },
  below = tensor { T, dtype = "int32", fill = "integers -20000000 -19999993" },
  Y = tensor { T, 64, dtype = "fp32", out = true },
  axes = "t", tile = { t = 16 }, grid = { t = T }, arch = { sm_90a = {} },
  program = function(t, at, tile)
    local r = span(at.t, tile.t)
    local above, below = load(t.above, r), load(t.below, r)
    store(t.Y, r, all, gather(t.X, below + 20000000, all) + 2 * gather(t.X, above + -20000000, all)
      + 4 * gather(t.X, above + -20000001, all))
  end,
  reference = function(t, n)
    for i = 0, n.T - 1 do
      local low, high = t.below[i] + 20000000, t.above[i] - 20000000
      for c = 0, 63 do t.Y[i][c] = t.X[low][c] + 2 * t.X[high][c] + 4 * t.X[high - 1][c] end
    end
  end,
  run = { { T = 21, V = 10 } },
}
LUA
run "$work/far.lua" --inputs integer --complete late && grep -q '^verified far sm_90a' "$work/out"
ok $? "rows by numbers that are far from theirs" "$work/out"

mkdir -p "$work/specs/lib"
cp specs/lib/deform_attn.lua "$work/specs/lib"
cp specs/deform_attn_tma.cu "$work/specs"
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
-- Boxes: half a warp has no vector of a stage's last ones; no whole vector of 8 samples; sums of all are 0.
local function boxes(more)
  more.loads, more.template, more.tile, more.run = "boxes", "deform_attn_tma.cu", { q = 16 }, run
  return deform(more)
end
kernel "boxes_of_three" (boxes {
  levels = { { 5, 3 }, { 4, 8 }, { 3, 2 } }, points = 10, channels = 32, dtype = "bf16", fill = inside,
})
kernel "boxes_of_one" (boxes { levels = { { 1, 7 } }, points = 5, channels = 16, dtype = "fp16", fill = inside })
kernel "boxes_outside" (boxes { levels = small, points = 8, channels = 32, dtype = "fp16", fill = outside })
LUA
run "$work/specs/more.lua" --arch sm_90a --rows padded && grep -q '^verified 7 cases of 7 kernels' "$work/out"
ok $? "more shapes" "$work/out"
run "$work/specs/more.lua" --kernel outside --arch sm_90a --verbose && grep -q 'error 0 bound 0, integers equal' "$work/out"
ok $? "samples that are all outside give 0" "$work/out"
run "$work/specs/more.lua" --kernel boxes_outside --arch sm_90a --verbose &&
    grep -q ' error 0 bound [^,]*, integers error 0 ' "$work/out"
ok $? "boxes that are all outside give 0" "$work/out"

# By hand, changed: a slope on the pixel itself, the level's width, the softmax.
cp -r specs "$work/changed"
for bug in 's/u == x0 and -1/u < x0 and -1/' 's/by_x \* weight\[s\] \* map.w/by_x * weight[s] * map.h/' \
    's/\[s\] \* (by_weight - mean)/[s] * by_weight/'; do
    sed "$bug" specs/lib/deform_attn_bwd.lua >"$work/changed/lib/deform_attn_bwd.lua"
    ! cmp -s specs/lib/deform_attn_bwd.lua "$work/changed/lib/deform_attn_bwd.lua" &&
        ! run "$work/changed/deform_attn_bwd.lua" --arch sm_90a --kernel deform_attn_bwd_bf16_odd &&
        grep -q 'the reference' "$work/out"
    ok $? "deform_attn_bwd by hand: seen where '$bug'" "$work/out"
done

for spec in deform_attn deform_attn_bwd; do
    "$program" gen "specs/$spec.lua" -o "$work/text" --arch sm_90a >/dev/null || ok 1 "gen"
done
# name; kernel; what is to be said of it; an edit of sed, which changes so many lines.
while IFS='|' read -r name kernel expected lines edit; do
    text=$work/text/deform_attn_$kernel.sm_90a.cu
    case $kernel in bwd_*) spec=$PWD/specs/deform_attn_bwd.lua ;; *) spec=$PWD/specs/deform_attn.lua ;; esac
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
last_of_none|bwd_bf16_odd|FAILED|10|s/ > 1;$/ >= 1;/
mean_missing|bwd_bf16_odd|FAILED|1|s/ = v69 - sum;/ = v69;/
half_a_row|bwd_bf16_odd|FAILED|1|s/fold_sum(sum_3, __shfl/fold_sum(0.0f, __shfl/
added_elsewhere|bwd_bf16_odd|FAILED|1|s/from + column + e, v44/from + column, v44/
box_no_number|fp16_tma|FAILED|1|s/ = fminf(fmaxf(at \* extent - 0.5f, -1.0f), extent);/ = at * extent - 0.5f;/
box_of_another|fp16_tma|FAILED|1|s/value2_load(args, fill, batch, y2, x2, 0)/value2_load(args, fill, batch, y2, x1, 0)/
box_turned|fp16_tma|FAILED|1|s/value0_load(args, fill, batch, y0, x0, 0)/value0_load(args, fill, batch, x0, y0, 0)/
box_of_first_batch|fp16_tma|FAILED|1|s/value3_load(args, fill, batch,/value3_load(args, fill, 0,/
box_beside|fp16_tma|FAILED|1|s/fminf(floorf(x), extent - 1.0f)/floorf(x) + 1.0f/
box_uncounted|fp16_tma|hazard TX-BYTES|1|s/\(barrier_arrive_expect(value0_full(p.stage), \)1024/\1768/
box_unawaited|fp16_tma|hazard UNORDERED-READ|1|s/^ *value0_wait_full(read);$/;/
box_unreleased|fp16_tma|hazard UNORDERED-WRITE|1|s/^ *value0_wait_empty(fill);$/;/
box_corner_of_another|fp16_tma|FAILED|2|s/\/ 2 % 2 ? down : 1.0f - down/\/ 2 % 2 ? 1.0f - down : down/
box_half_summed|fp16_tma_odd|FAILED|8|s/ += __shfl_xor_sync(~0u, \(.*\), 16);/ += 0.0f;/
map_of_first_batch|fp16_tma_maps|FAILED|1|s/value3_map\[i0\]/value3_map[0]/
map_of_another_level|fp16_tma_maps|FAILED|1|s/value2_map\[i0\]/value1_map[i0]/
map_behind_all|fp16_tma_maps|hazard ILLEGAL|1|s/value3_map\[i0\]/value3_map[i0 + 40]/
sum_of_last|fp16_softmax|FAILED|1|s/^\( *\)levels_2 = v[0-9]*;/\1;/
END
echo "1..$count"
[ "$failed" -eq 0 ]
