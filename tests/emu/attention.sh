#!/bin/sh
# tests/gpu/attention/control.cu on the emulator, against double precision: full and causal, with and without turns, in
# the three modes of completion, hazards strict and fatal. Two blocks take the items of 4 heads, so every ring wraps
# across items; the last tile is ragged, and two heads share one of K and V. Then the derived kernels, strict as well,
# on both architectures: specs/attention.lua, whose sizes leave nothing out, and the plain order, the next turn's scores
# ahead and turns of tests/programs. TAP on stdout.
# usage: tests/emu/attention.sh [PROGRAM], from the top of the tree. Needs NVRTC and a C compiler, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
. tests/tap.sh
sequence=200 heads=4 shared_by=2
kv_heads=$((heads / shared_by))
${CC:-cc} -std=c11 -O2 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -o "$work/reference" \
    tests/emu/attention_reference.c -lm >"$work/log" 2>&1
ok $? "the reference" "$work/log"

# map NAME HEADS ROWS: a tensor map in boxes of so many rows
map() {
    echo "buffer=$1 dtype=bf16 dim=128,$2,$sequence,1 stride=256,$(($2 * 256)),$(($2 * sequence * 256))" \
        "box=64,1,$3,1 swizzle=128B" >"$work/$1.map"
    echo "map:@$work/$1.map"
}
# buffer NAME HEADS FILL
buffer() { echo "$((sequence * $2 * 256)),name=$1,dump=$work/$1,fill=$3"; }

for causal in 0 1; do
    for turns in 0 1; do
        for mode in eager late random; do
            rm -f "$work/O" "$work/LSE"
            # The scale is log2(e) / sqrt(128).
            "$program" emu tests/gpu/attention/control.cu --define CAUSAL=$causal --define TURNS=$turns --grid 2 \
                --block 384 --shared 196752 --complete $mode --hazards strict \
                --buffer "$(buffer Q $heads normal:bf16:1)" --buffer "$(buffer K $kv_heads normal:bf16:2)" \
                --buffer "$(buffer V $kv_heads normal:bf16:3)" --buffer "$(buffer O $heads ones)" \
                --buffer "8,name=counter,fill=zero,dump=$work/counter" \
                --arg "struct:{$(map Q $heads 128),$(map K $kv_heads 128),$(map V $kv_heads 128),$(map O $heads 16),\
buf:$((sequence * heads * 4)),fill=ones,dump=$work/LSE,ref:counter,i32:1,i32:$sequence,i32:$heads,i32:$shared_by,\
i32:$heads,f32:0.12751743}" >"$work/log" 2>&1 &&
                grep -q ' 0 hazards$' "$work/log" &&
                "$work/reference" "$work" $sequence $heads $shared_by $causal >>"$work/log" 2>&1 &&
                [ "$(tr -d '\0' <"$work/counter" | wc -c)" -eq 0 ]
            ok $? "causal $causal, turns $turns, $mode" "$work/log"
        done
    done
done
# Each completion has one kind of inputs, on the other architecture the other one. Integers lie in padded rows, whose ends
# go one by one: with them nothing is left out.
for arch in sm_90a sm_80; do
    inputs=normal
    [ $arch = sm_90a ] || inputs=integer
    "$program" run tests/programs/pipeline_attention.lua --device emu --arch $arch --complete all --inputs $inputs \
        --hazards strict >"$work/log" 2>&1
    ok $? "tests/programs/pipeline_attention.lua, $arch, in every completion, $inputs" "$work/log"
    for mode in eager late random; do
        "$program" run specs/attention.lua --device emu --arch $arch --complete $mode --inputs $inputs \
            --hazards strict >"$work/log" 2>&1 &&
            { [ $inputs = normal ] || ! grep -q '\[RUN-COVERAGE\]$' "$work/log"; }
        ok $? "specs/attention.lua, $arch, $mode, $inputs" "$work/log"
        if [ $inputs = normal ]; then inputs=integer; else inputs=normal; fi
    done
done
echo "1..$count"
[ "$failed" -eq 0 ]
