#!/bin/sh
# Blocks that have shares of the turns of all items: programs on 2 to 14 multiprocessors, so that shares cut items at
# many places, hazards fatal; and bugs planted into the text by which shares are found and sums come together, each of
# which the emulator reports. TAP on stdout.
#   usage: tests/emu/stream.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_stream_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - shares of all turns on the emulator # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac
spec=$PWD/specs/gemm_split.lua programs=$PWD/tests/programs/pipeline_stream.lua

# KERNEL MULTIPROCESSORS...: those of clusters want as many as their blocks for each share.
while read -r kernel sms; do
    for n in $sms; do
        "$program" run "$spec" --kernel "$kernel" --device emu --hazards fatal --complete all --sms "$n" \
            >"$work/out" 2>&1
        ok $? "$kernel on $n multiprocessors" "$work/out"
    done
done <<'END'
gemm_stream 2 3 5 7
gemm_stream_cluster 4 6 10 14
gemm_stream_epilogue 3 7
END
"$program" run "$programs" --device emu --hazards fatal --complete random --sms 9 >"$work/out" 2>&1
ok $? "programs on 9 multiprocessors, completion random" "$work/out"

# On five multiprocessors: of 16 items of 6 turns the first 6 are cut here and there, and the others are whole; one item
# of 19 turns has five parts, and one of two turns two, whose blocks come at about the same time.
run() { # FILE COMPLETION
    (cd "$work" && "$program" run "$spec" --device emu --source "$1" --complete "$2" --inputs integer --sms 5 \
        --set M=200,N=200,K=328 --set M=40,N=40,K=1160 --set M=40,N=40,K=128) >"$work/out" 2>&1
}
"$program" gen "$spec" --kernel gemm_stream --arch sm_90a -o "$work/text" >"$work/out" 2>&1
ok $? gen "$work/out"
whole=$work/gemm_stream.cu
cp "$work/text/gemm_stream.sm_90a.cu" "$whole"
for mode in eager late random; do
    run gemm_stream.cu $mode
    ok $? "as it is emitted, $mode" "$work/out"
done

# Each turn of each item once, as the emitted text deals them out: 100 items to 99 blocks, in a line of 10,000 turns, and
# of more than 2^31, which no line has.
sed '/^extern "C" __global__/,$d' "$whole" >"$work/visits.cu"
cat >>"$work/visits.cu" <<'CU'
extern "C" __global__ void visits(int *turns, int k)
{
    arguments args = {};
    args.M = 64 * 100, args.N = 64, args.K = k;
    item_order items = items_begin(args);
    int m, n, from, count;
    while (items_next(args, items, m, n, from, count))
        atomicAdd(turns + m / 64, count);
}
CU
for turns in 100 33554431; do
    rm -f "$work/turns"
    "$program" emu "$work/visits.cu" --entry visits --grid 99 --block 1 --hazards off \
        --arg "buf:400,fill=zero,name=T,dump=$work/turns" --arg "i32:$((turns * 64))" >"$work/out" 2>&1
    [ "$(od -An -v -tu4 -w4 "$work/turns" | sort | uniq -c | tr -s ' ')" = " 100 $turns" ]
    ok $? "100 items of $turns turns, each once" "$work/out"
done

# Name, behind a colon the modes of completion in which it is looked for; what is to be said of it; an edit of sed,
# which changes one place. All modes but of what is wrong in any of them alike, and of what does harm only where a block that
# has found others missing is the last to count itself all the same.
while IFS='!' read -r name expected edit; do
    modes='eager late random'
    case $name in *:*) modes=${name#*:} name=${name%%:*} ;; esac
    sed "$edit" "$whole" >"$work/$name.cu"
    [ "$(diff "$whole" "$work/$name.cu" | grep -c '^>')" = 1 ]
    ok $? "$name is planted once" "$work/$name.cu"
    for mode in $modes; do
        run "$name.cu" $mode
        [ $? = 1 ] && grep -q "$expected" "$work/out"
        ok $? "$name, $mode" "$work/out"
    done
done <<'END'
no_meeting!hazard !s/^\( *\)parts_meet();/\1;/
not_told:eager!hazard !/parts_are_here = parts_count/{n;s/parts_last(parts_are_here)/parts_are_here/;}
not_told_who_looked!hazard !/parts_are_here = parts_seen/{n;s/parts_last(parts_are_here)/parts_are_here/;}
count_not_ordered!hazard UNORDERED!s/atom\.add\.acq_rel\.gpu/atom.add.relaxed.gpu/
look_not_ordered!hazard UNORDERED!s/ld\.acquire\.gpu/ld.relaxed.gpu/
counter_left_by_who_looks!workspace other than zero!/bool parts_seen/,/^}/s/\*counter = 0;/;/
counter_left_by_who_counts:eager!workspace other than zero!/bool parts_count/,/^}/s/\*counter = 0;/;/
part_left:late!workspace other than zero!/dot_sum_read(/,/^}/s/\*vector = make_float4(0, 0, 0, 0);/;/
own_part_left:eager!workspace other than zero!s/^\( *\)dot_sum_clear(args, parts);/\1;/
too_early!FAILED \|hazard !/bool parts_count/,/^}/s/before == parts.last/before + 1 == parts.last/
a_turn_more:late!FAILED \|hazard !s/\( end = line_begin(line, blockIdx.x + 1)\);/\1 + 1;/
a_turn_fewer:late!FAILED \|hazard !s/min(at_k_count, (int)left);/min(at_k_count, (int)left - (at_k_from > 0));/
turns_left_over:late!FAILED \|hazard !s/\(return taker \* line.each\) + .*/\1;/
first_turn_of_all:late!FAILED \|hazard !s/at_k_from = (int)(turn - number_of \* line.turns);/at_k_from = 0;/
one_part_a_block:late!FAILED \|hazard !s/taker \* 2 + (taker == parts.first)/taker * 2/
one_counter:late!FAILED \|hazard !s/parts_record(args, parts.item)/parts_record(args, 0)/
part_left_out:late!FAILED \|hazard !s/taker <= parts.last; ++taker/taker < parts.last; ++taker/
before_left_out:late!FAILED \|hazard !s/if (parts.first < parts.own) {/if (parts.first + 1 < parts.own) {/
an_item_again:late!FAILED \|hazard !s/left : line.items + blockIdx.x);/left : line.items + blockIdx.x - 1);/
in_flight!hazard REG-IN-FLIGHT!s/^\( *\)mma_wait_0();/\1;/
END
echo "1..$count"
[ "$failed" -eq 0 ]
