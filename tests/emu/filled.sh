#!/bin/sh
# Items that data leave nothing to store (plan_item.filled) are not taken: on the emulator in the three modes of
# completion, hazards strict; that nothing is loaded where nothing is there; that each other item is taken once and that
# blocks have as many as each other, as the emitted text counts them; and what is said of a text that counts wrongly.
# TAP on stdout.
#   usage: tests/emu/filled.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_filled_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - items that store nothing, on the emulator # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac
spec=$PWD/tests/programs/pipeline_filled.lua

"$program" run "$spec" --device emu --arch sm_90a --complete all --hazards strict >"$work/out" 2>&1 &&
    ! grep -q '^hazard' "$work/out"
ok $? "tests/programs/pipeline_filled.lua, in every completion" "$work/out"
"$program" run "$spec" --device emu --arch sm_80 --complete random --hazards strict >"$work/out" 2>&1 &&
    ! grep -q '^hazard' "$work/out"
ok $? "tests/programs/pipeline_filled.lua, sm_80" "$work/out"

# Which kernels are walked (W), asked of each item (A), or neither.
"$program" plan "$spec" --arch sm_90a --variant 0 --why |
    awk '/^kernel /{ name = $2 } /grid.m .*behind the end/{ print "W", name } /grid.m .*gone past/{ print "A", name }' \
        >"$work/out"
[ "$(grep -c '^W' "$work/out")" -eq 9 ] && [ "$(grep -c '^A' "$work/out")" -eq 3 ] &&
    ! grep -q 'counter\|apart' "$work/out"
ok $? "what is left out, and how" "$work/out"

# Where no group has a row no stage of a ring is ever filled.
"$program" run "$spec" --kernel filled_nothing --device emu --arch sm_90a >"$work/out" 2>&1 &&
    grep -q 'ring ab unwrapped (0 of [0-9]* stages filled)' "$work/out"
ok $? "without rows nothing is loaded" "$work/out"

# Each item that has rows exactly once, and no cluster more than its share, for counts that differ from case to case: a
# warp of each block, one lane of it. What stands for arguments is the kernel's own text.
cat >"$work/visits.cu" <<'CU'
__device__ __forceinline__ i64 count_at(const arguments &args, i64 i0)
{
    return i0 >= 0 && i0 < args.E ? args.count[i0] : 0;
}
enum { GROUPS = 5, DOWN = 8, ACROSS = 5 };
__device__ u32 drawn(u32 x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}
extern "C" __global__ void visits(int *wrong)
{
    if (threadIdx.x || blockIdx.x % 2)
        return; // the other block of the cluster, which takes the same items
    const int clusters = gridDim.x / 2, columns = blockIdx.y % ACROSS + 1, rows = 128 * DOWN - 57;
    int count[GROUPS], all = 0, own = 0;
    for (int e = 0; e < GROUPS; ++e) {
        const u32 x = drawn(blockIdx.y * GROUPS + e);
        count[e] = x % 4 == 0 ? 0 : x % 4 == 1 ? (int)(x / 4 % 3) - 1 : (int)(x / 4 % (128 * DOWN + 100));
        all += (max(0, min(count[e], rows)) + 127) / 128 * columns;
    }
    u64 seen[GROUPS] = {0};
    arguments args = {};
    args.E = GROUPS, args.M = rows, args.N = columns * 32, args.count = count;
    item_order items = items_begin(args);
    int e, m, n;
    while (items_next(args, items, e, m, n)) {
        const int item = m / 128 * ACROSS + n / 32;
        bool fine = e >= 0 && e < GROUPS && m >= 0 && n >= 0 && m % 128 == 0 && n % 32 == 0 && n < args.N;
        fine = fine && m < rows && m < count[e] && !(seen[e] >> item & 1);
        if (!fine)
            wrong[blockIdx.y] = 1;
        else
            seen[e] |= 1ull << item;
        ++own;
    }
    if (own < all / clusters || own > (all + clusters - 1) / clusters)
        wrong[blockIdx.y] = 1;
    if (clusters == 1 && own != all)
        wrong[blockIdx.y] = 1;
}
CU
visits() {
    (cd "$work" && "$program" emu "$1" --entry visits --grid "$2",150 --block 32 \
        --arg "buf:600,fill=zero,dump=wrong") >"$work/out" 2>&1 && [ "$(tr -d '\0' <"$work/wrong" | wc -c)" -eq 0 ]
}
for kernel in filled_masked filled_hilbert filled_row; do
    "$program" gen "$spec" --kernel $kernel --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
    {
        echo 'typedef unsigned u32; typedef long long i64; typedef unsigned long long u64;'
        echo 'struct arguments { const int *count; int E, M, N, K; };'
        sed -n '/^struct item_order/,/^\/\/ Registers/ { /^\/\/ Registers/!p; }' "$work/gen/$kernel.sm_90a.cu"
        cat "$work/visits.cu"
    } >"$work/$kernel.cu"
    for blocks in 2 6 14; do
        visits $kernel.cu $blocks
        ok $? "$kernel: each item once and shared evenly, $((blocks / 2)) clusters" "$work/out"
    done
done
sed 's/s.before += /s.before += 1 + /' "$work/filled_masked.cu" >"$work/off.cu"
! visits off.cu 2 && ! visits off.cu 6 && grep -q ' 0 hazards' "$work/out"
ok $? "a walk that goes past an item is seen" "$work/out"
sed 's/min((i64)(\(g[0-9]*\)),/min((i64)(\1) + 128,/' "$work/filled_row.cu" >"$work/off.cu"
! cmp -s "$work/filled_row.cu" "$work/off.cu" && ! visits off.cu 2 && grep -q ' 0 hazards' "$work/out"
ok $? "a walk that takes items behind the end is seen" "$work/out"

# broken NAME KERNEL WHAT SED: the text, changed so, is reported.
broken() {
    "$program" gen "$spec" --kernel $2 --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
    sed "$4" "$work/gen/$2.sm_90a.cu" >"$work/broken.cu"
    ! cmp -s "$work/gen/$2.sm_90a.cu" "$work/broken.cu" &&
        ! (cd "$work" && "$program" run "$spec" --kernel $2 --device emu --source broken.cu) >"$work/out" 2>&1 &&
        grep -q "$3" "$work/out"
    ok $? "$1: $3" "$work/out"
}
broken "a group goes past its last item" filled_masked "is not written\|nothing\|DEADLOCK\|FAILED" 's/s.before += /s.before += 1 + /'
broken "a tile's group is that of the tile before" filled_tiles FAILED 's|= at_m / 128;|= (at_m - 64) / 128;|'
echo "1..$count"
[ "$failed" -eq 0 ]
