#!/bin/sh
# tilewright profile on the emulator: how often each step is stamped, against what is known of the kernel; rings, pictures
# and traces; other builds have nothing of it. TAP on stdout. Needs NVRTC, no GPU.
#   usage: tests/profile.sh [PROGRAM], from the top of the tree
set -u
. tests/tap.sh
. tests/svg.sh
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_profile_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
CUDA_VISIBLE_DEVICES=
export LC_ALL CUDA_VISIBLE_DEVICES
shown="$work/diff $work/out $work/err"

profile() {
    rm -f "$work/diff"
    "$program" profile "$@" >"$work/out" 2>"$work/err"
    status=$?
}
is() { [ "$status" -eq "$1" ]; }
says() { grep -q -e "$1" "$work/err"; }
prints() { grep -q -e "$1" "$work/out"; }
refused() { # status text name
    is "$1" && says "$2" && [ ! -s "$work/out" ]
    ok $? "refused: $3"
}

# ---- usage

profile
refused 2 'which spec?' "no spec"
profile specs/gemm.lua --device emu
refused 2 'write --kernel and one of' "which kernel?"
for option in "--device gpu" "--block last" "--stamps 3" "--from 9 --to 9" "--sms 5000" "--passes 17"; do
    # shellcheck disable=SC2086
    profile specs/gemm.lua --kernel gemm_bf16 $option
    refused 2 "${option%% *}" "$option"
done
if ! "$program" doctor >/dev/null 2>&1; then
    skip "profile builds" "there is no NVRTC"
    echo "1..$count"
    exit 0
fi
profile specs/gemm.lua --kernel gemm_bf16 --device cuda --set M=256,N=256,K=128
refused 3 'driver\|GPU' "a GPU where there is none"
profile specs/rms_norm.lua --kernel rms_norm_ring --device emu
refused 1 "is a text of its own, whose steps carry no stamps" "a template of the user's"

# ---- the text

"$program" gen specs/gemm.lua --kernel gemm_bf16 -o "$work/plain" >"$work/out" 2>"$work/err" &&
    ! grep -rn 'profile\|clock64' "$work/plain" >>"$work/err"
ok $? "other builds have nothing of it"
profile specs/gemm.lua --kernel gemm_bf16 --arch sm_90a --variant 0 --device emu --set M=512,N=512,K=512 \
    --keep "$work/kept" --svg "$work/p.svg" --json "$work/p.json"
is 0 && [ ! -s "$work/err" ]
ok $? "gemm_bf16 on sm_90a"
cp "$work/out" "$work/first"
# Lines are added, and none is taken away but the release's, which has a stamp beside it.
grep -v '^ *profile_\|^ *u32 stamps = \|^// tilewright' "$work/kept/gemm_bf16.sm_90a.cu" >"$work/added"
grep -v '^// tilewright' "$work/plain/gemm_bf16.sm_90a.cu" >"$work/bare"
diff "$work/bare" "$work/added" | grep '^<' >"$work/diff"
[ "$(sed "s,  *, ,g" "$work/diff" | sort -u)" = "< if (at_k_turn > 0)" ] &&
    grep -q ', profile build: 32768 stamps$' "$work/kept/gemm_bf16.sm_90a.cu"
ok $? "a text that stamps adds to the plain one"

# ---- counts: 4 items of 8 turns a block, 2 consumers, a store in 4 chunks

stamped() { # STEP'S CALL OPERATION TIMES
    awk -v call="$1" -v op="$2" -v want="$3" '$2 == call && $3 == op { got += $4 } END { exit got != want }' "$work/out"
    ok $? "$1 is stamped $3 times"
}
stamped tiles loop 12
stamped ab_wait_empty wait_empty 32
stamped ab_expect expect 32
stamped A_load fill 32
stamped ab_drain drain 1
stamped ab_wait_full wait_full 64
stamped dot mma 64
stamped ab_release release 64
stamped d_wait store_wait 32
stamped D_store store 32
prints '^with stamps .* registers a thread, 0 instructions that spill$'
ok $? "it spills nothing"
# sums NAME...: shares of a block's time make all of it, but for rounding.
sums() {
    awk '/^tensor cores/ { on = 1; next } !NF { on = 0 } on { n = 0
        for (i = 1; i <= NF; i++) if ($i == "%") sum[++n] += $(i - 1) }
        END { for (b in sum) if (sum[b] < 99.5 || sum[b] > 100.5) { print b, sum[b]; bad = 1 } exit bad || !(1 in sum) }' \
        "$work/out" >"$work/diff"
    ok $? "$1: busy and idle make all of a block's clocks"
}
sums sm_90a
awk '/^block [01] on/ { n++ } /^  ring ab: / { split($0, w, " "); if (w[3] <= 1 || w[3] > 4) bad = 1; r++ }
    END { exit bad || n != 2 || r != 2 }' "$work/out"
ok $? "both blocks, and how full the ring is"
# Steps of a role in one instance make its life.
awk '/^  producer / { on = 1; next } /^  consumer/ { on = 0 } on && / %/ { sum += $(NF - 3) } END { exit sum < 97 || sum > 100.5 }' "$work/out"
ok $? "steps make a role's life"
well_formed "$work/p.svg" >"$work/diff"
ok $? "the picture is well-formed"
awk '/"name": "issues matrix instructions"/ { n++ } /"pid": 1,/ { second++ } /"ts": -/ { bad = 1 }
    END { exit bad || n < 100 || second < 100 }' "$work/p.json"
ok $? "the trace has both blocks"
if command -v python3 >/dev/null 2>&1; then
    python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$work/p.json" >"$work/diff" 2>&1
    ok $? "the trace is JSON"
else
    skip "the trace is JSON" "there is no python3"
fi
profile specs/gemm.lua --kernel gemm_bf16 --arch sm_90a --variant 0 --device emu --set M=512,N=512,K=512
cmp -s "$work/out" "$work/first"
ok $? "the same twice"
# Passes stamp a part each, and together what one does, as often.
counts() { awk '/^  (producer|consumer|block)/ { print $1 } $1 ~ /^[0-9]+$/ && $7 == "%" { print $1, $2, $3, $4 }' "$1"; }
counts "$work/first" >"$work/whole"
profile specs/gemm.lua --kernel gemm_bf16 --arch sm_90a --variant 0 --device emu --set M=512,N=512,K=512 --passes 3 \
    --keep "$work/third"
is 0 && prints '^pass 3 of 3 ' && grep -q ', profile build: 32768 stamps, pass 1 of 3$' "$work/third/gemm_bf16.sm_90a.cu"
ok $? "three passes"
counts "$work/out" >"$work/parts"
[ -s "$work/whole" ] && diff "$work/whole" "$work/parts" >"$work/diff"
ok $? "passes together have each step as often as one"
marks() { grep -c 'profile_mark<[1-9]' "$1/gemm_bf16.sm_90a.cu"; }
[ $((3 * $(marks "$work/third"))) -lt $((2 * $(marks "$work/kept"))) ]
ok $? "a pass of three has less than two thirds of the stamps"
profile specs/gemm.lua --kernel gemm_bf16 --arch sm_90a --variant 0 --device emu --set M=512,N=512,K=512 --passes 16
refused 1 'come in at most 5 parts' "more passes than there are parts"
profile specs/rows.lua --kernel softmax --arch sm_80 --device emu --passes 2
refused 1 'come in at most 1 part$' "a kernel that is stamped whole"
profile specs/gemm.lua --kernel gemm_bf16 --arch sm_90a --variant 0 --device emu --set M=512,N=512,K=512 --block middle
is 0 && prints '^steps of block 1, clocks' && prints '^block 1, clocks'
ok $? "the middle block"
profile specs/gemm.lua --kernel gemm_bf16 --arch sm_90a --variant 0 --device emu --set M=512,N=512,K=512 --stamps 40
is 0 && prints 'there was no room for more: --stamps'
ok $? "where there is no room, it is told"
profile specs/gemm.lua --kernel gemm_bf16 --arch sm_90a --variant 0 --device emu --set M=512,N=512,K=512 --from 2000 \
    --to 9000 --svg "$work/part.svg"
is 0 && well_formed "$work/part.svg" >"$work/diff" && [ "$(wc -l <"$work/part.svg")" -lt "$(wc -l <"$work/p.svg")" ]
ok $? "a part of the picture"

# ---- other kernels

profile specs/gemm.lua --kernel gemm_bf16 --arch sm_80 --device emu --set M=256,N=256,K=256
is 0 && [ ! -s "$work/err" ]
ok $? "gemm_bf16 on sm_80"
stamped dot mma 4
stamped ab_B_load fill 4
sums sm_80
profile specs/attention.lua --kernel attention_fwd --device emu
is 0 && [ ! -s "$work/err" ] && prints '^  ring v: '
ok $? "attention: several rings"
sums attention
profile tests/programs/pipeline_items.lua --kernel items_groups --device emu
is 0 && [ ! -s "$work/err" ] && ! prints 'ring ab' && prints 'turn_wait *barrier'
ok $? "items in turn: of a ring whose stages each consumer takes some of, stamps tell nothing"
sums items
profile specs/rows.lua --kernel softmax --device emu
is 0 && [ ! -s "$work/err" ] && prints '^ .* fold  *touch ' && ! prints 'tensor cores'
ok $? "a row program: no tensor cores"
profile specs/gemm.lua --kernel gemm_bf16 --variant 0 --device emu --set M=0,N=512,K=512
is 1 && says 'nothing is launched'
ok $? "sizes that launch nothing"
echo "1..$count"
[ "$failed" -eq 0 ]
