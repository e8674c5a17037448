#!/bin/sh
# Row programs on the emulator, hazards looked for: right results at ragged sizes, and no report. TAP on stdout.
#   usage: tests/emu/rows.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
# specs/rows.lua and tests/rows/*.lua on both architectures in every completion.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_rows_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE program
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - row programs on the emulator # SKIP there is no NVRTC"
    exit 0
fi

# Of a text by hand, in its folder: what NVRTC makes of it is kept by its content and its name.
case $program in /*) ;; *) program=$PWD/$program ;; esac
shipped=$PWD/specs/rows.lua
run_broken() {
    (cd "$work" && "$program" run "$shipped" --device emu --source broken.cu --hazards on) >"$work/out" 2>&1
}

# What is shipped runs at sizes that leave no line, branch or ring out.
leaves_nothing_out() {
    case $1 in specs/*) ! grep -q '\[RUN-COVERAGE\]$' "$work/out" ;; esac
}

for spec in specs/rows.lua tests/rows/*.lua; do
    for arch in sm_90a sm_80; do
        "$program" run "$spec" --device emu --arch $arch --complete all --hazards strict >"$work/out" 2>&1 &&
            ! grep -q '^hazard' "$work/out" && leaves_nothing_out "$spec"
        ok $? "$spec, $arch, in every completion" "$work/out"
    done
done

# A barrier that is missing is seen: the text without it is hazardous or wrong.
"$program" gen specs/rows.lua --kernel column_sum --arch sm_90a -o "$work/gen" &&
    grep -v '__syncthreads();' "$work/gen/column_sum.sm_90a.cu" >"$work/broken.cu" &&
    ! run_broken &&
    grep -q '^hazard UNORDERED-READ' "$work/out"
ok $? "column_sum without its barrier is an unordered read" "$work/out"
"$program" gen specs/rows.lua --kernel transpose --arch sm_90a -o "$work/gen" &&
    grep -v '__syncthreads();' "$work/gen/transpose.sm_90a.cu" >"$work/broken.cu" &&
    ! run_broken &&
    grep -q '^hazard UNORDERED-READ' "$work/out"
ok $? "transpose without its barrier is an unordered read" "$work/out"

# Ranks and segments of rows that several warps hold: each meeting of the threads alone. The last of by_number is for
# the proof, which does not know that a thread reads no columns but its own.
shipped=$PWD/tests/rows/ranks.lua
for kernel in ranked_wide:8:8 by_rank:4:4 by_number:3:2; do
    meetings=${kernel#*:} kernel=${kernel%%:*} nth=0
    "$program" gen "$shipped" --kernel "$kernel" --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
    text=$work/gen/$kernel.sm_90a.cu
    [ "$(grep -c '__syncthreads();' "$text")" -eq "${meetings%:*}" ]
    ok $? "$kernel meets ${meetings%:*} times" "$work/out"
    while [ "$nth" -lt "${meetings#*:}" ]; do
        nth=$((nth + 1))
        awk -v nth="$nth" '/__syncthreads\(\);/ && ++n == nth { next } { print }' "$text" >"$work/broken.cu"
        ! run_broken && grep -q '^hazard UNORDERED' "$work/out"
        ok $? "$kernel without its meeting $nth is an unordered access" "$work/out"
    done
done
# And arithmetic: a value that counts itself, one column too few, a bit of another place.
"$program" gen "$shipped" --kernel ranked --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
wrong() {
    sed "$2" "$work/gen/$1.sm_90a.cu" >"$work/broken.cu"
    ! cmp -s "$work/gen/$1.sm_90a.cu" "$work/broken.cu" && ! run_broken && grep -q '^FAILED' "$work/out"
    ok $? "$1: seen where '$2'" "$work/out"
}
wrong ranked 's/setp.lt.s32 less/setp.le.s32 less/'
wrong ranked 's/(1u << bits) - 1/(2u << bits) - 1/'
wrong ranked 's/chunk < 64;/chunk < 60;/'
wrong ranked 's|atomicOr(from + rank\(.*\) / 32, 1u << rank.* % 32)|atomicOr(from + rank\1 / 32, 1u)|'
wrong ranked 's/< 64u)/< 8u)/'
wrong by_number 's/if ((u32)column_of\(.*\) < 32u)/if (column_of\1 < 32)/'
echo "1..$count"
[ "$failed" -eq 0 ]
