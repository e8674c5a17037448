#!/bin/sh
# Attention over a cache (specs/attention_decode.lua, specs/attention_decode_mods.lua): what lies behind a request's tokens is not heeded, parts come
# together whichever block is last and leave the workspace as it was; bugs planted into the text by which they come
# together, and by which pages are brought, each of which is seen. TAP on stdout.
#   usage: tests/emu/decode.sh [PROGRAM], from the top of the tree. Needs NVRTC and a C compiler, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_decode_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - attention over a cache # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac

# Behind each request's tokens stand NaNs, in the cache and in the last of its pages.
cp -r specs "$work/specs"
cat >"$work/specs/behind.lua" <<'LUA'
local B, R, S, G, P, T = dims "B R S G P T"
local D, N = 128, 4
local nan = 0 / 0
local function length(b, most) return math.max(most - 37 * b - 3, 0) end
local function value(b, kv, d, most) return kv < length(b, most) and (kv * 7 + d * 3 + b) % 11 - 5 or nan end
local function row(t, b, kv) return t.K[b][kv], t.V[b][kv] end
local function paged(size)
  return function(t, b, kv)
    local token = t.pages[b][kv // size] * size + kv % size
    return t.K[token], t.V[token]
  end
end
-- One new token, whose scores are all equal: the mean of the values.
local function by_hand(of, most)
  return function(t, n)
    for b = 0, n.B - 1 do
      for h = 0, n.G * N - 1 do
        for d = 0, D - 1 do
          local sum, count = 0, t.lengths[b]
          for kv = 0, count - 1 do
            local _, v = of(t, b, kv)
            sum = sum + v[h // N][d]
          end
          t.O[b][0][h][d] = count > 0 and sum / count or 0
        end
      end
    end
  end
end
local function decode(own)
  local fields = {
    family = "attention_decode",
    Q = tensor { B, R, N * G, D, dtype = "bf16", fill = "zeros" },
    O = tensor { B, R, N * G, D, dtype = "bf16" },
    tile = { q = 16, h = N, kv = 128, l = own.size },
    ahead = { s = { turns = 1, before = "o" } }, via = { q = "bulk" },
    split = { kv = { parts = 3, over = "blocks" } },
    arch = { sm_90a = {}, sm_80 = { tile = { kv = 64 }, pipeline = { stages = 2, warps_m = 4 } } },
  }
  for key, field in pairs(own) do if key ~= "size" then fields[key] = field end end
  return fields
end
local function contiguous(b, kv, _, d, n) return value(b, kv, d, n.S) end
kernel "behind_in_cache" (decode {
  K = tensor { B, S, G, D, dtype = "bf16", fill = contiguous }, V = tensor { B, S, G, D, dtype = "bf16", fill = contiguous },
  lengths = tensor { B, dtype = "int32", fill = function(b, n) return length(b, n.S) end },
  reference = by_hand(row),
  run = { { B = 4, R = 1, S = 700, G = 1 }, { B = 3, R = 1, S = 77, G = 1 } },
})
for _, size in ipairs { 16, 64 } do
  local function pool(p, _, d, n) return value(p // (n.T * size), p % (n.T * size), d, n.T * size) end
  kernel("behind_in_pages_" .. size) (decode {
    size = size,
    K = tensor { P * size, G, D, dtype = "bf16", axes = "kv g d", fill = pool },
    V = tensor { P * size, G, D, dtype = "bf16", axes = "kv g d", fill = pool },
    lengths = tensor { B, dtype = "int32", fill = function(b, n) return length(b, n.T * size) end },
    pages = tensor { B, T, dtype = "int32", fill = function(b, i, n) return b * n.T + i end },
    reference = by_hand(paged(size)),
    run = { { B = 4, R = 1, G = 1, P = 4 * (704 // size), T = 704 // size } },
  })
end
LUA
"$program" run "$work/specs/behind.lua" --device emu --complete all --hazards strict --inputs normal >"$work/out" 2>&1 &&
    grep -q '^verified 4 cases of 3 kernels' "$work/out"
ok $? "what lies behind a request's tokens is not heeded" "$work/out"
"$program" run "$work/specs/behind.lua" --kernel behind_in_pages_16 --arch sm_80 --device emu --complete random \
    --hazards strict --inputs normal >"$work/out" 2>&1 && grep -q '^verified 2 cases of 1 kernel' "$work/out"
ok $? "what lies behind a request's tokens is not heeded on sm_80" "$work/out"

# Masks and scores of one's own, on both architectures, and what is changed in the references by hand is seen.
for arch in sm_90a sm_80; do
    "$program" run specs/attention_decode_mods.lua --device emu --arch $arch --complete random --hazards strict \
        >"$work/out" 2>&1
    ok $? "specs/attention_decode_mods.lua on $arch" "$work/out"
done
while IFS='|' read -r kernel edit; do
    sed "$edit" specs/attention_decode_mods.lua >"$work/specs/attention_decode_mods.lua"
    ! cmp -s specs/attention_decode_mods.lua "$work/specs/attention_decode_mods.lua" &&
        ! "$program" run "$work/specs/attention_decode_mods.lua" --kernel "attention_decode_$kernel" --device emu \
            --inputs normal >"$work/out" 2>&1 && grep -q 'the reference says' "$work/out"
    ok $? "attention_decode_$kernel: seen where '$edit'" "$work/out"
done <<'END'
window|s/kv > last - 100/kv > last - 90/
alibi|s/(kv - q - at.shift)/(kv - q)/
documents|s/return kv <= last and document.*/return kv <= last/
sink|s/return at.t.sink\[at.h\]/return 0/
paged_tree|s/return kv < at.shift or .*/return kv <= at.shift + q end,/
END
# Tiles that no row's window reaches are not loaded: of eight tiles the last alone.
"$program" profile specs/attention_decode_mods.lua --kernel attention_decode_window --device emu \
    --set B=1,R=2,S=1000,G=1 >"$work/out" 2>&1 && awk '$2 == "K_load" && $4 == 1 { one = 1 } END { exit !one }' "$work/out"
ok $? "a window's tiles alone are loaded" "$work/out"

spec=$PWD/specs/attention_decode.lua
run() { # FILE COMPLETION SIZES
    (cd "$work" && "$program" run "$spec" --device emu --source "$1" --complete "$2" --inputs normal --set "$3") \
        >"$work/out" 2>&1
}
"$program" gen "$spec" -o "$work/text" --arch sm_90a >/dev/null || ok 1 "gen"
cp "$work/text/attention_decode_split_4.sm_90a.cu" "$work/parts.cu"
cp "$work/text/attention_decode_paged_16.sm_90a.cu" "$work/pages.cu"
"$program" gen "$spec" --kernel attention_decode_paged_16 -o "$work/text" --arch sm_80 >/dev/null || ok 1 "gen"
cp "$work/text/attention_decode_paged_16.sm_80.cu" "$work/copied.cu"

# name; which text; what is to be said of it; an edit of sed, which changes so many lines.
while IFS='|' read -r name text expected lines edit; do
    sed "$edit" "$work/$text.cu" >"$work/$name.cu"
    [ "$(diff "$work/$text.cu" "$work/$name.cu" | grep -c '^<')" = "$lines" ]
    ok $? "$name is planted $lines times" "$work/$name.cu"
    sizes=B=3,R=16,S=700,G=1
    [ "$text" = parts ] || sizes=B=3,R=2,G=1,P=150,T=44
    for mode in eager random; do
        run "$name.cu" $mode $sizes
        [ $? = 1 ] && grep -q "$expected" "$work/out"
        ok $? "$name, $mode" "$work/out"
    done
done <<'END'
no_meeting|parts|hazard |1|s/^\( *\)parts_meet();/\1;/
not_told|parts|FAILED|1|s/^\( *\)parts_are_here = parts_last(parts_are_here);/\1parts_are_here = __shfl_sync(~0u, parts_are_here, 0);/
a_part_less|parts|FAILED|1|s/for (int part = 1; part <= 3 /for (int part = 1; part <= 2 /
first_part_twice|parts|FAILED|3|s/_get(args, \(.*\), part, /_get(args, \1, part - 1, /
zeros_missing|parts|workspace|1|/void o_sum_get/,/^}/s/^\( *\)\*vector = .*;/\1;/
rows_unwritten|parts|FAILED|1|/void o_sum_put/,/^}/s/if (rows\[0\])/if (rows[0] \&\& threadIdx.x % 2)/
page_of_another|pages|FAILED|2|s/pages_at(args, at_b,/pages_at(args, at_b ^ 1,/
runs_exchanged|pages|FAILED|2|s/_load_run(args, \(.*\), first + k \* 16,/_load_run(args, \1, first + (k ^ 1) * 16,/
page_of_another_copied|copied|FAILED|6|s/pages_at(args, at_b,/pages_at(args, at_b ^ 1,/
turn_too_soon|pages|hazard |1|s/if (at_kv_turn < kv_inside_begin)/if (false)/
last_left_out|pages|hazard |1|s/if (at_kv_turn == kv_inside_last)/if (at_kv_turn >= kv_inside_last - 1)/
one_turn_more|pages|hazard |1|s/if (at_kv_turn < kv_inside_last) {/if (at_kv_turn <= kv_inside_last) {/
first_left_out|pages|hazard |1|s/for (--at_kv_turn;; ++at_kv_turn)/for (;; ++at_kv_turn)/
item_over_item|parts|hazard |1|s/^\( *\)item_wait_empty(item_fill);/\1;/
rows_too_early|pages|FAILED|2|s/^\( *\)number\[k\] = \(.*\);/\1number[k] = \2 - 1;/
END
echo "1..$count"
[ "$failed" -eq 0 ]
