#!/bin/sh
# The path of somebody new, as README.md and runtime/README.md have it, in a fresh folder without a cache: a spec of one's
# own, a mistake, what is said of it, the fix, the kernel verified, the generated C in a program. Every line of output is
# the page's; how long it took is told. TAP on stdout; no GPU is used.
#   usage: sh tests/newcomer.sh [PROGRAM]              with this build, from the top of the tree
#          sh tests/newcomer.sh --fresh [REPOSITORY]   from a clone (of this tree) and ./bootstrap run on: six minutes at
#                                                      most on two processors; by hand, as root or with sudo where
#                                                      packages are missing
set -u
top=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_newcomer_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
. tests/tap.sh
. tests/pages/pages.sh
begun=$(date +%s) seconds=0 used=0
tab=$(printf '\t')
tree=$work/new

# took WHAT: the seconds since the last one, by the clock and of the processors.
took() {
    before=$seconds before_used=$used
    seconds=$(($(date +%s) - begun))
    times >"$work/times"
    used=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, "[ms]"); sum += 60 * t[1] + t[2] } printf "%.0f", sum }' \
        "$work/times")
    echo "# $((seconds - before)) s, $((used - before_used)) s of the processors: $1"
}

# walk PAGE SECTION: does what the section says, from top to bottom.
walk() {
    page_blocks "$1"
    while IFS=$tab read -r number line section note; do
        [ "$section" = "$2" ] || continue
        block "$1" "$line" "$note" "$work/blocks/$number.text"
        echo "$note" >>"$work/walked"
        cat "$work/blocks/$number.text" >>"$work/walked"
    done <"$work/list"
    took "$1, $2"
}

# came_by WHAT PATTERN: is it on the path?
came_by() {
    grep -q -- "$2" "$work/walked"
    ok $? "the path has $1"
}

if [ "${1:-}" = --fresh ]; then
    git clone -q "${2:-$top}" "$tree" || exit 3
    top=$tree
    took "git clone"
    (cd "$tree" && ./bootstrap run) >"$work/out" 2>"$work/err"
    status=$?
    tail -n 3 "$work/err" >>"$work/out"
    grep -q '^verified [0-9]* cases of [0-9]* kernels on ' "$work/out" && [ $status = 0 ]
    ok $? "./bootstrap run verifies specs/gemm.lua" "$work/out"
    took "./bootstrap run"
    program=$tree/build/tilewright
else
    program=${1:-build/tilewright}
    case $program in /*) ;; *) program=$PWD/$program ;; esac
    # What a build leaves and a program includes; no specs, no tests, nothing of this tree's build folder.
    mkdir -p "$tree/build"
    ln -s "$program" "$tree/build/tilewright"
    ln -s "${program%/*}/libtilewright.a" "${program%/*}/libtilewright-emu.a" "$tree/build"
    ln -s "$top/runtime" "$tree/runtime"
fi
if "$program" doctor >/dev/null 2>&1; then nvrtc=yes; else nvrtc=no; fi

walk README.md "A spec, a mistake, a kernel"
walk runtime/README.md "A whole program"
came_by "a spec of one's own" '^file: .*\.lua$'
came_by "a mistake" ': error: .*; write .*\]$'
came_by "its fix" 'sed .* && build/tilewright check'
came_by "a run" '^verified [0-9]* cases'
came_by "the generated C" '^\$ build/tilewright gen '
came_by "a C compiler" '^\$ cc '
came_by "a program that is run" '^\$ .*build/[a-z_]*_main$'
if [ "${1:-}" = --fresh ]; then
    [ "$seconds" -lt 360 ]
    ok $? "$seconds seconds from the clone on, 360 at most"
fi
echo "# $seconds s, $used s of the processors in all"
echo "1..$count"
[ "$failed" -eq 0 ]
