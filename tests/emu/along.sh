#!/bin/sh
# Numbers that come in the stage of the tiles that a turn multiplies, on the emulator, hazards strict; which do and which
# do not; products that are made block by block; and what it says of a text in which one is read too early or too late,
# comes to another place, or its bytes are not counted. TAP on stdout.
#   usage: tests/emu/along.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_along_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - numbers that come with tiles, on the emulator # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac
spec=$PWD/tests/programs/pipeline_along.lua

# Compiled to the end, as a GPU would have them: what is made block by block is near the bound of registers.
"$program" build "$spec" --arch sm_90a --lines -o "$work/built" >"$work/out" 2>&1
ok $? "no kernel spills" "$work/out"

for mode in eager late random; do
    "$program" run "$spec" --device emu --arch sm_90a --complete $mode --hazards strict >"$work/out" 2>&1 &&
        ! grep -q '^hazard' "$work/out"
    ok $? "completion $mode" "$work/out"
done

# How each kernel of the first variant has its numbers: from a stage, and by whom they come there, or by its threads.
ways() {
    "$program" plan "$spec" --kernel "$1" --arch sm_90a 2>&1 | awk '
        /, variant/ { exit }
        $2 ~ /^[a-z_]+_(rows|send|load|next)$/ { known[$2] = 1 }
        END { for (way in known) print way }' | sort | tr '\n' ' '
}
while read -r kernel expected; do
    got=$(ways "$kernel")
    [ "$got" = "$expected " ]
    ok $? "$kernel: $expected"
    [ "$got" = "$expected " ] || echo "# $got"
done <<'kernels'
along_plain rows_load rows_rows
along_both one_rows one_send rows_load rows_rows
along_element one_rows one_send
along_choice one_rows one_send rows_load rows_rows
along_swapped rows_load rows_rows
along_groups one_rows one_send rows_load rows_rows
along_twice one_rows one_send rows_load rows_rows
along_across one_rows one_send rows_load rows_rows
along_told one_rows one_send rows_load rows_rows
along_names one_element_rows one_element_send one_rows one_send rows_load rows_rows
along_not_thrice one_next rows_load rows_rows
by_block one_rows one_send rows_load rows_rows
by_block_twice one_rows one_send rows_load rows_rows
by_columns one_rows one_send rows_load rows_rows
by_columns_choice one_rows one_send rows_load rows_rows
along_items one_next rows_load rows_rows
along_not_aligned rows_next
kernels
# Where numbers that lie together begin is found once an item, in front of its turns.
while read -r kernel expected; do
    "$program" gen "$spec" --kernel "$kernel" --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
    lines=$(awk '/^ *for \(; at_k_turn/ { exit } / = one_line_begin\(/ { n++ } END { print n + 0 }' \
        "$work/gen/$kernel.sm_90a.cu")
    [ "$lines" = "$expected" ]
    ok $? "$kernel: $lines beginnings of $expected" "$work/out"
done <<'kernels'
along_sent 1
along_twice 2
along_split 1
along_across 0
kernels
! ways along_asked | grep -q _rows
ok $? "along_asked: what a launch leaves out comes in no stage"

# Products of whole rows, and block by block: how many a turn of the text has.
while read -r kernel expected; do
    "$program" gen "$spec" --kernel "$kernel" --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
    [ "$(grep -c '^ *mma_dot[0-9]*(' "$work/gen/$kernel.sm_90a.cu")" = "$expected" ]
    ok $? "$kernel: $expected" "$work/out"
done <<'kernels'
along_plain 1
along_two_blocks 1
by_block 2
by_block_twice 2
by_block_whole 2
by_block_turns 2
by_block_pair 2
by_block_masks 2
by_block_resident 2
by_block_three 3
by_block_two_sums 4
by_columns 2
by_columns_whole 2
by_columns_choice 2
by_columns_turns 2
by_columns_one 2
by_columns_three 2
by_columns_items 2
by_columns_masks 2
by_columns_deep 2
by_columns_lying 2
by_columns_fp8 2
by_columns_two_sums 4
kernels
# Of two blocks that go out whole from a buffer each, one wait for both.
"$program" gen "$spec" --kernel by_block_whole --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
grep -A1 '^ *d_wait_0();' "$work/gen/by_block_whole.sm_90a.cu" | grep -q '^ *d_barrier(consumer);' &&
    ! grep -q '^ *d_wait();' "$work/gen/by_block_whole.sm_90a.cu"
ok $? "by_block_whole: one wait for both buffers" "$work/gen/by_block_whole.sm_90a.cu"
for kernel in by_columns_choice by_columns_choices; do
    "$program" gen "$spec" --kernel "$kernel" --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
    ! grep -q 'column [<>]' "$work/gen/$kernel.sm_90a.cu"
    ok $? "$kernel: each half knows what its columns choose" "$work/out"
done

# The shipped product of blocks with scales, of which a tile of columns lies in one, in two, or in three.
for n in 256 192 176 96 64; do
    sed "s/arch *= {.*sm_100a = { asked = true } },/arch = { sm_90a = { tile = { m = 128, n = $n } } },/" \
        specs/gemm_types.lua >"$work/gemm_types.lua"
    ! cmp -s specs/gemm_types.lua "$work/gemm_types.lua" &&
        "$program" run "$work/gemm_types.lua" --kernel gemm_fp8_blocks --device emu --arch sm_90a --hazards strict \
            >"$work/out" 2>&1 && ! grep -q '^hazard' "$work/out"
    ok $? "gemm_fp8_blocks of 128 x $n" "$work/out"
done

# A text by hand, in its folder: what NVRTC makes of it is kept by its content and its name.
of_kernel() {
    kernel=$1
    "$program" gen "$spec" --kernel "$kernel" --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
    text=$work/gen/$kernel.sm_90a.cu
}
of_kernel along_sent
# broken NAME HAZARD AWK [MODE]: the text, edited so, is reported under that hazard.
broken() {
    awk "$3"' { print }' "$text" >"$work/broken.cu"
    ! cmp -s "$text" "$work/broken.cu" &&
        ! (cd "$work" && "$program" run "$spec" --kernel "$kernel" --device emu --source broken.cu \
            --complete "${4:-random}" --hazards strict --set M=264,N=264,K=336 --inputs integer --rows dense) \
            >"$work/out" 2>&1 && grep -q "$2" "$work/out"
    ok $? "$1: $2" "$work/out"
}
broken "rows are read before their stage is full" UNORDERED-READ \
    '/ab_wait_full\(ab_next, ab_came\);/ { print "rows_rows(rows_row, ab_next.stage, first_row);" }
     /^ *rows_rows\(/ { next }' late
broken "the element is read before its stage is full" UNORDERED-READ \
    '/ab_wait_full\(ab_next, ab_came\);/ { print "one_rows(one_row, ab_next.stage);" }
     /^ *one_rows\(/ { next }' late
broken "rows are read behind the release" 'UNORDERED-WRITE\|UNORDERED-READ\|PROXY-FENCE' \
    '{ print } /^ *ab_release\(/ { print "rows_rows(rows_row, ab_stage, first_row);" } { next }' late
broken "the element is read behind the release" 'UNORDERED-WRITE\|UNORDERED-READ\|PROXY-FENCE' \
    '{ print } /^ *ab_release\(/ { print "one_rows(one_row, ab_stage);" } { next }' late
broken "no fence behind what was read" PROXY-FENCE '/^ *one_read\(\);/ { next }'
broken "the element's bytes are not announced" 'TX-BYTES\|DEADLOCK\|UNORDERED\|FAILED' \
    '/barrier_arrive_expect\(ab_full\(p.stage\), [0-9]+\)/ { n = $0; match(n, /, [0-9]+\)/)
         bytes = substr(n, RSTART + 2, RLENGTH - 3); sub(/, [0-9]+\)/, ", " bytes - 4 ")") }'
broken "the element is never sent" DEADLOCK '/^ *one_send\(ab_fill/ { next }'
broken "rows never come" DEADLOCK '/^ *rows_load\(args/ { next }'
broken "the element goes to a stage of its neighbour" 'UNINIT\|FAILED\|UNORDERED' \
    '/^ *one_send\(ab_fill/ { print "const ab_position other = {1 - ab_fill.stage, ab_fill.phase};"
         sub(/ab_fill/, "ab_fill, other") } /void one_send\(/ { sub(/ab_position p,/, "ab_position p, ab_position at,") }
     /shared_address\([0-9]+ \+ p.stage \* 4\)\),/ { sub(/p.stage/, "at.stage") }'
broken "a thread takes another row's number" 'FAILED' '/^ *rows_rows\(/ { sub(/first_row/, "(first_row ^ 1)") }'
broken "the turn takes the number of the block before" 'FAILED' '/^ *const float one_element = / { sub(/_line0, /, "&-1 + ") }'
broken "the item takes the numbers of its neighbour" 'FAILED' '/one_line_begin\(args, / { sub(/args, /, "&1 + ") }'
broken "operands do not go on to the next stage" 'FAILED\|UNORDERED\|REG-IN-FLIGHT' '/^ *mma_dot_advance\(dot/ { next }'
broken "operands go on beyond the last stage" 'FAILED\|UNORDERED\|UNINIT\|BOUNDS' \
    '/^ *mma_dot_advance\(dot/ { sub(/ab_next.stage == 0/, "false") }'
broken "the stage that is read now is asked for, not the next" 'UNORDERED-READ\|UNINIT' \
    '/^ *ab_ask\(ab_next/ { sub(/ab_next/, "ab_oldest") }' late
broken "the answer is taken for yes" UNORDERED-READ '/^ *came = barrier_is_over\(/ { sub(/=.*/, "= true;") }' late
broken "the other parity is asked for" UNORDERED-READ '/^ *came = barrier_is_over\(/ { sub(/p.phase/, "p.phase ^ 1") }' late
of_kernel by_block_two_sums
nth() { printf '/^ *%s\(.*\);/ && ++n == %s { ' "$1" "$2"; }
for which in 1 2 4; do # behind the second's sum stands the fence of the first's next block, too
    broken "block $which: no fence in front of its products" WGMMA-FENCE "$(nth mma_fence $which) next }"
    broken "block $which: no wait in front of its sum" 'REG-IN-FLIGHT' "$(nth mma_wait_0 $which) next }"
done
broken "the stage is given back in front of the last block" UNORDERED \
    "/^ *a_release\\(/ { next } $(nth mma_dot1 2) print \"a_release(a_oldest);\" }" late
of_kernel by_block # whose result has a buffer for each chunk
broken "no wait for the buffers of the item before" UNORDERED-WRITE '/^ *d_wait_0\(\);/ && !n++ { next }' late
broken "the wait for buffers is told to nobody" UNORDERED-WRITE '/^ *d_barrier\(consumer\);/ && !n++ { next }' late
broken "a chunk is not fenced" PROXY-FENCE '/^ *d_fence\(\);/ { next }' late
of_kernel by_block_two_sums
broken "the first block is multiplied twice" FAILED "$(nth mma_dot 2) sub(/, 1, 0/, \", 0, 0\") }"
broken "the second block goes on from the first" FAILED "$(nth mma_dot 2) sub(/, 1, 0/, \", 1, 1\") }"
of_kernel by_columns_choice
for which in 1 2; do
    broken "half $which: no fence in front of its products" WGMMA-FENCE "$(nth mma_fence $which) next }"
    broken "half $which: no wait in front of its sum" 'REG-IN-FLIGHT' "$(nth mma_wait_0 $which) next }"
done
broken "the stage is given back in front of the second half" UNORDERED \
    "/^ *ab_release\\(/ { next } $(nth mma_dot 2) print \"ab_release(ab_oldest);\" }" late
broken "the first half is multiplied twice" FAILED "$(nth mma_dot 2) sub(/, 1, 0/, \", 0, 0\") }"
broken "the second half goes on from the first" FAILED "$(nth mma_dot 2) sub(/, 1, 0/, \", 1, 1\") }"
broken "the second half begins 8 columns too early" FAILED \
    '/b_tile = matrix_descriptor_from\(b \+ block/ { sub(/block \* [0-9]+/, "block * (1024 - 64)") }'
broken "the second half takes the scale of the first" FAILED '/one_other\[0\]\[half\];/ { sub(/one_other/, "one_row") }
     /rows_row\[0\]\[half\] \* one_other/ { sub(/one_other/, "one_row") }'
broken "the second half is added to the first" FAILED '/for \(int i = 32; i < 64; \+\+i\)/ {
         sub(/i = 32; i < 64/, "i = 0; i < 32") }'
# A wait that nothing asks for stands in front of the first turn of those that ask.
spec=$PWD/tests/programs/pipeline_attention.lua kernel=attention_full_ahead
"$program" gen "$spec" --kernel $kernel --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
sed '/^ *came = 0;/d' "$work/gen/$kernel.sm_90a.cu" >"$work/broken.cu"
! cmp -s "$work/gen/$kernel.sm_90a.cu" "$work/broken.cu" &&
    ! (cd "$work" && "$program" run "$spec" --kernel $kernel --device emu --source broken.cu --complete eager \
        --hazards strict --set B=1,H=5,R=300,S=1000) >"$work/out" 2>&1 && grep -q UNORDERED-READ "$work/out"
ok $? "the answer is kept for the stage behind: UNORDERED-READ" "$work/out"
echo "1..$count"
[ "$failed" -eq 0 ]
