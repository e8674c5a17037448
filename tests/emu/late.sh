#!/bin/sh
# Results that go out in the next item's turns, on the emulator in the three modes of completion, hazards strict; and
# what it says of a text in which a wait, a barrier or a fence of such a chunk is missing, or a chunk goes astray. TAP
# on stdout.
#   usage: tests/emu/late.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_late_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - late stores on the emulator # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac
spec=$PWD/tests/programs/pipeline_late.lua

# Two multiprocessors: a block takes many items, which are all of a lone cluster's.
"$program" run "$spec" --device emu --arch sm_90a --complete all --sms 2 --hazards strict >"$work/out" 2>&1 &&
    ! grep -q '^hazard' "$work/out"
ok $? "all completions" "$work/out"

# Before the wait for an item's last products: of late_epilogue's 64 rows of a consumer 16 pairs of columns are read.
"$program" plan "$spec" --kernel late_epilogue --arch sm_90a >"$work/plan" 2>&1
awk '/bias_ahead/ && !read { read = NR } /mma_wait/ { wait = NR } END { exit !(read && read < wait) }' "$work/plan" &&
    grep -q 'bias_ahead.*of all chunks, while the last products run' "$work/plan" &&
    grep -q 'rest_ahead.*of the first chunk, while the last products run' "$work/plan"
ok $? "what all rows read is under way for all chunks, what each reads for the first" "$work/plan"

# A text by hand, in its folder: what NVRTC makes of it is kept by its content and its name.
"$program" gen "$spec" --kernel late_gemm --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
text=$work/gen/late_gemm.sm_90a.cu
# broken NAME HAZARD AWK [MODE]: the text, edited so, is reported under that hazard. Chunks stand in it three times: in
# a turn, behind the turns and behind the items.
broken() {
    awk "$3"' { print }' "$text" >"$work/broken.cu"
    ! cmp -s "$text" "$work/broken.cu" &&
        ! (cd "$work" && "$program" run "$spec" --kernel late_gemm --device emu --source broken.cu --sms 2 \
            --complete "${4:-random}" --set M=392,N=488,K=328/40 --inputs integer --rows dense) >"$work/out" 2>&1 &&
        grep -q "$2" "$work/out"
    ok $? "$1: $2" "$work/out"
}
# nth PATTERN NUMBER FROM TO: awk that replaces FROM in the line of that number of those with the pattern.
nth() {
    printf '/%s/ && ++n == %d { sub(/%s/, "%s") }' "$1" "$2" "$3" "$4"
}
wrong='UNINIT\|FAILED' # a result that is not there, or another
n=0
for where in "in a turn" "behind the turns" "behind the items"; do
    n=$((n + 1))
    broken "a buffer is not waited for $where" UNORDERED-WRITE "$(nth '^ *d_wait\(\);' $n 'd_wait\(\)' '')" late
    broken "the wait is told to nobody $where" UNORDERED-WRITE \
        "$(nth '^ *d_barrier\(' $((2 * n - 1)) 'd_barrier\(.*\)' '')"
    broken "no fence behind the chunk $where" PROXY-FENCE "$(nth '^ *d_fence\(\);' $n 'd_fence\(\)' '')"
    broken "the chunk is not there yet $where" UNORDERED-READ "$(nth '^ *d_barrier\(' $((2 * n)) 'd_barrier\(.*\)' '')"
    broken "a chunk goes out twice, and another never, $where" "$wrong" "$(nth 'case 1: ' $n 'late\[1\]' 'late[0]')"
    broken "every second chunk goes out $where" "$wrong" \
        "$(nth '\+\+D_late_next' $n '\+\+D_late_next' 'D_late_next += 2')"
done
broken "what no turn is left for never goes out" "$wrong" "$(nth 'while \(D_late_next < 4\)' 1 4 0)"
broken "the last item never goes out" "$wrong" "$(nth 'while \(D_late_next < 4\)' 2 4 0)"
broken "chunks go to the next item's place" "$wrong" "$(nth 'D_late_at1 = at_n;' 1 at_n next_n)"
broken "chunks go to the place of the item that is multiplied" "$wrong" "$(nth 'D_late_at0 \+ ' 1 D_late_at0 at_m)"
broken "results are packed while products run" REG-IN-FLIGHT "$(nth '^ *mma_wait_0\(\);' 1 'mma_wait_0\(\)' '')"
echo "1..$count"
[ "$failed" -eq 0 ]
