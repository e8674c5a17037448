#!/bin/sh
# Tiles that are stored as they were loaded, by bulk copies: right results at ragged edges, nothing left out, no report,
# no element in a register, and each synchronising word needed. TAP on stdout.
#   usage: tests/emu/copies.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_copies_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE program
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - copies on the emulator # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac
matrix=$PWD/specs/tile_copy.lua boxes=$PWD/specs/tile_copy_boxes.lua

for spec in "$matrix" "$boxes"; do
    "$program" run "$spec" --device emu --hazards strict --complete late >"$work/out" 2>&1 &&
        ! grep -q -e '^hazard' -e '\[RUN-COVERAGE\]$' "$work/out"
    ok $? "${spec##*/}, copies as late as can be" "$work/out"
done
for mode in eager random; do
    "$program" run "$matrix" --kernel tile_copy_stages_2 --device emu --complete $mode >"$work/out" 2>&1 &&
        ! grep -q '^hazard' "$work/out"
    ok $? "tile_copy_stages_2, $mode" "$work/out"
    "$program" run "$matrix" --kernel tile_copy_192 --device emu --complete $mode >"$work/out" 2>&1 &&
        ! grep -q '^hazard' "$work/out"
    ok $? "tile_copy_192, $mode" "$work/out"
    for kernel in tile_copy_2x2x32 tile_copy_5d tile_copy_add tile_copy_four tile_copy_multicast; do
        "$program" run "$boxes" --kernel $kernel --device emu --inputs integer --complete $mode >"$work/out" 2>&1 &&
            ! grep -q '^hazard' "$work/out"
        ok $? "$kernel, $mode" "$work/out"
    done
done
"$program" run tests/emu/copies.lua --device emu --complete random >"$work/out" 2>&1 && ! grep -q '^hazard' "$work/out"
ok $? "tests/emu/copies.lua" "$work/out"

# What a spec says of the L2 holds for sums, too.
"$program" gen tests/emu/copies.lua --arch sm_90a -o "$work/gen" >"$work/out" 2>&1 &&
    grep -q 'cp.reduce.async.bulk.tensor.*cta.add.bulk_group.L2::cache_hint' "$work/gen/copy_add_hinted.sm_90a.cu" &&
    grep -q 'tma_add_hinted_2d(&args.Y_map.*, cache_evict_first());' "$work/gen/copy_add_hinted.sm_90a.cu"
ok $? "copy_add_hinted: additions say what becomes of their bytes" "$work/out"

# Blocks count items in 32 bits.
"$program" run tests/emu/copies.lua --kernel copy_add_items --device emu --set A=65536,B=65537,C=64 >"$work/out" 2>&1
[ $? -eq 1 ] && grep -q 'the sizes ask for 4295032832 tiles, and blocks count up to 2147483647 of them' "$work/out"
ok $? "copy_add_items: 2^32 items and more are refused" "$work/out"

# Neither a load nor a store of an element.
"$program" gen "$matrix" --arch sm_90a -o "$work/gen" >"$work/out" 2>&1 &&
    "$program" gen "$boxes" --arch sm_90a -o "$work/gen" >>"$work/out" 2>&1 &&
    ! grep -e 'args\.[XY][234]\{0,1\}\[' -e 'ld\.' -e 'st\.' "$work"/gen/tile_copy_[1-9]*[0-9dB].sm_90a.cu >>"$work/out"
ok $? "no thread touches an element" "$work/out"

# bug KERNEL HAZARD EDIT WHAT: the text with the sed commands EDIT is wrong in that way.
bug() {
    sed "$3" "$work/gen/$1.sm_90a.cu" >"$work/broken.cu"
    if cmp -s "$work/gen/$1.sm_90a.cu" "$work/broken.cu"; then
        ok 1 "$1: nothing to edit for '$4'"
        return
    fi
    case $1 in tile_copy_multicast) spec=$boxes ;; *) spec=$matrix ;; esac
    for mode in late 'random --seed 5'; do
        # shellcheck disable=SC2086
        (cd "$work" && timeout 60 "$program" run "$spec" --device emu --source broken.cu --inputs integer \
            --hazards on --complete $mode) >"$work/out" 2>&1
        [ $? -eq 1 ] && grep -q "^hazard $2" "$work/out"
        ok $? "$1: $4: $2, $mode" "$work/out"
    done
}
ring=tile_copy_stages_2
bug $ring UNINIT 's/tile_wait_full(tile_next);/;/' 'the consumer does not wait for the stage'
bug $ring UNORDERED-WRITE 's/tile_wait_empty(tile_fill);/;/' 'the producer does not wait for its release'
bug $ring UNORDERED-WRITE 's/sends_wait<1>();/;/' 'a stage is released while it is stored'
bug $ring UNORDERED-WRITE 's/sends_wait<1>();/sends_wait<2>();/' 'one group more may run'
bug $ring UNORDERED-WRITE 's/^ *sends_commit();/;/' 'stores belong to no group'
bug $ring UNORDERED-WRITE 's/if (held == 1)/if (held == 0)/' 'a stage is released a turn early'
bug $ring DEADLOCK 's/if (held == 1)/if (held == 9)/' 'stages are not released'
bug $ring EXIT-IN-FLIGHT 's/sends_wait<0>();/;/' 'the block ends while a store reads'
bug $ring TX-BYTES 's/_full(p.stage), 8192);/_full(p.stage), 8064);/' 'fewer bytes are announced'
bug $ring BARRIER-INIT 's/barrier_init_fence();/;/' 'barriers are set up without a fence'
bug $ring BARRIER-INIT 's/    __syncthreads();/    ;/' 'the block does not meet'
bug tile_copy_multicast EXIT-IN-FLIGHT 's/tile_drain(tile_fill);/;/' 'a block ends before the other has released'
bug tile_copy_multicast BARRIER-INIT 's/    cluster_meet();/    __syncthreads();/' 'the cluster does not meet'
# A tile's map is one of an array of them. seen EDIT HOW: the edited text takes another one.
seen() {
    sed "$1" "$work/gen/tile_copy_192.sm_90a.cu" >"$work/broken.cu"
    ! cmp -s "$work/gen/tile_copy_192.sm_90a.cu" "$work/broken.cu" &&
        ! "$program" run "$matrix" --device emu --source "$work/broken.cu" --inputs integer --set H=70,W=72 \
            >"$work/out" 2>&1 && grep -q "$2" "$work/out"
    ok $? "tile_copy_192, seen: $1" "$work/out"
}
seen 's/X_map\[i0\]/X_map[0]/' 'elements are beyond their bounds'
seen 's/X_map\[i0\]/X_map[95 - i0]/' 'elements are beyond their bounds'
seen 's/X_map\[i0\]/Y_map[i0]/' 'was not written'
seen 's/Y_map\[i0\]/Y_map[0]/' 'hazards UNORDERED-WRITE'
seen 's/Y_map\[i0\]/Y_map[i0 + 1]/' 'hazards BOUNDS'

# Slices that lie anywhere: the emitted C on a driver that is none, and on the emulator.
cc=${CC:-cc}
"$program" build "$matrix" --kernel tile_copy_192 --arch sm_90a -o "$work/slices" >"$work/out" 2>&1 &&
    "$cc" -std=c99 -O1 -Wall -Wextra -Wpedantic -Werror -Itests/embed -Iruntime -I"$work/slices" -o "$work/use" \
        tests/embed/use_slices.c tests/embed/mock_driver.c "$work/slices/tile_copy_192.c" \
        build/libtilewright.a -l:libxxhash.a -lm -ldl >>"$work/out" 2>&1 &&
    "$cc" -std=c99 -O1 -Wall -Wextra -Wpedantic -Werror -I"$work/gen" -o "$work/anywhere" \
        tests/embed/run_slices.c "$work/gen/tile_copy_192.c" -ldl >>"$work/out" 2>&1
ok $? "programs with tile_copy_192.c compile" "$work/out"
"$work/use" >"$work/out" 2>&1
ok $? "what slices with maps are given, and what of them is refused" "$work/out"
"$program" run-program "$work/anywhere" >"$work/out" 2>&1 && grep -qx '0 wrong' "$work/out" &&
    grep -qx 'tilewright run-program: 1 launch, 0 hazards' "$work/out"
ok $? "slices that lie anywhere" "$work/out"
"$program" run "$matrix" --device emu --arch sm_120a --inputs integer --complete alternate --hazards strict \
    >"$work/out" 2>&1
ok $? "specs/tile_copy.lua on sm_120a" "$work/out"
echo "1..$count"
[ "$failed" -eq 0 ]
