#!/bin/sh
# An operand of a result's arithmetic that bulk copies bring into the buffers that the result leaves by, on the emulator
# in the three modes of completion, hazards strict; and what it says of a text in which a wait, an announcement or a
# fence is missing, or a chunk goes astray. TAP on stdout.
#   usage: tests/emu/source.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_source_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

# What is chosen: as many buffers as an item has chunks, where the result's rows are aligned; else elements as they lie.
case $program in /*) ;; *) program=$PWD/$program ;; esac
spec=$PWD/tests/programs/pipeline_source.lua
for variant in "0 tma" "1 global"; do
    "$program" plan "$spec" --kernel source_gemm --variant "${variant% *}" >"$work/out" &&
        grep -q "^  R  *bf16 .* ${variant#* } " "$work/out"
    ok $? "variant ${variant% *}: ${variant#* }" "$work/out"
done

if ! "$program" doctor >/dev/null 2>&1; then
    skip "sources on the emulator" "there is no NVRTC"
    echo "1..$count"
    exit
fi

# Two multiprocessors: a block takes many items, which are all of a lone cluster's.
"$program" run "$spec" --device emu --arch sm_90a --complete all --sms 2 --hazards strict >"$work/out" 2>&1 &&
    ! grep -q '^hazard' "$work/out"
ok $? "all completions" "$work/out"

# A text by hand, in its folder: what NVRTC makes of it is kept by its content and its name.
"$program" gen "$spec" --kernel source_gemm --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
text=$work/gen/source_gemm.sm_90a.cu
# broken NAME HAZARD AWK [MODE]: the text, edited so, is reported under that hazard.
broken() {
    awk "$3"' { print }' "$text" >"$work/broken.cu"
    ! cmp -s "$text" "$work/broken.cu" &&
        ! (cd "$work" && "$program" run "$spec" --kernel source_gemm --device emu --source broken.cu --sms 2 \
            --complete "${4:-random}" --set M=392,N=488,K=328 --inputs integer --rows dense) >"$work/out" 2>&1 &&
        grep -q "$2" "$work/out"
    ok $? "$1: $2" "$work/out"
}
# in_kernel FROM TO: awk that replaces FROM where the entry point's text has it first.
in_kernel() {
    printf '/__global__/ { here = 1 } here && !done && /%s/ { done = 1; sub(/%s/, "%s") }' "$1" "$1" "$2"
}
# in_function NAME FROM TO: the same in that function.
in_function() {
    printf '/ %s\\(/ && /__device__/ { here = 1 } here && !done && /%s/ { done = 1; sub(/%s/, "%s") }' \
        "$1" "$2" "$2" "$3"
}
wrong='UNINIT\|FAILED' # a result that is not there, or another
broken "chunks are read before they come" UNORDERED-READ "$(in_kernel 'source_wait_full\(.*\);' ';')"
broken "one thread alone waits for them" UNORDERED-READ \
    "$(in_kernel 'source_wait_full\(' 'if (threadIdx.x % 128 == 0) source_wait_full(')"
broken "nobody announces their bytes" DEADLOCK "$(in_kernel 'source_expect\(.*\);' ';')"
broken "fewer bytes are announced" TX-BYTES "$(in_function source_expect 8192 4096)"
broken "bulk stores still read the buffers" UNORDERED-WRITE "$(in_kernel 'd_wait_0\(\);' ';')" late
broken "some of them do" UNORDERED-WRITE "$(in_function d_wait_0 'read 0' 'read 1')" late
broken "the other phase is waited for" PHASE "$(in_function source_wait_full 'p\.phase' 'p.phase ^ 1')"
broken "the phase does not flip" PHASE "$(in_function source_advance 'p\.phase \^= 1' 'p.phase ^= 0')"
broken "barriers are not set up" BARRIER-INIT "$(in_kernel 'source_init\(\);' ';')"
broken "those of one consumer are not" BARRIER-INIT "$(in_function source_init 'consumer < 2' 'consumer < 1')"
broken "barriers count two arrivals" DEADLOCK "$(in_function source_init ', 1\);' ', 2);')"
broken "both consumers have one's barriers" BARRIER-COUNT \
    "$(in_function source_full 'consumer \*' '0 *')"
broken "a chunk comes into the other consumer's buffer" UNORDERED-READ \
    "$(in_function R_fetch 'd_buffer\(consumer' 'd_buffer(1 - consumer')"
broken "the other consumer's chunk is read" UNORDERED-READ \
    "$(in_function R_take 'd_buffer\(consumer' 'd_buffer(1 - consumer')"
broken "the next chunk is read" UNORDERED-READ "$(in_function R_take 'p\.stage' '(p.stage + 1) % 2')"
broken "no fence behind what is read and written" PROXY-FENCE "$(in_kernel 'd_fence\(\);' ';')"
broken "the chunk is not written yet" UNORDERED-READ "$(in_kernel 'd_barrier\(.*\);' ';')"
broken "rows of the item above" "$wrong" \
    "$(in_kernel 'consumer, chunk, at_m' 'consumer, chunk, at_m - 128')"
broken "a chunk has more turns in front of it than there are" DEADLOCK \
    "$(in_kernel '\* k_first_turns' '* 4 * k_first_turns')"
broken "a chunk asked for in front of the item's first turn, while the last one's are stored" UNORDERED-WRITE \
    "$(in_kernel 'd_wait_0\(\);' 'if (chunk) d_wait_0();')" late
echo "1..$count"
[ "$failed" -eq 0 ]
