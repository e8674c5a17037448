#!/bin/sh
# Batches whose matrices have addresses of their own (a tensor's `pointers`): by tensor maps, by copies of 16 bytes and
# by threads, on three architectures; bugs planted into the emitted text, each of which is seen; what the emitted C
# refuses; bench. TAP on stdout.
#   usage: tests/emu/pointers.sh [PROGRAM], from the top of the tree. Needs NVRTC, a C compiler and build/libtilewright.a,
#   no GPU.
set -u
program=${1:-build/tilewright}
cc=${CC:-cc}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_pointers_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - slices with addresses of their own # SKIP there is no NVRTC"
    exit 0
fi

# The specs' own are verified with those (tests/emu/family.sh, tests/emu/attention_specs.sh).
for arch in sm_90a sm_80 'sm_120a --kernel slices_counted'; do
    # shellcheck disable=SC2086
    "$program" run tests/emu/pointers.lua --arch $arch --device emu --complete "$completions" --inputs integer \
        --hazards strict >"$work/out" 2>&1
    ok $? "tests/emu/pointers.lua on $arch" "$work/out"
done

# seen FILE ARCHITECTURE EDIT HOW: the edited text is told from the right one.
"$program" gen tests/emu/pointers.lua --kernel slices_plain -o "$work/gen" >"$work/out" 2>&1 || ok 1 gen "$work/out"
seen() {
    sed "$3" "$work/gen/$1.cu" >"$work/bug.cu"
    ! cmp -s "$work/gen/$1.cu" "$work/bug.cu" &&
        ! "$program" run tests/emu/pointers.lua --source "$work/bug.cu" --device emu --arch "$2" --inputs integer \
            --set B=2,M=40,N=40,K=72 >"$work/out" 2>&1 && grep -q "$4" "$work/out"
    ok $? "$1, seen: $3" "$work/out"
}
hopper=slices_plain.sm_90a ampere=slices_plain.sm_80
seen $hopper sm_90a 's/args.A\[index\]/args.A[0]/' 'elements are beyond their bounds'
seen $hopper sm_90a 's/args.W\[index\]/args.W[args.B - 1 - index]/' 'elements are beyond their bounds'
seen $hopper sm_90a 's/args.D\[index\]/args.D[0]/' 'hazards UNORDERED-WRITE'
seen $hopper sm_90a 's/(u64)args.A\[index\]/((u64)args.A[0] + index * args.M * args.K * 2)/' '^FAILED'
seen $hopper sm_90a 's/ - 16 : ~0ull/ : ~0ull/' 'hazards BOUNDS'
seen $hopper sm_90a 's/(at >> 35)/(at >> 36)/' 'hazards BOUNDS'
seen $hopper sm_90a 's/index < args.B/index < args.B - 1/' '^FAILED'
seen $ampere sm_80 's/args.A\[i0\]/args.A[0]/' 'elements are beyond their bounds'
seen $ampere sm_80 's/args.D\[at_b\]/args.D[0]/' 'hazards UNORDERED-WRITE'

# The emitted C, on a driver that is none.
"$program" build tests/emu/pointers.lua --kernel slices_plain --arch sm_90a -o "$work/built" >"$work/out" 2>&1 &&
    "$cc" -std=c99 -O1 -Wall -Wextra -Wpedantic -Werror -Itests/embed -Iruntime -I"$work/built" -o "$work/use" \
        tests/embed/use_pointers.c tests/embed/mock_driver.c "$work/built/slices_plain.c" \
        build/libtilewright.a -l:libxxhash.a -lm -ldl >>"$work/out" 2>&1
ok $? "a program with slices_plain.c compiles" "$work/out"
"$work/use" >"$work/out" 2>&1
status=$?
ok $status "what it takes, and what it refuses" "$work/out"

"$program" bench tests/emu/pointers.lua --kernel slices_plain --arch sm_90a --device emu --set B=2,M=40,N=40,K=72 \
    >"$work/out" 2>&1
ok $? "bench" "$work/out"
echo "1..$count"
[ "$failed" -eq 0 ]
