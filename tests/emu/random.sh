#!/bin/sh
# Random programs against their meaning, on the emulator; and the specs that they once found. TAP on stdout.
#   usage: tests/emu/random.sh, from the top of the tree, after `ninja build/tests/emu/random/random_programs`. Needs
#   NVRTC.
#   COUNT, FIRST: how many programs, from which seed on: 100, 1, and three specs of gemm for five. FULL=1: 2,000 of
#   both. ALL=1: each kernel on all its architectures at all sizes in all completion modes. KEEP=DIR: programs that fail
#   are kept there.
# A failure is run again by `build/tests/emu/random/random_programs --first SEED --count 1`, written by `--print SEED`,
# and is an ordinary spec for `build/tilewright run`.
set -u
program=build/tests/emu/random/random_programs
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_random_sh_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

CHECK=1 sh tests/emu/random_breaks.sh >"$work/out" 2>&1
ok $? "random_breaks.list is of the derivation as it is" "$work/out"
if ! build/tilewright doctor >/dev/null 2>&1; then
    echo "ok $((count + 1)) - random programs # SKIP there is no NVRTC"
    [ "$failed" -eq 0 ]
    exit
fi

for spec in tests/programs/found/*.lua; do
    "$program" --all --strict "$spec" >"$work/out" 2>&1
    ok $? "$spec" "$work/out"
done

count_all=${COUNT:-100} more=
[ "${FULL:-0}" = 1 ] && count_all=${COUNT:-2000}
[ "${ALL:-0}" = 1 ] && more=--all
# shellcheck disable=SC2086
"$program" --first "${FIRST:-1}" --count "$count_all" --quiet $more ${KEEP:+--keep "$KEEP"} >"$work/out" 2>&1
status=$?
[ $status = 0 ] || sed 's/^/# /' "$work/out" | head -n 100
ok $status "$count_all random programs: $(grep '^# .* lowered$' "$work/out")"
sed -n '/^# not hit/,/^# [0-9]* kernels/p' "$work/out" | grep '^#'
# Specs of the family gemm: what check takes is verified on both architectures, and does not spill. Beside
# them those that once spilled, a class each.
"$program" --specs --compile --quiet tests/programs/spilled/*.lua >"$work/specs" 2>&1
ok $? "tests/programs/spilled/*.lua are compiled without spills" "$work/specs"
specs=$count_all
[ "${FULL:-0}" = 1 ] || specs=$(((count_all * 3 + 4) / 5))
# shellcheck disable=SC2086
"$program" --specs --both --first "${FIRST:-1}" --count "$specs" --quiet ${KEEP:+--keep "$KEEP"} >"$work/specs" 2>&1
ok $? "$specs random specs of gemm, compiled and emulated: $(grep '^# .* lowered$' "$work/specs")" "$work/specs"
# Cubins of further ones: ptxas serialises no wgmma.
"$program" --first $((${FIRST:-1} + count_all)) --count $(((count_all + 7) / 8)) --only sm_90a --arch sm_90a --compile \
    --quiet ${KEEP:+--keep "$KEEP"} >"$work/cubins" 2>&1
ok $? "$(((count_all + 7) / 8)) random programs with wgmma are compiled as they are meant: \
$(grep '^# .* lowered$' "$work/cubins")" "$work/cubins"
# The generator still writes what lowerings take.
[ "$(sed -n 's/^# \([0-9]*\) kernels lowered$/\1/p' "$work/out")" -ge $((count_all * 3 / 2)) ]
ok $? "three kernels of four are lowered" "$work/out"
! grep -q '^#   NOT WRAPPED' "$work/out"
ok $? "every ring is wrapped twice" "$work/out"
# Every field of how a kernel runs is changed by some kernel, whose results then lie within the first one's bounds; and
# steps of every row of place_ops.def run. A field that the schema has and the generator does not draw is a hole.
grep -qx '# fields that no kernel changed:' "$work/out" && ! grep -q '^#   AFTER ALL' "$work/out"
ok $? "every field of how a kernel runs is changed" "$work/out"
if [ "${FULL:-0}" = 1 ]; then
    grep -qx '# rows of place_ops.def that no step was:' "$work/out"
    ok $? "every row of place_ops.def is some step's" "$work/out"
fi
# What runs one in a hundred on a GPU, with the emulator in its place; and what it makes of a launch that went wrong.
sh tests/gpu/random.sh --device emu --programs 1 --every 7 >"$work/gpu" 2>&1 &&
    [ "$(grep -c -e '"failed": \[\]' -e '"failed": 0' "$work/gpu")" = 2 ]
ok $? "tests/gpu/random.sh, on the emulator" "$work/gpu"
printf '%s\n' 'worst 0.5000 0.2500 p sm_90a' 'bad p sm_90a: 3 elements are beyond their bounds' |
    sed '1i program 9 0' >"$work/log"
python3 tests/emu/random/results.py --gpu --commit x "$work/log" >"$work/gpu" 2>&1
[ $? = 1 ] && tr -d '\n ' <"$work/gpu" | grep -q '"failed":\[9\].*"passed":1,"failed":1'
ok $? "tests/gpu/random.sh tells of what failed" "$work/gpu"
if [ "${FULL:-0}" = 1 ]; then
    met=$(sed -n 's/^# \([0-9]* of [0-9]*\) pairs of features met$/\1/p' "$work/out")
    [ "${met%% *}" = "${met##* }" ]
    ok $? "every pair of features that can meet did: $met" "$work/out"
fi
echo "1..$count"
[ "$failed" -eq 0 ]
