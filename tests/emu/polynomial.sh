#!/bin/sh
# Exponentials of elements by a polynomial (pipeline.polynomial) on the emulator: within the bound of the instruction, on
# both lowerings, alone and in attention; what is changed in its text is seen. TAP on stdout.
#   usage: tests/emu/polynomial.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_polynomial_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - exponentials by a polynomial, on the emulator # SKIP there is no NVRTC"
    exit 0
fi
spec=tests/programs/pipeline_polynomial.lua

for arch in sm_90a sm_80; do
    "$program" run $spec --device emu --arch $arch --complete random --hazards strict >"$work/out" 2>&1 &&
        grep -q '^verified polynomial_4.* M=2000' "$work/out" && ! grep -q '^hazard' "$work/out"
    ok $? "2^x far below, near and beyond what a float holds, NaN and infinities, on $arch" "$work/out"
done

text=$work/gen/polynomial_2.sm_90a.cu
"$program" gen $spec -o "$work/gen" --kernel polynomial_2 --arch sm_90a >"$work/out" 2>&1
for bug in 's/0\.693147f/0.693137f/' 's/0\.24022242f/0.2402f/' 's/0\.055507336f/0.0555f/' 's/0\.009671513f/0.0096f/' \
    's/0\.0013264727f/0.001f/' 's/max\.NaN/max/' 's/0fC2FE0000/0fC2FC0000/' 's/0f43000000/0f42FE0000/' \
    's/"min\.NaN.*128/""/' 's/fmaf(f, 0\.0f, \(.*\));/\1;/' 's/x + 12582912\.0f/x + 6291456.0f/' 's/<< 23/<< 22/'; do
    sed "/ew_exp2_diff_polynomial(float/,/^}/$bug" "$text" >"$work/broken.cu"
    ! cmp -s "$text" "$work/broken.cu" &&
        ! "$program" run $spec --kernel polynomial_2 --device emu --arch sm_90a --source "$work/broken.cu" \
            >"$work/out" 2>&1 && grep -q '^FAILED' "$work/out"
    ok $? "seen where '$bug'" "$work/out"
done
echo "1..$count"
[ "$failed" -eq 0 ]
