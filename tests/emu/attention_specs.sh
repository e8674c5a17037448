#!/bin/sh
# The further specs of attention on the emulator: head sizes and layouts, masks and scores, sequences of their own
# lengths. In the three modes of completion, hazards strict and fatal, each compared with double precision and with its
# reference by hand; their sizes leave nothing out. And what is changed in them is seen. TAP on stdout.
#   usage: tests/emu/attention_specs.sh [PROGRAM], from the top of the tree. Needs NVRTC and a C compiler, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_attention_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - specs of attention on the emulator # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac

for spec in specs/attention_*.lua; do
    "$program" run "$spec" --device emu --complete all --hazards strict >"$work/out" 2>&1 &&
        ! grep -q '\[RUN-COVERAGE\]\|^hazard' "$work/out"
    ok $? "$spec, in every completion" "$work/out"
done

# wrong SPEC KERNEL SED WORD...: the spec, changed so, gives results that the reference by hand does not.
cp -r specs "$work/specs"
wrong() {
    sed "$3" "specs/$1.lua" >"$work/specs/$1.lua"
    ! cmp -s "specs/$1.lua" "$work/specs/$1.lua" &&
        ! "$program" run "$work/specs/$1.lua" --kernel "$2" --device emu --complete random >"$work/out" 2>&1 &&
        grep -q "reference" "$work/out"
    ok $? "$1, $2: seen where '$3'" "$work/out"
}
wrong attention_heads attention_fwd_d64 's/by_hand { d = d, e = e }/by_hand { d = d, e = e, visible = function(q, kv) return kv < 200 end }/'
echo "1..$count"
[ "$failed" -eq 0 ]
