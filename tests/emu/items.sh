#!/bin/sh
# Consumers that take items in turn, on the emulator in the three modes of completion, hazards strict; and what it says
# of a text in which a turn, what is gone past or a release is missing. TAP on stdout.
#   usage: tests/emu/items.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_items_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - items in turn on the emulator # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac
spec=$PWD/tests/programs/pipeline_items.lua

# One, two or three clusters of blocks: each takes many items, an odd number of them, or one.
for way in '4 all' '12 random'; do
    sms=${way% *} mode=${way#* }
    "$program" run "$spec" --device emu --arch sm_90a --complete $mode --sms $sms --hazards strict >"$work/out" 2>&1 &&
        ! grep -q '^hazard' "$work/out"
    ok $? "$sms multiprocessors, completion $mode" "$work/out"
done

# A text by hand, in its folder: what NVRTC makes of it is kept by its content and its name.
"$program" gen "$spec" --kernel items_gemm --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
text=$work/gen/items_gemm.sm_90a.cu
# broken NAME HAZARD SED: the text, changed so, is reported under that hazard.
broken() {
    sed "$3" "$text" >"$work/broken.cu"
    ! cmp -s "$text" "$work/broken.cu" &&
        ! (cd "$work" && "$program" run "$spec" --kernel items_gemm --device emu --source broken.cu \
            --complete random --sms 2 --set M=600,N=392,K=520 --inputs integer --rows dense) >"$work/out" 2>&1 &&
        grep -q "$2" "$work/out"
    ok $? "$1: $2" "$work/out"
}
broken "no turn is waited for" "PHASE\|UNORDERED" 's/^            turn_wait(consumer);/            ;/'
broken "no turn is passed on" DEADLOCK 's/^            turn_pass(consumer);/            ;/'
broken "nobody begins" DEADLOCK '/^        if (consumer == 1)$/ { n; s/turn_pass(consumer);/;/; }'
broken "others' stages are not gone past" "PHASE\|UNORDERED\|DEADLOCK" 's/^ *ab_skip(ab_next, k_turns);/;/'
broken "one stage too few is gone past" "PHASE\|UNORDERED\|DEADLOCK" 's/ab_skip(ab_next, k_turns)/ab_skip(ab_next, k_turns - 1)/'
broken "what is released is not gone past" "DEADLOCK\|UNORDERED\|BARRIER" 's/^ *ab_oldest = ab_next;/;/'
broken "the parity stays where stages are gone past" "PHASE\|UNORDERED\|DEADLOCK" 's/^    p.phase ^= at .*/    ;/'
broken "the turn is passed on before the stages are waited for" "PHASE\|UNORDERED" \
    '/^            at_k = at_k_turn/ { n; s/turn_pass(consumer);/;/; }
     s/^            turn_wait(consumer);/            turn_wait(consumer); turn_pass(consumer);/'
broken "both consumers store from one buffer" "UNORDERED\|PROXY" 's/^\(    return shared_address([0-9]* + \)consumer \* [0-9]* + buffer/\1buffer/'

# Orders: each item of a grid of up to 21 x 21 exactly once, as the emitted text counts them, by one block and by three.
# Of a square on the curve neighbours follow each other. What stands for sizes is the kernel's own text.
orders=$PWD/tests/programs/pipeline_orders.lua
cat >"$work/visits.cu" <<'CU'
extern "C" __global__ void visits(unsigned char *seen, int *wrong, int most, int side)
{
    const int grid = blockIdx.y * blockDim.x + threadIdx.x, rows = grid / most + 1, columns = grid % most + 1;
    if (grid >= most * most)
        return;
    arguments args = {};
    args.M = rows * 64;
    args.N = columns * 32;
    item_order items = items_begin(args);
    int m, n, last_m = -1, last_n = -1, apart = 0, count = 0;
    unsigned char *own = seen + (blockIdx.x * most * most + grid) * most * most;
    while (items_next(args, items, m, n)) {
        ++count;
        if (m % 64 || n % 32 || m < 0 || n < 0 || m >= args.M || n >= args.N || own[m / 64 * most + n / 32]++)
            wrong[grid] = 1;
        apart += last_m >= 0 && abs(m - last_m) / 64 + abs(n - last_n) / 32 != 1;
        last_m = m, last_n = n;
    }
    if (gridDim.x == 1 && (count != rows * columns || (side && rows == side && columns % side == 0 && apart)))
        wrong[grid] = 1;
}
__device__ int abs(int x) { return x < 0 ? -x : x; }
CU
# visits FILE BLOCKS SIDE: of the text; 0 where no item is wrong.
visits() {
    (cd "$work" && "$program" emu "$1" --entry visits --grid "$2",4 --block 128 \
        --arg "buf:$((3 * 21 * 21 * 21 * 21)),fill=zero" --arg "buf:$((21 * 21 * 4)),fill=zero,dump=wrong" \
        --arg 21 --arg "$3") >"$work/out" 2>&1 && [ "$(tr -d '\0' <"$work/wrong" | wc -c)" -eq 0 ]
}
for kernel in orders_curve:4 orders_curve_of_eight:8 orders_grouped:0 orders_row:0 orders_column:0; do
    side=${kernel#*:} kernel=${kernel%:*}
    "$program" gen "$orders" --kernel $kernel --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
    { # the types, the arguments and the order
        echo 'typedef unsigned u32; typedef long long i64; struct arguments { int M, N, K; };'
        echo '__device__ int abs(int);'
        sed -n '/^struct item_order/,/^extern\|^\/\/ Registers/ { /^extern\|^\/\/ Registers/!p; }' "$work/gen/$kernel.sm_90a.cu"
        cat "$work/visits.cu"
    } >"$work/$kernel.cu"
    for blocks in 1 3; do
        visits $kernel.cu $blocks $side
        ok $? "$kernel: each item once, $blocks blocks" "$work/out"
    done
done
sed 's|step / 2 & 1|step \& 1|' "$work/orders_curve.cu" >"$work/turned.cu"
! visits turned.cu 1 4 && ! visits turned.cu 3 0 && grep -q ' 0 hazards' "$work/out"
ok $? "a curve that is turned wrongly is seen" "$work/out"
# Consumers that pass the tensor cores on around a dot of their own turn; results that the L2 gives up.
programs_gemm=$PWD/tests/programs/pipeline_gemm.lua
"$program" run "$programs_gemm" --kernel gemm_program_turns --device emu --arch sm_90a --complete all \
    --sms 3 --hazards strict >"$work/out" 2>&1 && ! grep -q '^hazard' "$work/out"
ok $? "gemm_program_turns, in every completion" "$work/out"
"$program" gen "$programs_gemm" --kernel gemm_program_turns --arch sm_90a -o "$work/turns" \
    >"$work/out" 2>&1
text=$work/turns/gemm_program_turns.sm_90a.cu
grep -q 'bulk_group\.L2::cache_hint' "$text" && [ "$(grep -c 'createpolicy' "$text")" -eq 1 ]
ok $? "its results go out with a word to the L2" "$text"
sed 's/^                turn_pass(consumer);/                ;/' "$text" >"$work/kept.cu"
[ "$(diff "$text" "$work/kept.cu" | grep -c '^>')" -eq 1 ] && ! (cd "$work" && "$program" run "$programs_gemm" \
    --kernel gemm_program_turns --device emu --arch sm_90a --sms 3 --source kept.cu --inputs integer) >"$work/out" 2>&1 &&
    grep -q DEADLOCK "$work/out"
ok $? "a turn that is kept is seen" "$work/out"
"$program" run "$orders" --device emu --complete all --sms 4 --hazards strict >"$work/out" 2>&1
ok $? "tests/programs/pipeline_orders.lua" "$work/out"
# Several blocks a multiprocessor: their registers and shared memory are what one has, which a text that takes more shows.
blocks=$PWD/tests/programs/pipeline_blocks.lua
"$program" run "$blocks" --device emu --complete random --sms 2 --hazards strict >"$work/out" 2>&1
ok $? "tests/programs/pipeline_blocks.lua" "$work/out"
"$program" gen "$blocks" --kernel blocks_two --arch sm_90a -o "$work/blocks" >"$work/out" 2>&1
sed 's/\(setmaxnreg.inc.sync.aligned.u32\) 216/\1 224/' "$work/blocks/blocks_two.sm_90a.cu" >"$work/more.cu"
[ "$(diff "$work/blocks/blocks_two.sm_90a.cu" "$work/more.cu" | grep -c '^>')" -eq 1 ] && ! (cd "$work" &&
    "$program" run "$blocks" --kernel blocks_two --device emu --source more.cu) >"$work/out" 2>&1 &&
    grep -q 'REG-POOL\|DEADLOCK' "$work/out"
ok $? "a block that takes more registers than its share is seen" "$work/out"
echo "1..$count"
[ "$failed" -eq 0 ]
