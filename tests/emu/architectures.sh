#!/bin/sh
# Architectures that a spec asks for by name, on the emulator: what runs there equals its reference, a kernel that names
# none is not for them, a block has their shared memory and no more, and what is emitted chooses among them. TAP on stdout.
#   usage: tests/emu/architectures.sh [PROGRAM], from the top of the tree. Needs a C compiler; NVRTC for the emulator.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_architectures_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh
spec=tests/programs/architectures.lua

cat >"$work/unnamed.lua" <<'LUA'
local M, N, K = dims "M N K"
local A, B = tensor { M, K, dtype = "bf16" }, tensor { N, K, dtype = "bf16" }
kernel "unnamed" { family = "gemm", A = A, B = B, D = tensor { M, N, dtype = "bf16" } }
LUA
[ "$("$program" plan "$work/unnamed.lua" --variant 0 | sed -n 's/^kernel unnamed on //p' | tr '\n' ' ')" = 'sm_80 sm_90a ' ]
ok $? "a kernel that names no architecture is for sm_80 and sm_90a"

sed 's/^kernel.*/kernel "large" { family = "gemm", A = A, B = B, D = tensor { M, N, dtype = "bf16" },\
  tile = { m = 128, n = 128, k = 64 }, pipeline = { stages = 4 }, arch = { sm_80 = {}, sm_86 = {} } }/' \
    "$work/unnamed.lua" >"$work/large.lua"
"$program" plan "$work/large.lua" --arch sm_80 >"$work/out" 2>&1 &&
    ! "$program" plan "$work/large.lua" --arch sm_86 >>"$work/out" 2>&1 && grep -q '101376\|99 KB' "$work/out"
ok $? "128 KB of stages are for sm_80, and too many for sm_86" "$work/out"

# --arch asks for one of a kernel that names none, or names one that it is like, whose fields it then has.
"$program" plan "$work/unnamed.lua" --arch sm_120a --variant 0 >"$work/out" 2>&1 &&
    grep -q '^kernel unnamed on sm_120a$' "$work/out" && grep -q '^  ab  *3  *bulk  *A B ' "$work/out"
ok $? "--arch sm_120a of a kernel that names none: bulk copies" "$work/out"
sed 's/^kernel.*/kernel "named" { family = "gemm", A = A, B = B, D = tensor { M, N, dtype = "bf16" },\
  arch = { sm_90a = {}, sm_80 = { tile = { n = 64 }, pipeline = { stages = 2 } } } }/' \
    "$work/unnamed.lua" >"$work/named.lua"
"$program" plan "$work/named.lua" --arch sm_120a --variant 0 >"$work/out" 2>&1 &&
    grep -q '^  ab  *2  *bulk  *A B ' "$work/out" && grep -q '^  dot_sum .* 128 x 64 ' "$work/out" &&
    [ "$("$program" plan "$work/named.lua" --variant 0 | sed -n 's/^kernel named on //p' | tr '\n' ' ')" = 'sm_80 sm_90a ' ]
ok $? "--arch sm_120a of a kernel that names sm_80: its fields" "$work/out"
sed 's/sm_90a = {}, sm_80 = {/sm_90a = {}, sm_120a = { asked = true,/; s/stages = 2/stages = 3/' "$work/named.lua" >"$work/asked.lua"
"$program" plan "$work/asked.lua" --arch sm_120a --variant 0 >"$work/out" 2>&1 && grep -q '^  ab  *3  *bulk ' "$work/out" &&
    [ "$("$program" plan "$work/asked.lua" --variant 0 | sed -n 's/^kernel named on //p' | tr '\n' ' ')" = 'sm_90a ' ]
ok $? "asked = true: where --arch names it alone" "$work/out"
sed 's/arch = { sm_90a = {}, sm_80 = {/arch = { sm_80 = { asked = true,/' "$work/named.lua" >"$work/asked.lua"
! "$program" check "$work/asked.lua" >"$work/out" 2>&1 &&
    grep -q "kernel 'named' is left out: its architectures say asked = true; write --arch sm_80" "$work/out" &&
    "$program" check "$work/asked.lua" --arch sm_80 >"$work/out" 2>&1
ok $? "asked = true of every architecture: told, and nothing is made of it" "$work/out"
sed 's/, sm_80 = {.*}, *pipe.*$/ } }/; s/arch = { sm_90a = {}.*/arch = { sm_90a = {} } }/' "$work/named.lua" >"$work/hopper.lua"
! "$program" plan "$work/hopper.lua" --arch sm_120a >"$work/out" 2>&1 &&
    grep -q "no kernel of .* has architecture 'sm_120a'" "$work/out"
ok $? "what is for sm_90a alone is not for sm_120a" "$work/out"

# Of sm_80, sm_86, sm_89 and sm_120a a device takes its own, else the nearest below of its major version, else the newest
# by PTX, which sm_120a has none of.
"$program" gen "$spec" --kernel gemm_ampere -o "$work/made" >"$work/out" 2>&1
cat >"$work/choose.c" <<'C'
#include "gemm_ampere.c"
#include <stdio.h>
static const int *now;
static int version(int *of) { *of = 13000; return 0; }
static int current(int *device) { *device = 0; return 0; }
static int attribute(int *value, int which, int device)
{
    *value = which == 75 ? now[0] : which == 76 ? now[1] : which == 16 ? 132 : 233472;
    return device;
}
int main(void)
{
    static const int capability[][2] = {{7, 5}, {8, 0}, {8, 6}, {8, 7}, {8, 9}, {9, 0}, {10, 0}, {12, 0}, {12, 1}};
    for (unsigned i = 0; i < sizeof capability / sizeof *capability; i++) {
        struct gemm_ampere kernel = {0};
        struct gemm_ampere_error error;
        struct loader l = {.k = &kernel.state, .error = &error};
        kernel.state.driver.version = version;
        kernel.state.driver.context_device = current;
        kernel.state.driver.device_attribute = attribute;
        now = capability[i];
        printf("%d.%d %s\n", now[0], now[1], choose_target(&l) ? "none" : l.target->arch);
    }
    return 0;
}
C
${CC:-cc} -std=c99 -I"$work/made" "$work/choose.c" -o "$work/choose" -ldl >>"$work/out" 2>&1 && "$work/choose" >"$work/chosen"
printf '%s\n' '7.5 none' '8.0 sm_80' '8.6 sm_86' '8.7 sm_86' '8.9 sm_89' '9.0 sm_89' '10.0 sm_89' '12.0 sm_120a' '12.1 sm_89' |
    diff - "$work/chosen" >>"$work/out"
ok $? "each device takes the nearest" "$work/out"

if ! "$program" doctor >/dev/null 2>&1; then
    skip "$spec on the emulator" "there is no NVRTC"
    echo "1..$count"
    exit
fi
both() { # spec arch
    "$program" run "$1" --device emu --arch "$2" --complete random --hazards strict >"$work/out" 2>&1
    ok $? "$1 on $2" "$work/out"
    "$program" run "$1" --device none --arch "$2" >"$work/out" 2>&1
    ok $? "$1 compiles without spills for $2" "$work/out"
}
for arch in sm_80 sm_86 sm_89 sm_120a; do both "$spec" $arch; done
both tests/programs/architectures_attention.lua sm_120a
# Tensor memory: GEMM of each type and layout, functions, outputs, operands that threads compute; attention.
both tests/programs/architectures_tensor.lua sm_100a
both tests/programs/architectures_attention.lua sm_100a
"$program" plan tests/programs/architectures_tensor.lua --kernel tensor_gated --arch sm_100a >"$work/out" 2>&1 &&
    grep -q '^  memory.done *[0-9]* *32 ' "$work/out" && grep -q '^  group_barrier ' "$work/out"
ok $? "groups of products and their barriers in the Plan" "$work/out"
sed 's/{ m = 128, n = 128, k = 64 }/{ m = 256, n = 256, k = 32 }/' tests/programs/architectures_tensor.lua >"$work/wide.lua"
! "$program" check "$work/wide.lua" --kernel tensor_gated --arch sm_100a >"$work/out" 2>&1 &&
    grep -q 'columns of tensor memory.*\[TENSOR-MEMORY\]' "$work/out"
ok $? "more columns than there are: told" "$work/out"
# Of 128 rows an instruction has them all, where nothing but stores reads its sums.
for shape in tensor_across:m128 tensor_turns:m128 tensor_int8:m128 tensor_converted:m64; do
    "$program" plan tests/programs/architectures_tensor.lua --kernel "${shape%:*}" --arch sm_100a >"$work/out" 2>&1 &&
        grep -q "^  dot  *tcgen05  *${shape#*:}n128k" "$work/out"
    ok $? "${shape%:*}: instructions of ${shape#*:}" "$work/out"
done
# Sums that threads change where they are, and halves of lanes that consumers exchange: what is wrong there is seen.
attention=tests/programs/architectures_attention.lua
"$program" gen $attention --arch sm_100a -o "$work/sums" >"$work/out" 2>&1 || ok 1 "gen $attention" "$work/out"
planted() { # kernel hazard edit text
    sed "$3" "$work/sums/$1.sm_100a.cu" >"$work/$1.sm_100a.cu"
    ! cmp -s "$work/sums/$1.sm_100a.cu" "$work/$1.sm_100a.cu" &&
        ! "$program" run $attention --kernel "$1" --device emu --arch sm_100a --source "$work/$1.sm_100a.cu" \
            --inputs integer --complete random >"$work/out" 2>&1 && grep -q "^FAILED $1 .*: hazards .*$2" "$work/out"
    ok $? "$1: $4" "$work/out"
}
planted attention_tensor UNORDERED-WRITE '/ sums_given();/d' "sums go back and nobody waits for that"
planted attention_tensor REG-IN-FLIGHT '/ o_sum_take(products/,/^}/s/.*wait::ld.*//' "a piece is used before it has come"
planted attention_tensor UNINIT 's/o_sum_give(sums, block, first_pair/o_sum_give(sums, block, 0/' "all pieces go to one place"
planted attention_tensor_256 UNORDERED 's/p.columns += consumer . 1048576/;/' "both consumers have the same half of the lanes"
# Rows by number come by threads, not by the warp of bulk copies.
"$program" run specs/attention_decode.lua --kernel attention_decode_paged_16 --device emu --arch sm_120a \
    --inputs normal --complete late --hazards strict >"$work/out" 2>&1
ok $? "pages on sm_120a" "$work/out"
echo "1..$count"
[ "$failed" -eq 0 ]
