#!/bin/sh
# Attention forward, kernel by kernel of attention_errors.list, on the emulator: its largest and mean error against
# double precision are at most 1.5 times those of the same computation in torch at the same dtype. Torch's are in
# attention_errors.json, which tests/gpu/attention/errors.py writes; of what it lacks, the rounding steps that torch takes
# stand for it (attention_errors.c). And a kernel that rounds more is seen. TAP on stdout.
#   usage: tests/emu/attention_errors.sh [PROGRAM], from the top of the tree. Needs NVRTC and a C compiler, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_errors_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - errors of attention # SKIP there is no NVRTC"
    exit 0
fi
${CC:-cc} -std=c11 -O2 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -o "$work/errors" \
    tests/emu/attention_errors.c -lm >"$work/out" 2>&1
ok $? "attention_errors.c" "$work/out"
golden=tests/emu/attention_errors.json

# judged FOLDER SIZES DTYPE ...: by torch's errors where they are known
judged() {
    # shellcheck disable=SC2046
    "$work/errors" "$@" $([ ! -f $golden ] || awk -v name="\"$kernel $2\":" '
        index($0, name) { gsub(/[{}:,]/, " "); for (i = 1; i < NF; i++) if ($i == "\"max\"") print $(i + 1), $(i + 3) }
        ' $golden)
}

# every KERNEL SPEC WORD...: all cases that the dump has of it; whether there are any, and none is too far away
every() {
    kernel=$1 cases=0 bad=0
    shift
    for folder in "$work/dump/$kernel".*.normal; do
        sizes=${folder%.normal}
        sizes=${sizes##*.}
        case $sizes in *S=0*) continue ;; esac
        cases=$((cases + 1))
        printf '%s %s: ' "$kernel" "$sizes"
        judged "$folder" "$sizes" "$@" || bad=$((bad + 1))
    done >"$work/found"
    cat "$work/found"
    [ $cases -gt 0 ] && [ $bad -eq 0 ]
}

while read -r spec kernel dtype layout visible d e shared; do
    case $spec in '#'*) continue ;; esac
    rm -rf "$work/dump"
    "$program" run "specs/$spec.lua" --kernel "$kernel" --device emu --arch sm_90a --inputs normal --rows padded \
        --complete random --dump "$work/dump" >"$work/out" 2>&1 &&
        every "$kernel" "$dtype" "$layout" "$visible" "$d" "$e" "$shared" >>"$work/out"
    ok $? "$kernel: $(sort -k4g "$work/found" 2>/dev/null | tail -1 | cut -d: -f2)" "$work/out"
done <tests/emu/attention_errors.list

# A kernel that rounds its weights to fp8 in the place of bf16; one that leaves out a key in 64.
for bug in 's/pack_bf16(value\[0\], value\[1\])/pack_bf16(rintf(value[0] * 16) \/ 16, rintf(value[1] * 16) \/ 16)/' \
    's/value\[lane\] = s_sum\[0\]\[pair \* 4 + half \* 2 + lane\];/value[lane] = pair == 3 \&\& first_column == 0 ? 0 : s_sum[0][pair * 4 + half * 2 + lane];/'; do
    rm -rf "$work/dump"
    "$program" gen specs/attention_heads.lua --kernel attention_fwd_d64 --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
    sed "$bug" "$work/gen/attention_fwd_d64.sm_90a.cu" >"$work/broken.cu"
    "$program" run specs/attention_heads.lua --kernel attention_fwd_d64 --device emu --inputs normal --rows padded \
        --source "$work/broken.cu" --set B=1,H=2,R=30,S=250 --dump "$work/dump" >"$work/out" 2>&1
    ! cmp -s "$work/gen/attention_fwd_d64.sm_90a.cu" "$work/broken.cu" && [ -d "$work/dump" ] &&
        ! every attention_fwd_d64 bf16 bshd full 64 64 1 >>"$work/out"
    ok $? "seen where '$bug'" "$work/out"
done
echo "1..$count"
[ "$failed" -eq 0 ]
