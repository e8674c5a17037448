#!/bin/sh
# Every variant of every spec, for all its architectures, and of tests/emu/gemm_corners.lua for sm_90a, compiled to the
# end: nothing spills, nothing is in local memory; and for sm_100a, which none has unasked, of the specs that have dots.
# With lines, as the emulator has them, so that the tests that run these kernels later find their PTX compiled.
# TAP on stdout.
#   usage: tests/spills.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_spills_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - nothing spills # SKIP there is no NVRTC"
    exit 0
fi

# Two at once, so that no processor waits for the last kernel of a spec. The largest come first.
# shellcheck disable=SC2012
ls -S specs/*.lua | grep -v '\.tuned\.lua$' | xargs -P 2 -n 1 sh -c '
    name=${2##*/}
    "$0" build "$2" --lines -o "$1/$name" >"$1/$name.out" 2>"$1/$name.err"
    echo $? >"$1/$name.status"' "$program" "$work"
# shellcheck disable=SC2012
ls -S specs/attention*.lua specs/conv.lua specs/fft.lua specs/gemm*.lua specs/nsa*.lua | grep -v '\.tuned\.lua$' |
    xargs -P 2 -n 1 sh -c '
    name=${2##*/}.sm_100a
    "$0" build "$2" --arch sm_100a -o "$1/$name" >"$1/$name.out" 2>"$1/$name.err"
    echo $? >"$1/$name.status"' "$program" "$work"
# Corners of the family gemm: tiles that take most of the registers.
"$program" build tests/emu/gemm_corners.lua --arch sm_90a --lines -o "$work/corners" \
    >"$work/corners.out" 2>"$work/corners.err"
echo $? >"$work/corners.status"
clean() { # file name
    out=$work/$1.out
    # Under a head each variant has a row; its spills and its frame are 0.
    [ "$(cat "${out%.out}.status")" -eq 0 ] && awk 'NR == 1 { known = $7 == "spills" && $8 == "frame" }
        NR > 1 && ($7 != 0 || $8 != 0) { bad = 1 }
        END { exit bad || !known || NR < 2 }' "$out"
    ok $? "build $2: no spills, no local memory in any variant" "$out ${out%.out}.err"
}
for path in specs/*.lua; do
    case $path in *.tuned.lua) continue ;; esac
    clean "${path##*/}" "$path"
    [ ! -f "$work/${path##*/}.sm_100a.out" ] || clean "${path##*/}.sm_100a" "$path --arch sm_100a"
done
clean corners "tests/emu/gemm_corners.lua --arch sm_90a"
echo "1..$count"
[ "$failed" -eq 0 ]
