#!/bin/sh
# tilewright profile on a GPU: what stamps cost (3 % of a launch at most), that they verify and add up. TAP on stdout, the
# tables as its comments.
#   usage: sh tests/gpu/profile.sh [PROGRAM [DEVICE]], from the top of the tree; DEVICE emu: the same without times
set -u
. tests/tap.sh
program=${1:-build/tilewright} device=${2:-cuda}
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
shown="$work/out $work/err"

# stamps SPEC KERNEL SIZES: verified and timed; busy and idle clocks make a block's time.
stamps() {
    "$program" profile "$1" --kernel "$2" --device "$device" --set "$3" --json "$work/trace.json" >"$work/out" 2>"$work/err"
    status=$?
    sed -n '/^kernel/,/^steps/{/^steps/!{/./s/^/# /p;};}' "$work/out"
    [ $status -eq 0 ] && grep -q '"traceEvents"' "$work/trace.json" &&
        awk '/^tensor cores/ { on = 1; next } !NF { on = 0 } on { n = 0
            for (i = 1; i <= NF; i++) if ($i == "%") sum[++n] += $(i - 1) }
            END { for (b in sum) if (sum[b] < 99.4 || sum[b] > 100.6) bad = 1; exit bad }' "$work/out"
    ok $? "$2 $3: verified, and clocks add up"
    [ "$device" != emu ] || return 0
    # Of several passes the dearest counts.
    awk '/^with stamps|^pass [0-9]* of / { if (!seen++ || $(NF - 1) + 0 > cost) cost = $(NF - 1) + 0 }
        END { exit !seen || cost > 3 }' "$work/out"
    within=$?
    costs=$(sed -n 's/^\(with stamps\|pass [0-9]* of [0-9]*\) .*: \([-+][0-9.]* %\)$/\2/p' "$work/out" | tr '\n' ' ')
    ok $within "$2 $3: $costs"
}
if [ "$device" = emu ]; then
    stamps specs/gemm.lua gemm_bf16 M=512,N=512,K=512
else
    for sizes in M=4096,N=4096,K=4096 M=8192,N=8192,K=8192 M=4096,N=7168,K=2048 M=2048,N=2048,K=2048 \
        M=512,N=512,K=512 M=16,N=4096,K=4096; do
        stamps specs/gemm.lua gemm_bf16 $sizes
    done
    stamps specs/attention.lua attention_fwd B=8,H=16,R=2048,S=2048
    stamps specs/attention_decode.lua attention_decode B=32,G=8,R=1,S=4096
    stamps specs/rows.lua rms_norm R=16384,C=8192
fi
echo "1..$count"
[ "$failed" -eq 0 ]
