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
echo "1..$count"
[ "$failed" -eq 0 ]
