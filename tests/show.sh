#!/bin/sh
# tilewright show: text and SVG against goldens, bank conflicts and timelines against what is known of them. TAP on
# stdout. Timelines need NVRTC, no GPU; the goldens of timelines hold for one version of NVRTC.
#   usage: tests/show.sh [PROGRAM], from the top of the tree. BLESS=1 rewrites the goldens.
set -u
program=${1:-build/tilewright}
golden=tests/golden/show
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_show_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
. tests/svg.sh
well_formed_svg() { well_formed "$1" >"$work/diff"; }
count=0 failed=0

ok() { # status name
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else
        failed=$((failed + 1))
        echo "not ok $count - $2"
        head -n 20 "$work/err" "$work/diff" 2>/dev/null | sed 's/^/# /'
    fi
    rm -f "$work/diff"
}
skip() { # name why
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}
show() {
    "$program" show "$@" >"$work/out" 2>"$work/err"
    status=$?
}
# same FILE GOLDEN: equal bytes
same() {
    [ -z "${BLESS:-}" ] || cp "$1" "$golden/$2"
    diff "$golden/$2" "$1" >"$work/diff" 2>&1
}

# ---- swizzle

for swizzle in NONE 32B 64B 128B; do
    show swizzle --swizzle $swizzle
    [ "$status" -eq 0 ] && same "$work/out" "swizzle_$swizzle.txt"
    ok $? "swizzle $swizzle"
done
# ways SWIZZLE BOX ROW: the number of the named row, which stands in columns of its own
ways() {
    "$program" show swizzle --swizzle "$1" --dtype bf16 --box "$2" 2>"$work/err" |
        awk -v row="  $3 " 'index($0, row) == 1 { print substr($0, 67, 4) + 0 }'
}
expect() { # ways SWIZZLE BOX ROW NAME
    got=$(ways "$2" "$3" "$4")
    [ "$got" = "$1" ] || echo "$1 are expected, not '$got'" >"$work/diff"
    [ "$got" = "$1" ]
    ok $? "$5"
}
expect 1 128B 64,64 "8 rows of one chunk" "ldmatrix of 128-byte rows: no conflict with swizzle 128B"
expect 8 NONE 64,64 "8 rows of one chunk" "ldmatrix of 128-byte rows: 8 ways without a swizzle"
expect 1 64B 64,32 "8 rows of one chunk" "ldmatrix of 64-byte rows: no conflict with swizzle 64B"
expect 4 NONE 64,32 "8 rows of one chunk" "ldmatrix of 64-byte rows: 4 ways without a swizzle"
expect 1 32B 64,16 "8 rows of one chunk" "ldmatrix of 32-byte rows: no conflict with swizzle 32B"
expect 2 NONE 64,16 "8 rows of one chunk" "ldmatrix of 32-byte rows: 2 ways without a swizzle"
expect 1 NONE 64,8 "8 rows of one chunk" "ldmatrix of 16-byte rows: no conflict"
expect 32 NONE 64,64 "one element of 32 rows" "a column of 128-byte rows: 32 ways without a swizzle"
expect 4 128B 64,64 "one element of 32 rows" "a column of 128-byte rows: 4 ways with swizzle 128B"
# Swizzle 128B: chunk c of row r is at position c xor r mod 8 (PTX ISA, swizzling modes).
lost=0
for element in 0,0 1,8 2,17 5,63 7,32 9,3 63,56; do
    row=${element%,*} column=${element#*,}
    want=$((row * 128 + ((column / 8) ^ (row % 8)) * 16 + column % 8 * 2))
    show swizzle --swizzle 128B --at $element
    grep -q "^element ($row, $column): byte $want of" "$work/out" || lost=$((lost + 1))
done
ok $lost "elements lie where the PTX ISA has them"
show swizzle specs/gemm.lua --kernel gemm_bf16 --tensor A --svg "$work/a.svg"
[ "$status" -eq 0 ] && well_formed_svg "$work/a.svg" && same "$work/a.svg" swizzle_A.svg
ok $? "swizzle of a tensor as SVG"
for damage in 's,</text>,,' 's,</title></rect>,</rect></title>,' 's,fill="#ffffff",fill=#ffffff,' \
    's,</svg>,,' 's,>row 0<,>row & 0<,'; do
    sed "$damage" "$work/a.svg" >"$work/damaged.svg"
    ! well_formed_svg "$work/damaged.svg"
    ok $? "what is not well-formed is found: $damage"
done

# ---- smem

for arch in sm_90a sm_80; do
    show smem specs/gemm.lua --kernel gemm_bf16 --arch $arch --variant 0 --svg "$work/smem.svg"
    [ "$status" -eq 0 ] && same "$work/out" "smem_$arch.txt"
    ok $? "smem on $arch"
    well_formed_svg "$work/smem.svg" && same "$work/smem.svg" "smem_$arch.svg"
    ok $? "smem on $arch as SVG"
done
show smem specs/gemm.lua
lines=$(grep -c '^kernel' "$work/out")
[ "$status" -eq 0 ] && [ "$lines" -eq "$("$program" plan specs/gemm.lua | grep -c '^kernel')" ] &&
    awk '/^     region/ { at = 0; next } /^  [A-Z_.] / && NF > 4 { if ($3 != at) exit 1; at = $4 }' "$work/out"
ok $? "every byte of every kernel's map belongs to one line"

# ---- faults

refused() { # status text name -- what was run is in $status and $work/err
    [ "$status" -eq "$1" ] && grep -q -e "$2" "$work/err" && [ ! -s "$work/out" ]
    ok $? "$3"
}
show
refused 2 "swizzle, smem or timeline" "show what?"
show swizle
refused 2 "did you mean 'swizzle'" "a verb misspelt"
show swizzle --swizzle 128
refused 2 "128B" "a swizzle that there is not"
show swizzle --swizzle 64B --box 64,64
refused 2 "TMA-SPAN" "a box wider than its swizzle"
show swizzle --swizzle 128B --at 64,0 --svg "$work/none.svg"
refused 2 "64 rows" "an element outside"
[ ! -e "$work/none.svg" ]
ok $? "a fault leaves no file"
show swizzle specs/gemm.lua --kernel gemm_bf16 --tensor Q
refused 1 "it has A, B, D" "a tensor that there is not"
show swizzle specs/gemm.lua --tensor A
refused 2 "gemm_bf16_bias_gelu" "which kernel?"
show smem specs/gemm.lua --kernel gemm_bf61
refused 2 "did you mean 'gemm_bf16'" "a kernel misspelt"
show smem specs/gemm.lua --svg "$work/none.svg"
refused 2 "entry points" "a picture of several maps"
show timeline specs/gemm.lua --kernel gemm_bf16 --complete never
refused 2 "eager, late or random" "a mode that there is not"
show timeline specs/gemm.lua --kernel gemm_bf16 --set M=256,Q=1
refused 2 "no dim 'Q'" "a size that there is not"

# ---- timeline

nvrtc=$("$program" doctor 2>/dev/null | sed -n 's/^nvrtc  *version \([0-9.]*\),.*/\1/p')
if [ -z "$nvrtc" ]; then
    skip "timelines" "there is no NVRTC"
else
    [ -z "${BLESS:-}" ] || echo "$nvrtc" >"$golden/nvrtc_version"
    # What happened and in which order, without the numbers of the steps: these are the emulator's own affair.
    rows() { sed -e '/^step /d' -e '/^steps$/,$d' -e 's/^[0-9]* steps/N steps/' "$1"; }
    notes() {
        sed -n -e 's/step [0-9]*/step N/' -e 's/steps [0-9]*\.\.[0-9]*/step N/' \
            -e 's/.*<title>\(.*\)<.title><.rect>/\1/p' "$1"
    }
    for arch in sm_90a sm_80; do
        size=M=256,N=256,K=512
        show timeline specs/gemm.lua --kernel gemm_bf16 --arch $arch --variant 0 --set $size \
            --svg "$work/t.svg" --json "$work/t.json"
        ok "$status" "timeline on $arch"
        well_formed_svg "$work/t.svg"
        ok $? "timeline on $arch as SVG: well-formed"
        [ "$(awk '{ if (length($0) > 100) n++ } END { print n + 0 }' "$work/out")" = 0 ]
        ok $? "timeline on $arch: 100 columns"
        cp "$work/out" "$work/first"
        show timeline specs/gemm.lua --kernel gemm_bf16 --arch $arch --variant 0 --set $size --svg "$work/t.svg"
        cmp -s "$work/out" "$work/first"
        ok $? "timeline on $arch: the same twice"
        if [ "$nvrtc" = "$(cat "$golden/nvrtc_version")" ]; then
            rows "$work/out" >"$work/rows" && same "$work/rows" "timeline_$arch.txt"
            ok $? "timeline on $arch: rows"
            notes "$work/t.svg" >"$work/notes" && same "$work/notes" "timeline_$arch.notes"
            ok $? "timeline on $arch: what the picture says of each box"
        else
            skip "timeline on $arch: rows" "NVRTC is $nvrtc, the golden's $(cat "$golden/nvrtc_version")"
        fi
        # What a row (tid) did: counts of an event, whatever the compiler made of the rest.
        cp "$work/t.json" "$work/$arch.json"
    done
    # total FILE TID NAME FIELD: the sum of a field over the events of that name
    total() {
        awk -v tid="\"tid\": $2," -v name="\"name\": \"$3\"," -v field="\"$4\": " '
            index($0, tid) && index($0, name) {
                n++; at = index($0, field); if (at) sum += substr($0, at + length(field)) + 0 }
            END { print (field == "\"events\": ") ? n + 0 : sum + 0 }' "$1"
    }
    equal() { # got want name
        [ "$1" = "$2" ] || echo "$2 are expected, not '$1'" >"$work/diff"
        [ "$1" = "$2" ]
        ok $? "$3"
    }
    hopper=$work/sm_90a.json ampere=$work/sm_80.json
    # K = 512 is 8 stages. A block loads A's 16384 bytes and half of B's 32768, its peer the other half.
    equal "$(total "$hopper" 0 'issues a copy into a stage' count)" 16 "two copies a stage"
    equal "$(total "$hopper" 0 'issues a copy into a stage' bytes)" 262144 "bytes that the producer asks for"
    equal "$(total "$hopper" 0 'expects bytes' bytes)" 393216 "bytes that the producer expects"
    for row in 1 2; do
        equal "$(total "$hopper" $row 'issues matrix instructions' count)" 32 "consumer $((row - 1)): 4 wgmma a stage"
        equal "$(total "$hopper" $row 'releases a stage' count)" 16 "consumer $((row - 1)): releases to both blocks"
    done
    reads=0
    for row in 3 4 5 6; do reads=$((reads + $(total "$hopper" $row 'being read' events))); done
    equal "$reads" 8 "each stage is read once a filling"
    # mma.sync: 4 x 4 instructions, 4 steps along k a stage; 2 x 16384 bytes a stage, an eighth of them by each warp
    equal "$(total "$ampere" 0 'issues matrix instructions' count)" 512 "mma.sync: a warp's instructions"
    equal "$(total "$ampere" 0 'issues a copy into a stage' bytes)" 32768 "cp.async: a warp's bytes"
    reads=0
    for row in 1 2 3; do reads=$((reads + $(total "$ampere" $row 'being read' events))); done
    equal "$reads" 8 "mma.sync: each stage is read once a filling"
    show timeline specs/gemm.lua --kernel gemm_bf16 --variant 0 --set M=256,N=256,K=512 --block 2
    refused 1 "2 blocks are launched" "a block that there is not"
    for mode in eager random; do
        show timeline specs/gemm.lua --kernel gemm_bf16 --variant 0 --complete $mode --set M=256,N=256,K=512 \
            --json "$work/t.json"
        reads=0
        for row in 3 4 5 6; do reads=$((reads + $(total "$work/t.json" $row 'being read' events))); done
        equal "$reads" 8 "$mode: each stage is read once a filling"
    done
    show timeline specs/rms_norm.lua --svg "$work/t.svg"
    [ "$status" -eq 0 ] && well_formed_svg "$work/t.svg" && grep -q '^consumer 6' "$work/out" &&
        grep -q '^x\[1\]' "$work/out"
    ok $? "a kernel with its own template"
fi
echo "1..$count"
[ "$failed" -eq 0 ]
