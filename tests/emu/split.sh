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

"$program" gen "$spec" -o "$work/text" >/dev/null || ok 1 "gen"
for kernel in gemm_split_4 gemm_split_blocks; do
    cp "$work/text/$kernel.sm_90a.cu" "$work/$kernel.cu"
    for mode in eager late random; do
        run $kernel.cu $mode
        ok $? "$kernel as it is emitted, $mode" "$work/out"
    done
done

# name; what is to be said of it; an edit of sed, which changes one place. Names that begin with last_ are of blocks of
# no cluster.
while IFS='|' read -r name expected edit; do
    case $name in last_*) whole=$work/gemm_split_blocks.cu ;; *) whole=$work/gemm_split_4.cu ;; esac
    sed "$edit" "$whole" >"$work/$name.cu"
    [ "$(diff "$whole" "$work/$name.cu" | grep -c '^>')" = 1 ]
    ok $? "$name is planted once" "$work/$name.cu"
    for mode in eager late random; do
        run "$name.cu" $mode
        [ $? = 1 ] && grep -q "$expected" "$work/out"
        ok $? "$name, $mode" "$work/out"
    done
done <<'END'
no_arrival|hazard |s/^    cluster_arrive();/    ;/
no_meeting|hazard BARRIER-INIT|s/^        cluster_wait();/        ;/
no_init_fence|hazard BARRIER-INIT|s/^        barrier_init_fence();/        ;/
last_no_arrival|hazard |s/^        block_arrive();/        ;/
last_alone|hazard BARRIER-INIT|s/^        block_wait();/        ;/
last_all_arrive|hazard |s/^    if (threadIdx.x < 32)$/    if (threadIdx.x < 64)/
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
last_no_meeting|hazard |s/^\( *\)parts_meet();/\1;/
last_not_told|hazard |s/^\( *\)parts_are_here = parts_last(parts_are_here);/\1parts_are_here = __shfl_sync(~0u, parts_are_here, 0);/
last_not_ordered|hazard |s/atom\.add\.acq_rel\.gpu/atom.add.relaxed.gpu/
last_not_counted_back|FAILED |s/^\( *\)\*(u32 \*)record = 0;/\1;/
last_not_cleared|workspace other than zero|s/^\( *\)\*vector = make_float4(0, 0, 0, 0);/\1;/
last_too_early|hazard |s/return before + 1 == 3;/return before + 1 >= 2;/
last_same_part|FAILED |s/(u64)part \* \([0-9]*\)/(u64)(part > 1 ? 1 : part) * \1/
last_in_flight|hazard REG-IN-FLIGHT|s/^\( *\)mma_wait_0();/\1;/
one_lane_fewer|hazard DEADLOCK|s/if (lane < 4 && lane != own)/if (lane < 3 \&\& lane != own)/
END
echo "1..$count"
[ "$failed" -eq 0 ]
