#!/bin/sh
# Programs with dots where data say what is loaded, stored and how often: lists of blocks, groups with counts on the
# device, rows by number. On the emulator in the three modes of completion, hazards strict. TAP on stdout.
#   usage: tests/emu/lists.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_lists_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - programs over lists on the emulator # SKIP there is no NVRTC"
    exit 0
fi

# Of a text by hand, in its folder: what NVRTC makes of it is kept by its content and its name.
case $program in /*) ;; *) program=$PWD/$program ;; esac
groups=$PWD/tests/programs/pipeline_groups.lua

for spec in tests/programs/pipeline_lists.lua tests/programs/pipeline_groups.lua; do
    "$program" run "$spec" --device emu --arch sm_90a --complete all --hazards strict >"$work/out" 2>&1 &&
        ! grep -q '^hazard' "$work/out"
    ok $? "$spec, in every completion" "$work/out"
done
for arch in sm_80 sm_90a; do
    "$program" run tests/programs/pipeline_limits.lua --device emu --arch $arch --complete random --hazards strict \
        >"$work/out" 2>&1 &&
        ! grep -q '^hazard' "$work/out"
    ok $? "tests/programs/pipeline_limits.lua, $arch" "$work/out"
done
for kernel in block_sparse masked_groups groups_behind; do
    "$program" run tests/programs/pipeline_groups.lua --kernel $kernel --device emu --arch sm_80 --complete random \
        --hazards strict >"$work/out" 2>&1 &&
        ! grep -q '^hazard' "$work/out"
    ok $? "$kernel, sm_80" "$work/out"
done

# A tile that is stored whole though its group ends within is seen.
"$program" gen tests/programs/pipeline_groups.lua --kernel masked_groups --arch sm_90a -o "$work/gen" >"$work/out" &&
    sed 's/if (rows >= 64)/if (rows >= 1)/' "$work/gen/masked_groups.sm_90a.cu" >"$work/broken.cu" &&
    ! (cd "$work" && "$program" run "$groups" --kernel masked_groups --device emu --source broken.cu) \
        >"$work/out" 2>&1 &&
    grep -q 'the program writes nothing there' "$work/out"
ok $? "rows beyond a group's end are not to be written" "$work/out"
echo "1..$count"
[ "$failed" -eq 0 ]
