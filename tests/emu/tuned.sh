#!/bin/sh
# Set-ups of SPEC.tuned.lua: what is emitted, run and listed with and without them, and `tune` where there is no GPU. TAP
# on stdout. Needs NVRTC.
#   usage: tests/emu/tuned.sh [PROGRAM], from the top of the tree
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_tuned_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL
. tests/tap.sh
shown="$work/out $work/err"

tilewright() {
    "$program" "$@" >"$work/out" 2>"$work/err"
    status=$?
}
# holds COUNT PATTERN: so many lines of what was printed match
holds() { [ "$(grep -c -- "$2" "$work/out")" -eq "$1" ]; }

spec=$work/gemm.lua
cat >"$spec" <<'LUA'
local M, N, K = dims "M N K"
local gemm = kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 128, k = 64 }, cluster = { m = 2 }, arch = { sm_90a = {}, sm_80 = { cluster = { m = 1 } } },
  tune = { tile = { n = { 64, 128, 256 } } },
  run = { { M = 264, N = 200, K = 136 } }, bench = { { M = 64, N = 64, K = 192 } },
}
kernel "relu" { like = gemm, epilogue = function(acc) return relu(acc) end, tune = false }
LUA
tilewright gen "$spec" -o "$work/plain"
[ $status -eq 0 ] || ok 1 "the spec alone"

cat >"$work/gemm.tuned.lua" <<'LUA'
tuned "gemm" { gpu = "NVIDIA H200", arch = "sm_90a",
  { M = 64, N = 4096, K = 4096, use = { tile = { m = 64, n = 64 }, cluster = { m = 1 } }, us = 10.5 },
  { M = 4096, N = 4096, K = 4096, use = { tile = { n = 192 }, pipeline = { stages = 3 } }, us = 200 },
  { M = 4096, N = 512, K = 4096, us = 30 },
}
tuned "gemm" { gpu = "NVIDIA A100", arch = "sm_80", { M = 64, N = 64, K = 64, use = { tile = { n = 64 } } } }
LUA
tilewright gen "$spec" -o "$work/tuned"
cp "$work/tuned"/relu* "$work"
for file in "$work"/plain/*; do
    case ${file##*/} in gemm.c | gemm.h | *.json) continue ;; esac
    cmp -s "$file" "$work/tuned/${file##*/}" || echo "${file##*/}"
done >"$work/out"
[ $status -eq 0 ] && [ ! -s "$work/out" ] && [ "$(ls "$work"/tuned/gemm__*.cu | wc -l)" -eq 5 ]
ok $? "set-ups are variants of their kernel: all other texts are as they were"
mv "$work/gemm.tuned.lua" "$work/kept"
tilewright gen "$spec" -o "$work/again"
diff -r "$work/plain" "$work/again" >"$work/out" && [ $status -eq 0 ]
ok $? "without the file everything is as it was"
mv "$work/kept" "$work/gemm.tuned.lua"

for arch in sm_90a sm_80; do
    tilewright run "$spec" --kernel gemm --device emu --arch $arch --complete all --hazards fatal --setups
    case $arch in sm_90a) n=4 ;; *) n=3 ;; esac
    [ $status -eq 0 ] && holds $n "^verified gemm.* $arch emu M=264,N=200,K=136 .*integers equal" &&
        holds 1 "^verified $n cases"
    ok $? "run verifies each set-up on the run sizes, on $arch"
done

tilewright run "$spec" --kernel gemm --device emu --arch sm_90a
[ $status -eq 0 ] && holds 2 "^verified gemm" && holds 1 "^verified 2 cases" &&
    grep -q "note: on the emulator 2 set-ups .*--setups" "$work/err"
ok $? "which on the emulator it does where it is asked to, and says so"
tilewright check "$spec"
[ $status -eq 0 ] && holds 1 "^ok: 2 kernels, 11 entry points, .*; 3 are set-ups$"
ok $? "check counts them"
sed 's/n = 192/n = 190/' "$work/gemm.tuned.lua" >"$work/gemm.tuned.wrong"
cp "$work/gemm.tuned.lua" "$work/kept" && mv "$work/gemm.tuned.wrong" "$work/gemm.tuned.lua"
tilewright run "$spec" --kernel gemm --device emu --arch sm_90a
[ $status -eq 1 ] && grep -q "gemm.tuned.lua:3: error: .*190" "$work/err"
ok $? "a wrong set-up is told where it is not run, too"
mv "$work/kept" "$work/gemm.tuned.lua"

# Pictures are of the set-up that a launch of the sizes takes; what `like` takes over has no rows.
timeline() { # SIZES WHAT OPTION...
    sizes=$1 what=$2
    shift 2
    tilewright show timeline "$spec" --kernel gemm --set "$sizes" "$@"
    [ $status -eq 0 ] && holds 1 "^kernel gemm on sm_90a, ${what}M="
    ok $? "show timeline at $sizes $*: ${what:-the spec's own}"
}
timeline M=64,N=128,K=128 "variant cluster_m1_tile_m64_n64, "
timeline M=64,N=128,K=128 "" --variant 0
timeline M=64,N=41,K=128 "variant unaligned, "
timeline M=1024,N=256,K=64 ""
tilewright profile "$spec" --kernel gemm --device emu --set M=64,N=128,K=128
[ $status -eq 0 ] && holds 1 "^kernel gemm on sm_90a, variant cluster_m1_tile_m64_n64, "
ok $? "profile: that set-up"
tilewright show smem "$spec"
[ $status -eq 0 ] && holds 8 "^kernel" &&
    tilewright show smem "$spec" --variant cluster_m1_tile_m64_n64 && holds 1 "^kernel"
ok $? "show smem: set-ups by name"
tilewright plan "$spec" --kernel relu
[ $status -eq 0 ] && holds 0 "^tuned"
ok $? "a kernel that is like one that is tuned is not tuned"

# A row that is exact: its sizes are numbers in a kernel of their own, which no other size takes.
mkdir "$work/exact" && cp "$spec" "$work/exact"
sed 's/M = 64, N = 4096, K = 4096,/M = 64, N = 64, K = 192, exact = true,/' "$work/gemm.tuned.lua" >"$work/exact/gemm.tuned.lua"
exact=M64_N64_K192
tilewright gen "$work/exact/gemm.lua" --kernel gemm -o "$work/exact/pair"
text=$work/exact/pair/gemm__$exact.sm_90a.cu
[ $status -eq 0 ] && ! grep -q 'args\.[MNK]\>' "$text" && grep -q ' = 255;' "$text" &&
    grep -q 'args\.K + 63' "$work/exact/pair/gemm__cluster_m1_tile_m64_n64.sm_90a.cu"
ok $? "an exact row: its sizes are numbers (K + 63) in the text of one more kernel"
for sizes in M=64,N=64,K=192 M=64,N=64,K=184 M=64,N=65,K=192 M=64,N=63,K=192 M=65,N=64,K=192 M=63,N=64,K=192 M=64,N=64,K=200; do
    tilewright show timeline "$work/exact/gemm.lua" --kernel gemm --set $sizes
    [ $status -eq 0 ] && case $sizes in
    M=64,N=64,K=192) holds 1 "^kernel gemm on sm_90a, variant $exact, M=" ;;
    *) holds 0 "$exact" ;;
    esac
    ok $? "an exact row at $sizes"
done
tilewright run "$work/exact/gemm.lua" --kernel gemm --device emu --arch sm_90a --complete all --hazards fatal --setups \
    --set M=64,N=64,K=192
[ $status -eq 0 ] && holds 1 "^verified gemm__$exact "
ok $? "an exact row's kernel is verified at its sizes"
tilewright run "$work/exact/gemm.lua" --kernel gemm --device emu --arch sm_90a --setups
[ $status -eq 0 ] && holds 4 "^verified gemm" && holds 0 "$exact"
ok $? "and at no other"

# The same row for another GPU and for bursts is the same kernel.
{
    cat "$work/exact/gemm.tuned.lua"
    sed -n '/^tuned "gemm".*H200/,/^}/p' "$work/exact/gemm.tuned.lua" | sed 's/H200/H100/'
    sed -n '/^tuned "gemm".*H200/,/^}/p' "$work/exact/gemm.tuned.lua" | sed 's/exact = true,/exact = true, mode = "burst",/' |
        sed -n '1p;/exact/p;/^}/p'
} >"$work/twice" && mv "$work/twice" "$work/exact/gemm.tuned.lua"
tilewright gen "$work/exact/gemm.lua" --kernel gemm -o "$work/exact/twice"
[ $status -eq 0 ] && [ "$(ls "$work/exact/twice" | grep -c 'M64_N64_K192.*\.cu$')" -eq 1 ] &&
    [ "$(ls "$work/exact/pair" | wc -l)" -eq "$(ls "$work/exact/twice" | wc -l)" ]
ok $? "rows of two GPUs and modes share an exact kernel"

# A set-up that releases a stage before it is read.
broken=gemm__cluster_m1_tile_m64_n64.sm_90a.cu
sed 's/mma_wait_1();//; s/mma_wait_0();//' "$work/tuned/$broken" >"$work/$broken"
! cmp -s "$work/tuned/$broken" "$work/$broken"
tilewright run "$spec" --device emu --arch sm_90a --source "$work/$broken"
[ $status -eq 1 ] && grep -q "^hazard" "$work/err" && holds 1 "^FAILED gemm__cluster_m1_tile_m64_n64 "
ok $? "a set-up that is broken is found"

# What another tile rounds on the way is the reference's too.
sed 's/^local D = 128/local D = 64/' specs/attention.lua >"$work/attention.lua"
cat >"$work/attention.tuned.lua" <<'LUA'
tuned "attention_fwd" { gpu = "NVIDIA H200", arch = "sm_90a",
  { B = 1, H = 16, R = 1024, S = 1024, use = { tile = { kv = 64 } } },
}
LUA
tilewright run "$work/attention.lua" --kernel attention_fwd --device emu --arch sm_90a --set B=1,H=1,R=72,S=200 --setups
[ $status -eq 0 ] && holds 1 "^verified attention_fwd__tile_kv64 "
ok $? "a set-up's program is its own reference"

# What ships: every size of its `bench` is tuned, and other architectures have nothing of it.
tilewright plan specs/gemm.lua --kernel gemm_bf16
sed -n 's/^tuned gemm_bf16 on sm_90a, NVIDIA H200, sustained: \(.*\): .*/\1/p' "$work/out" | sort >"$work/rows"
sed -n '/^  bench /,/^  },/p' specs/gemm.lua | grep -o 'M = [0-9]*, N = [0-9]*, K = [0-9]*' | tr -d ',' |
    sed 's/ = /=/g' | sort >"$work/sizes"
[ "$(wc -l <"$work/sizes")" -eq 20 ] && cmp "$work/rows" "$work/sizes" >"$work/out" 2>&1
ok $? "specs/gemm.lua: each bench size has a row"
mkdir "$work/alone" && cp specs/gemm.lua "$work/alone"
tilewright gen specs/gemm.lua --arch sm_80 -o "$work/alone/with" &&
    tilewright gen "$work/alone/gemm.lua" --arch sm_80 -o "$work/alone/without"
diff -r "$work/alone/with" "$work/alone/without" >"$work/out" 2>&1
ok $? "specs/gemm.lua for sm_80: as without set-ups"
# Shares of all turns: waves are full where items do not fill them, which is not worth what is passed on where there are
# many. Set-ups of one kernel share its workspace, whatever each has it for.
cat >"$work/stream.lua" <<'LUA'
local M, N, K = dims "M N K"
kernel "stream" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 256, k = 64 }, cluster = { m = 1 }, arch = { sm_90a = {} },
  tune = { schedule = { stream = { true } }, tile = { m = { 128 }, n = { 256 }, k = { 64 } },
           cluster = { m = { 1 }, n = { 1 } } },
  run = { { M = 264, N = 264, K = 200 } },
}
LUA
tilewright tune "$work/stream.lua" --list --set M=4096,N=2112,K=7168 --set M=4096,N=8192,K=512
[ $status -eq 0 ] && awk '/[0-9] us / { line[++n] = $0 }
    END { exit !(n == 4 && line[1] ~ / 2\.18 .*stream = true/ && line[2] ~ / 3 .*own$/ && line[3] ~ / 8 .*own$/ &&
                 line[4] ~ / 7\.76 .*stream = true/) }' "$work/out"
ok $? "tune --list: shares of all turns fill waves"
cat >"$work/stream.tuned.lua" <<'LUA'
tuned "stream" { gpu = "NVIDIA H200", arch = "sm_90a",
  { M = 4096, N = 2112, K = 7168, use = { schedule = { stream = true }, tile = { m = 64, n = 64 } } },
  { M = 1024, N = 1024, K = 1024, use = { schedule = { dynamic = true }, tile = { m = 64, n = 64 } } },
}
LUA
tilewright run "$work/stream.lua" --device emu --complete random --sms 5 --setups
[ $status -eq 0 ] && holds 4 "^verified stream.* M=264,N=264,K=200 .*integers equal"
ok $? "run verifies set-ups with shares and with a counter, in one workspace"

tilewright tune "$spec" --list --arch sm_90a
[ $status -eq 0 ] && holds 1 "^kernel gemm on sm_90a" && holds 0 "^kernel relu" && grep -q "the spec's own$" "$work/out" &&
    grep -q "tile.n 64, 256; .*(offered)" "$work/out" && grep -q "cannot be planned" "$work/out" &&
    grep -q 'cache.B "evict_first", .*"prefetch_evict_first" (offered); cache.D "evict_first" (offered)' "$work/out"
ok $? "tune --list: candidates by the model, and why others are none"
# 256 of k fits beside smaller tiles alone, and pairs of so many values are not traced: nothing is said of it.
cat >"$work/many.lua" <<'EOF'
local M, N, K = dims "M N K"
kernel "many" {
  family = "gemm", A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" }, tile = { m = 128, n = 256, k = 64 }, arch = { sm_90a = {} },
  tune = { tile = { m = { 8, 16, 24, 32, 40, 48, 56, 64, 128, 192 }, k = { 32, 64, 128, 256 },
                    n = { 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160 } } },
  run = { { M = 64, N = 64, K = 64 } },
}
EOF
tilewright check "$work/many.lua"
[ $status -eq 0 ]
ok $? "check: nothing is said of values whose pairs are too many to be traced"
sed 's/  tune = {/  schedule = { persistent = false }, tune = { pipeline = { store = { "late" } },/' "$work/many.lua" >"$work/no.lua"
tilewright check "$work/no.lua"
[ $status -eq 1 ] && grep -q 'TUNE-FIT' "$work/err"
ok $? "check: values beside which those are tried are refused as before"
# One tile of 64 filters: half of a cluster along n would have nothing to do.
tilewright tune specs/conv.lua --kernel conv_3x3 --arch sm_90a --set N=32,H=56,W=56,C=64,K=64 --list
[ $status -eq 0 ] && holds 0 "us .*cluster = {.* n = 2 }.* n = 64 }" && grep -q "us .*cluster = { m = 2 }, .* n = 64 }" "$work/out"
ok $? "tune --list: tiles that do not fill a cluster count as if they did"
tilewright tune specs/tile_copy.lua --kernel tile_copy --arch sm_90a --set H=16384,W=16384 --list
[ $status -eq 0 ] && grep -q " 65536 .* the spec's own$" "$work/out"
ok $? "tune --list: items of a copy are its tiles"
before=$(ls "$work")
tilewright tune "$spec" --device emu --arch sm_90a
[ $status -eq 0 ] && holds 1 "^tuned gemm sm_90a M=64,N=64,K=192: .* us, .*n = 64" && [ "$before" = "$(ls "$work")" ]
ok $? "tune --device emu launches what would be measured, and writes nothing"
CUDA_VISIBLE_DEVICES='' tilewright tune "$spec"
[ $status -eq 3 ] && grep -q -- "--list says" "$work/err"
ok $? "tune without a GPU: status 3"
for words in "" "$spec --mode long" "$spec --time soon" "$spec --device tpu" "$spec --list --kernel none"; do
    # shellcheck disable=SC2086
    tilewright tune $words
    [ $status -eq 2 ] && [ -s "$work/err" ]
    ok $? "tune $words: status 2"
done
echo "1..$count"
[ "$failed" -eq 0 ]
