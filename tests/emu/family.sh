#!/bin/sh
# The kernels of the specs on the emulator, hazards looked for: right results, no report, and nothing left out. TAP on
# stdout.
#   usage: tests/emu/family.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
#
# Layouts, types and epilogues of specs/gemm.lua, architectures, completions and kinds of inputs: every pair of two of
# these in one run at least, each in both variants. Then the specs' own kernels, with both kinds. FULL=1: the rows with
# both kinds too, the specs' in every completion, with 20 seeds.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_family_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE program
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - kernels on the emulator # SKIP there is no NVRTC"
    exit 0
fi

# Layout and epilogue in every combination; the others so that every two values meet, which is counted below.
awk 'BEGIN {
    split("nn at bt at_bt dt at_dt bt_dt at_bt_dt", layout)
    split("bf16 fp16 bf16_fp16 fp16_bf16 bf16_fp32 fp16_fp32", dtype)
    split("plain scaled bias residual relu silu gelu outputs", epilogue)
    split("sm_90a sm_80", arch)
    split("eager late random", completion)
    split("normal integer", inputs)
    for (e = 0; e < 8; e++)
        for (l = 0; l < 8; l++)
            print layout[l + 1], dtype[(l + e) % 6 + 1], epilogue[e + 1], arch[(l + int(e / 2)) % 2 + 1],
                completion[(l + 2 * e + int(l / 3)) % 3 + 1], inputs[(int(l / 2) + e) % 2 + 1]
}' >"$work/rows"
awk '{
    for (i = 1; i <= NF; i++) {
        if (!((i, $i) in seen)) values[i]++
        seen[i, $i] = 1
        for (j = 1; j < i; j++) {
            if (!((i, $i, j, $j) in pair)) pairs[i, j]++
            pair[i, $i, j, $j] = 1
        }
    }
}
END {
    for (i = 1; i <= 6; i++)
        for (j = 1; j < i; j++)
            if (pairs[i, j] != values[i] * values[j]) { print "columns", j, i, pairs[i, j]; bad = 1 }
    exit bad
}' "$work/rows" >"$work/missing"
ok $? "every pair of layout, type, epilogue, architecture, completion and inputs is in a row" "$work/missing"

cat >"$work/family.lua" <<'LUA'
local M, N, K = dims "M N K"
local types = {
  bf16 = { "bf16", "bf16" }, fp16 = { "fp16", "fp16" }, bf16_fp16 = { "bf16", "fp16" },
  fp16_bf16 = { "fp16", "bf16" }, bf16_fp32 = { "bf16", "fp32" }, fp16_fp32 = { "fp16", "fp32" },
}
local layouts = { -- A, B, D along their second axis
  nn = {}, at = { at = true }, bt = { bt = true }, at_bt = { at = true, bt = true }, dt = { dt = true },
  at_dt = { at = true, dt = true }, bt_dt = { bt = true, dt = true }, at_bt_dt = { at = true, bt = true, dt = true },
}
local function matrix(turned, m, n, axes, turned_axes, dtype, out)
  if turned then return tensor { n, m, axes = turned_axes, dtype = dtype, out = out } end
  return tensor { m, n, axes = axes, dtype = dtype, out = out }
end
local vector = tensor { N, axes = "n", dtype = "bf16" }
local function residual() return tensor { M, N, axes = "m n", dtype = "bf16" } end
local epilogues = {
  plain = function() end,
  scaled = function(k, dtype)
    k.C, k.alpha, k.beta = tensor { M, N, dtype = dtype }, scalar("fp32", 0.5), scalar("fp32", 2)
  end,
  bias = function(k) k.bias, k.epilogue = vector, function(acc, t) return acc + t.bias end end,
  residual = function(k) k.R, k.epilogue = residual(), function(acc, t) return acc + t.R end end,
  relu = function(k) k.epilogue = function(acc) return relu(acc) end end,
  silu = function(k) k.bias, k.epilogue = vector, function(acc, t) return silu(acc + t.bias) end end,
  gelu = function(k)
    k.bias, k.R, k.epilogue = vector, residual(), function(acc, t) return gelu(acc + t.bias) + t.R end
  end,
  outputs = function(k)
    k.bias, k.E = vector, tensor { M, N, axes = "m n", dtype = "bf16", out = true }
    k.epilogue = function(acc, t)
      local x = acc + t.bias
      return { D = gelu_tanh(x), E = x }
    end
  end,
}
local function gemm(layout, dtype, epilogue, rows)
  local l, t = layouts[layout], types[dtype]
  local wide = t[2] == "fp32" or epilogue == "outputs"
  local k = {
    family = "gemm",
    A = matrix(l.at, M, K, "m k", "k m", t[1]),
    B = matrix(l.bt, N, K, "n k", "k n", t[1]),
    D = matrix(l.dt, M, N, "m n", "n m", t[2]),
    tile = { m = 128, n = wide and 128 or 256, k = 64 },
    cluster = { m = 2 },
    arch = { sm_90a = {}, sm_80 = { tile = { n = 128 }, cluster = { m = 1 }, pipeline = { stages = 3 } } },
    -- Dense rows are of whole 16 bytes, so that both variants take them.
    run = {
      { M = 264, N = 512, K = 136 }, rows == "dense" and { M = 48, N = 40, K = 328 } or { M = 41, N = 41, K = 328 },
      { M = 64, N = 40, K = 0 },
    },
  }
  epilogues[epilogue](k, t[2])
  kernel("g_" .. layout .. "_" .. dtype .. "_" .. epilogue)(k)
end
LUA
# Normal inputs lie in dense rows, on sm_80 in padded ones, where what is left of a row goes one by one; the specs'
# own kernels have both.
awk -v full="${FULL:-0}" '{
    $7 = full ? "auto" : $6 == "normal" && $4 == "sm_90a" ? "dense" : "padded"
    $6 = full ? "both" : $6
    print
}' "$work/rows" >"$work/ways" && mv "$work/ways" "$work/rows"
awk '{ printf "gemm(\"%s\", \"%s\", \"%s\", \"%s\")\n", $1, $2, $3, $7 }' "$work/rows" >>"$work/family.lua"

# One run: job.sh FILE ARGUMENT...; its output goes to FILE, its status to FILE.status.
cat >"$work/job.sh" <<'JOB'
file=$1
shift
"$program" run "$@" --device emu --verbose >"$file" 2>&1
echo $? >"$file.status"
JOB

seed=0
while read -r layout dtype epilogue arch completion inputs rows; do
    seed=$((seed + 1))
    echo "$work/out.$seed $work/family.lua --kernel g_${layout}_${dtype}_$epilogue --arch $arch" \
        "--complete $completion --inputs $inputs --rows $rows --seed $seed"
done <"$work/rows" >"$work/jobs"
own() { # SPEC OPTION...
    seed=$((seed + 1))
    echo "$work/out.$seed $*"
}
if [ "${FULL:-0}" = 1 ]; then
    for s in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21; do
        case $s in
        0) mode='--complete eager' ;;
        1) mode='--complete late' ;;
        *) mode="--complete random --seed $s" ;;
        esac
        for arch in sm_90a sm_80; do own specs/gemm.lua --arch $arch --setups $mode; done
        for arch in sm_90a sm_80; do own tests/emu/gemm_corners.lua --arch $arch $mode; done
        own specs/rms_norm.lua $mode
        for spec in types fused; do
            for arch in sm_90a sm_80; do own specs/gemm_$spec.lua --arch $arch $mode; done
        done
        for arch in sm_90a sm_80; do own specs/gemm_weights.lua --arch $arch $mode; done
        own specs/gemm_small.lua $mode
        own specs/gemm_split.lua $mode
        for arch in sm_90a sm_80; do own specs/gemm_grouped.lua --arch $arch $mode; done
        for arch in sm_90a sm_80; do own specs/fft.lua --arch $arch $mode; done
        own tests/gpu/corners.lua --set M=200,N=208,K=96 $mode
    done
else
    own specs/gemm.lua --arch sm_90a --complete late
    own specs/gemm.lua --arch sm_80 --complete random --seed 2
    own tests/emu/gemm_corners.lua --arch sm_90a --complete late
    own tests/emu/gemm_corners.lua --arch sm_80 --complete random --seed 4
    own specs/rms_norm.lua --complete all --seed 5
    own specs/gemm_types.lua --arch sm_90a --complete late
    own specs/gemm_types.lua --arch sm_80 --complete random --seed 8
    own specs/gemm_weights.lua --arch sm_90a --complete random --seed 12
    own specs/gemm_weights.lua --arch sm_80 --complete late
    own specs/gemm_fused.lua --arch sm_90a --complete random --seed 9
    own specs/gemm_fused.lua --arch sm_80 --complete late
    own specs/gemm_small.lua --complete random --seed 10
    own specs/gemm_split.lua --complete late
    own specs/gemm_grouped.lua --arch sm_90a --complete late
    own specs/gemm_grouped.lua --arch sm_80 --complete random --seed 13
    own specs/gemm.lua --kernel gemm_bf16 --arch sm_90a --setups --complete random --seed 11
    own specs/fft.lua --arch sm_90a --complete late
    own specs/fft.lua --arch sm_80 --complete random --seed 7
    own tests/gpu/corners.lua --set M=200,N=208,K=96 --complete random --seed 6
    own tests/programs/random_products.lua --complete random --seed 14
    own tests/programs/random_rows.lua --arch sm_90a --complete late
fi >"$work/own"
cat "$work/own" >>"$work/jobs"
# On the emulator nothing is compiled to the end. Every fifth row is: each layout, type and epilogue, no spills. That
# comes first, with lines: the emulator then finds its PTX.
awk 'NR % 5 == 1 { print "g_" $1 "_" $2 "_" $3, $4 }' "$work/rows" >"$work/built"
xargs -P 2 -L 1 sh -c '"$program" build "$1/family.lua" --lines --kernel "$2" --arch "$3" -o "$1/b.$2" >"$1/$2" 2>&1
    echo $? >"$1/$2.status"' build "$work" <"$work/built"
xargs -P 2 -L 1 sh "$work/job.sh" <"$work/jobs"

while read -r kernel arch; do
    [ "$(cat "$work/$kernel.status")" = 0 ]
    ok $? "build --kernel $kernel --arch $arch" "$work/$kernel"
done <"$work/built"

while read -r out arguments; do
    # Sizes that are given here may leave something out, and so may corners and what is drawn; those of a spec must not.
    case $arguments in *--set* | *gemm_corners* | *random_*) sed -i '/\[RUN-COVERAGE\]$/d' "$out" ;; esac
    # fp8 has no instruction on sm_80.
    case $arguments in *gemm_types*sm_80* | *gemm_grouped*sm_80*)
        sed -i '/note: sm_80 is left out for kernel .gemm_[a-z_]*fp8/d' "$out" ;;
    esac
    # Which block comes last of those that share an item is luck: tests/emu/stream.sh has each order.
    case $arguments in *gemm_split*) sed -i '/note: gemm_stream.*\[RUN-COVERAGE\]$/d' "$out" ;; esac
    # Set-ups have a run of their own.
    case $arguments in *--setups*) ;; *) sed -i '/note: on the emulator [0-9]* set-ups .* are left out/d' "$out" ;; esac
    [ "$(cat "$out.status")" = 0 ] && grep -q '^verified [a-z]' "$out" && ! grep -qv '^verified' "$out"
    ok $? "${arguments#"$work"/}" "$out"
done <"$work/jobs"
# Sizes by which a function would divide by zero are refused by the launcher, as those of a grid are; where no output
# has elements nothing is divided.
cat >"$work/divisors.lua" <<'LUA'
local M, N, K = dims "M N K"
local base = kernel "by_k" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  lut = tensor { 256, dtype = "fp32" },
  epilogue = function(acc, t, i) return acc + t.lut[i.n % K % 256] end,
}
kernel "by_quotient" { like = base, epilogue = function(acc, t, i) return acc + t.lut[i.n // (K // 2) % 256] end }
kernel "by_more" { like = base, epilogue = function(acc, t, i) return acc + t.lut[i.n % max(K, 1) % 256] end }
kernel "by_n" { like = base, epilogue = function(acc, t, i) return acc + t.lut[i.m % N % 256] end }
LUA
divides() { # STATUS KERNEL SIZES
    "$program" run "$work/divisors.lua" --kernel "$2" --set "$3" --device emu --arch "$4" >"$work/out.d" 2>&1
    status=$?
    [ $status = "$1" ] && { [ "$1" = 0 ] || grep -q "^FAILED .*: the sizes make the kernel's functions divide by zero" "$work/out.d"; }
    ok $? "$2 at $3 on $4: status $1" "$work/out.d"
}
divides 0 by_k M=24,N=40,K=16 sm_90a
divides 1 by_k M=24,N=40,K=0 sm_90a
divides 1 by_quotient M=24,N=40,K=1 sm_80
divides 0 by_more M=24,N=40,K=0 sm_90a
divides 0 by_n M=24,N=0,K=16 sm_80
echo "1..$count"
[ "$failed" -eq 0 ]
