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

# Of sm_80, sm_86 and sm_89 a device takes its own, else the nearest below of its major version, else the newest by PTX.
"$program" gen "$spec" --kernel gemm_ampere -o "$work/made" >"$work/out" 2>&1
cat >"$work/choose.c" <<'C'
#include "gemm_ampere.c"
#include <stdio.h>
int main(void)
{
    static const int capability[][2] = {{7, 5}, {8, 0}, {8, 6}, {8, 7}, {8, 9}, {9, 0}, {12, 0}};
    for (unsigned i = 0; i < sizeof capability / sizeof *capability; i++) {
        const struct device device = {capability[i][0], capability[i][1], 233472, 132};
        int target = choose_target(&device);
        printf("%d.%d %s\n", capability[i][0], capability[i][1], target < 0 ? "none" : targets[target].arch);
    }
    return 0;
}
C
${CC:-cc} -std=c99 -I"$work/made" "$work/choose.c" -o "$work/choose" -ldl >>"$work/out" 2>&1 && "$work/choose" >"$work/chosen"
printf '%s\n' '7.5 none' '8.0 sm_80' '8.6 sm_86' '8.7 sm_86' '8.9 sm_89' '9.0 sm_89' '12.0 sm_89' |
    diff - "$work/chosen" >>"$work/out"
ok $? "each device takes the nearest" "$work/out"

if ! "$program" doctor >/dev/null 2>&1; then
    skip "$spec on the emulator" "there is no NVRTC"
    echo "1..$count"
    exit
fi
for arch in sm_80 sm_86 sm_89; do
    "$program" run "$spec" --device emu --arch $arch --complete random --hazards fatal >"$work/out" 2>&1
    ok $? "$spec on $arch" "$work/out"
    "$program" run "$spec" --device none --arch $arch >"$work/out" 2>&1
    ok $? "$spec compiles without spills for $arch" "$work/out"
done
echo "1..$count"
[ "$failed" -eq 0 ]
