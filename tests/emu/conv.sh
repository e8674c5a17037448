#!/bin/sh
# Convolutions (specs/conv.lua), by im2col tensor maps and by copies of 16 bytes: exact against a reference by hand, in
# every completion; images of one and three spatial dims; how a kernel may run beside the default; bugs planted into the
# emitted text, each of which the emulator finds. TAP on stdout.
#   usage: tests/emu/conv.sh [PROGRAM], from the top of the tree. Needs NVRTC, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_conv_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - convolutions # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac
spec=$PWD/specs/conv.lua

"$program" run "$spec" --device emu --complete all --hazards strict >"$work/out" 2>&1
ok $? "specs/conv.lua, all completions" "$work/out"
grep -q RUN-COVERAGE "$work/out"
[ $? = 1 ]
ok $? "its sizes leave nothing out" "$work/out"

"$program" run "$spec" --arch sm_80 --device emu --complete random --hazards strict >"$work/out" 2>&1
ok $? "specs/conv.lua, sm_80" "$work/out"
grep -q RUN-COVERAGE "$work/out"
[ $? = 1 ]
ok $? "its sizes leave nothing out there" "$work/out"

# Images that no window fits into are refused in words, by whatever way they would come.
cat >"$work/bare.lua" <<'LUA'
local N, H, W = dims "N H W"
kernel "bare" {
  axes = "m n b h w x r s c", grid = { m = N * H * W, n = 16 }, tile = { m = 64, n = 16, c = 16 },
  X = tensor { N, H, W, 16, axes = "b h w x", dtype = "bf16" },
  F = tensor { 16, 3, 3, 16, axes = "n r s c", dtype = "bf16" },
  Y = tensor { N * H * W, 16, axes = "m n", dtype = "bf16", out = true },
  arch = { sm_90a = {}, sm_80 = {} },
  program = function(t, at, tile)
    local n = span(at.n, tile.n)
    local sum = loop("k", range(0, 9), { zeros() }, function(k, sum)
      local x = im2col(t.X, span(at.m, tile.m), k // 3, k % 3, span(0, tile.c), { taps = { 3, 3 } })
      return dot(x, load(t.F, n, k // 3, k % 3, span(0, tile.c)):t(), sum)
    end)
    store(t.Y, span(at.m, tile.m), n, sum)
  end,
}
LUA
while read -r arch sizes dim pixels; do
    "$program" run "$work/bare.lua" --arch "$arch" --device emu --set "$sizes" >"$work/out" 2>&1
    [ $? = 1 ] && grep -q "dim $dim of X is $pixels pixels; with its padding a window takes 3, and up to" "$work/out"
    ok $? "$arch, $sizes: no window fits" "$work/out"
done <<'END'
sm_80 N=1,H=1,W=1 2 1
sm_80 N=1,H=3,W=2 3 2
sm_90a N=1,H=3,W=2 3 2
END

# Images of one and of three spatial dims, as programs of one's own; zeros before them alone, as causal ones have.
mkdir "$work/specs" && cat >"$work/specs/ranks.lua" <<'LUA'
local N, D, H, W = dims "N D H W"
local tile = { m = 64, n = 16, c = 16 }
kernel "causal" {
  axes = "m n b w x s c", grid = { m = N * W, n = 16 }, tile = tile,
  X = tensor { N, W, 24, axes = "b w x", dtype = "bf16" },
  F = tensor { 16, 4, 24, axes = "n s c", dtype = "bf16" },
  Y = tensor { N * W, 16, axes = "m n", dtype = "bf16", out = true },
  program = function(t, at, tile)
    local n = span(at.n, tile.n)
    local sum = loop("k", range(0, 8), { zeros() }, function(k, sum)
      local c = span(k // 4 * tile.c, tile.c)
      local x = im2col(t.X, span(at.m, tile.m), k % 4, c, { taps = 4, dilation = 2, padding = { { 6, 0 } } })
      return dot(x, load(t.F, n, k % 4, c):t(), sum)
    end)
    store(t.Y, span(at.m, tile.m), n, sum)
  end,
  reference = function(t, n)
    for m = 0, n.N * n.W - 1 do
      for k = 0, 15 do
        local sum = 0
        for s = 0, 3 do
          local w = m % n.W - 6 + 2 * s
          for c = 0, 23 do sum = sum + (w >= 0 and t.X[m // n.W][w][c] or 0) * t.F[k][s][c] end
        end
        t.Y[m][k] = sum
      end
    end
  end,
  run = { { N = 3, W = 50 } },
}
local P, Q = (H - 3) // 2 + 1, W + 1
kernel "volume" {
  axes = "m n b d h w x r s q c", grid = { m = N * D * P * Q, n = 16 }, tile = tile,
  X = tensor { N, D, H, W, 16, axes = "b d h w x", dtype = "fp16" },
  F = tensor { 16, 12, 16, axes = "n q c", dtype = "fp16" },
  Y = tensor { N * D * P * Q, 16, axes = "m n", dtype = "fp16", out = true },
  program = function(t, at, tile)
    local n, c = span(at.n, tile.n), span(0, tile.c)
    local sum = loop("k", range(0, 12), { zeros() }, function(k, sum)
      local x = im2col(t.X, span(at.m, tile.m), 1, k // 4, k % 4, c,
        { taps = { 3, 3, 4 }, stride = { 1, 2, 1 }, padding = { 1, 0, 2 } })
      return dot(x, load(t.F, n, k, c):t(), sum)
    end)
    store(t.Y, span(at.m, tile.m), n, sum)
  end,
  reference = function(t, n)
    local P, Q = (n.H - 3) // 2 + 1, n.W + 1
    for m = 0, n.N * n.D * P * Q - 1 do
      local image, d, p, q = m // (n.D * P * Q), m // (P * Q) % n.D, m // Q % P, m % Q
      for k = 0, 15 do
        local sum = 0
        for tap = 0, 11 do
          local h, w = 2 * p + tap // 4, q - 2 + tap % 4
          if w >= 0 and w < n.W then
            for c = 0, 15 do sum = sum + t.X[image][d][h][w][c] * t.F[k][tap][c] end
          end
        end
        t.Y[m][k] = sum
      end
    end
  end,
  run = { { N = 2, D = 2, H = 5, W = 4 } },
}
LUA
for arch in sm_90a sm_80; do
    "$program" run "$work/specs/ranks.lua" --arch $arch --device emu --complete all --hazards strict --verbose \
        >"$work/out" 2>&1 && [ "$(grep -c '^verified.*integers equal' "$work/out")" -ge 2 ]
    ok $? "one and three spatial dims, $arch" "$work/out"
done

# What else a kernel may say of how it runs. Each beside the plain one's reference.
while read -r name fields; do
    {
        sed '/^conv(/,$d' specs/conv.lua
        echo "conv(\"$name\", { taps = 3, padding = 1, stride = 2, C = 128, K = 64 }, { $fields,"
        echo '  run = { { N = 3, H = 9, W = 12 } } })'
    } >"$work/specs/$name.lua"
    "$program" run "$work/specs/$name.lua" --device emu --complete random --hazards strict >"$work/out" 2>&1
    ok $? "$name" "$work/out"
done <<'END'
swapped pipeline = { swap = true }, tile = { m = 128, n = 64 }
shared_windows cluster = { n = 2 }, tile = { m = 64, n = 32 }
shared_both cluster = { m = 2, n = 2 }, tile = { m = 64, n = 32 }
hinted cluster = { n = 2 }, tile = { n = 32 }, cache = { X = "evict_first" }
split split = { k = 2 }
parts split = { k = { parts = 3, over = "blocks" } }
stream schedule = { stream = true }
in_turns pipeline = { mode = "items" }, tile = { m = 64, n = 64 }
late pipeline = { store = "late" }
END

# name|kernel, with its architecture|what is said of it|an edit of sed, which changes one place.
"$program" gen "$spec" -o "$work/text" >/dev/null || ok 1 "gen"
while IFS='|' read -r name kernel expected edit; do
    whole=$work/text/$kernel.cu
    sed "$edit" "$whole" >"$work/$name.cu"
    [ "$(diff "$whole" "$work/$name.cu" | grep -c '^>')" = 1 ]
    ok $? "$name is planted once" "$work/$name.cu"
    "$program" run "$spec" --device emu --source "$work/$name.cu" --inputs integer --set N=5,H=9,W=13,C=72,K=264 \
        >"$work/out" 2>&1
    [ $? = 1 ] && grep -q "$expected" "$work/out"
    ok $? "$name" "$work/out"
done <<'END'
no_padding|conv_3x3.sm_90a|FAILED|s/\(at.i2 = .*\) - 1;/\1;/
outside|conv_3x3.sm_90a|hazard|s/\(at.i2 = .*\) - 1;/\1 - 2;/
no_stride|conv_3x3_s2.sm_90a|FAILED|s/\(at.i1 = .*\) \* 2 - 1;/\1 - 1;/
pixels_of_image|conv_3x3_s2.sm_90a|hazard ILLEGAL|s/const u32 pixels2 = .*/const u32 pixels2 = args.W;/
one_image|conv_3x3.sm_90a|FAILED|s/at.i0 = (int)left;/at.i0 = 0;/
taps_turned|conv_3x3.sm_90a|FAILED|s/, (u16)tap1, (u16)tap2);/, (u16)tap2, (u16)tap1);/
one_tap|conv_3x3.sm_90a|FAILED|s/, (u16)tap1, (u16)tap2);/, (u16)tap1, (u16)1);/
old_no_padding|conv_3x3.sm_80|FAILED|s/\(const int i2 = .*\) - 1;/\1;/
old_no_stride|conv_3x3_s2.sm_80|FAILED|s/\(const int i1 = .*\) \* 2 + /\1 + /
old_outside|conv_3x3.sm_80|hazard|s/ && (u32)i2 < (u32)args.W / /
old_no_tap|conv_3x3.sm_80|FAILED|s/ + tap1 - 1;/ - 1;/
old_one_image|conv_3x3.sm_80|FAILED|s/inside ? args.X + left \* /inside ? args.X + 0 * /
END
echo "1..$count"
[ "$failed" -eq 0 ]
