#!/bin/sh
# A loop whose turns the blocks of a cluster share: bugs planted into the text by which their sums come together, each of
# which the emulator reports. TAP on stdout.
#   usage: tests/emu/split.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_split_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - planted bugs # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac
spec=$PWD/specs/gemm_split.lua

# Without sizes that wrap the ring of sums a wait that is gone does no harm: several items a block.
run() { # FILE COMPLETION
    (cd "$work" && "$program" run "$spec" --device emu --source "$1" --complete "$2" --inputs integer \
        --set M=72,N=264,K=328) >"$work/out" 2>&1
}

"$program" gen "$spec" --kernel gemm_split_4 -o "$work/text" >/dev/null || ok 1 "gen"
whole=$work/text/gemm_split_4.sm_90a.cu
cp "$whole" "$work/whole.cu"
for mode in eager late random; do
    run whole.cu $mode
    ok $? "the kernel as it is emitted, $mode" "$work/out"
done

# name; what is to be said of it; an edit of sed, which changes one place.
while IFS='|' read -r name expected edit; do
    sed "$edit" "$whole" >"$work/$name.cu"
    [ "$(diff "$whole" "$work/$name.cu" | grep -c '^>')" = 1 ]
    ok $? "$name is planted once" "$work/$name.cu"
    for mode in eager late random; do
        run "$name.cu" $mode
        [ $? = 1 ] && grep -q "$expected" "$work/out"
        ok $? "$name, $mode" "$work/out"
    done
done <<'END'
no_meeting|hazard BARRIER-INIT|s/^    cluster_meet();/    __syncthreads();/
no_wait_empty|hazard |s/^\( *\)parts_wait_empty(parts_fill);/\1;/
no_expect|hazard |s/^\( *\)parts_expect(parts_fill);/\1;/
no_send|hazard DEADLOCK|s/^\( *\)parts_send(parts_fill, .*/\1;/
no_wait_full|hazard |s/^\( *\)parts_wait_full(parts_next);/\1;/
no_fence|hazard PROXY-FENCE|s/^\( *\)parts_fence();/\1;/
no_release|hazard DEADLOCK|s/^\( *\)parts_release(parts_oldest);/\1parts_advance(parts_oldest);/
no_drain|hazard |s/^\( *\)parts_drain(parts_fill);/\1;/
sums_in_flight|hazard REG-IN-FLIGHT|s/^\( *\)mma_wait_0();/\1;/
other_slot|hazard |s/(own - to - 1) % 4/(own - to) % 4/
other_columns|FAILED |s/const int first = to \* \([0-9]*\) + i/const int first = own * \1 + i/
other_block|hazard |s/const u32 other = rank + to/const u32 other = rank * 0 + to/
fewer_bytes|hazard |s/^\( *barrier_arrive_expect(parts_full.*\), \([0-9]*\));/\1, \2 - 16);/
one_lane_fewer|hazard DEADLOCK|s/if (lane < 4 && lane != own)/if (lane < 3 \&\& lane != own)/
END
echo "1..$count"
[ "$failed" -eq 0 ]
