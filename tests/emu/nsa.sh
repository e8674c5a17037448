#!/bin/sh
# Native sparse attention (specs/nsa.lua) on the emulator: in the three modes of completion, hazards strict and fatal,
# each compared with double precision and with its reference by hand; sizes leave nothing out. What is changed in the
# lists' meaning is seen. TAP on stdout.
#   usage: tests/emu/nsa.sh [PROGRAM], from the top of the tree. Needs NVRTC and a C compiler, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_nsa_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - native sparse attention on the emulator # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac

"$program" run specs/nsa.lua --device emu --complete all --hazards strict >"$work/out" 2>&1 &&
    ! grep -q '\[RUN-COVERAGE\]\|^hazard' "$work/out"
ok $? "specs/nsa.lua, in every completion" "$work/out"

# wrong FILE KERNEL SED: the file of specs/, changed so, gives results that the reference by hand does not.
cp -r specs "$work/specs"
wrong() {
    sed "$3" "specs/$1.lua" >"$work/specs/$1.lua"
    ! cmp -s "specs/$1.lua" "$work/specs/$1.lua" &&
        ! "$program" run "$work/specs/nsa.lua" --kernel "$2" --device emu --complete random >"$work/out" 2>&1 &&
        grep -q "reference" "$work/out"
    ok $? "$1, $2: seen where '$3'" "$work/out"
    cp "specs/$1.lua" "$work/specs/$1.lua"
}
wrong nsa nsa_fwd_b16 's/= t.blocks\[b\]\[q\]\[g\]\[s\] end/= math.max(t.blocks[b][q][g][s], 0) end/'
wrong reference/nsa nsa_fwd_b16 's/own.block - 1, q)/own.block - 1, n.T - 1)/'
wrong reference/nsa nsa_fwd_b16 's/own.block - 1, q)/own.block - 2, q)/'
wrong nsa nsa_fwd_b16 's/if own.counts then count = .*/if false then end/'
wrong nsa nsa_fwd_b16 's/list\[s + 1\] = /if s == 0 or t.blocks[b][q][g][s] ~= t.blocks[b][q][g][0] then list[#list + 1] = /; s/\[s\] end$/[s] end end/'
echo "1..$count"
[ "$failed" -eq 0 ]
