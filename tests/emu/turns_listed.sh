#!/bin/sh
# Loops whose turns come from a list: masks that read tensors, by documents in every order, forward on both lowerings.
# Tiles that nobody sees are not read, and bugs in the list's kernel are seen. TAP on stdout.
#   usage: tests/emu/turns_listed.sh [PROGRAM], from the top of the tree. Needs NVRTC and a C compiler, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_listed_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - turns by a list on the emulator # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac
cp -r specs "$work/specs"

# Documents by row: `of` is also what the reference asks. sees: of a query's document and a key's.
cat >"$work/specs/orders.lua" <<'LUA'
local by_hand = require "reference/attention"
local B, H, R, S = dims "B H R S"
local function same(a, b) return a == b end
local function forward(name, dtype, of, own)
  own = own or {}
  local sees = own.sees or same
  kernel(name) {
    family = "attention",
    Q = tensor { B, R, H, 64, dtype = "bf16", axes = "b q h d" },
    K = tensor { B, S, H, 64, dtype = "bf16", axes = "b kv g d" },
    V = tensor { B, S, H, 64, dtype = "bf16", axes = "b kv g e" },
    O = tensor { B, R, H, 64, dtype = "bf16", axes = "b q h e" },
    LSE = tensor { B, H, R, dtype = "fp32", axes = "b h q" },
    document = tensor { B, S, dtype = dtype, axes = "b kv", fill = of },
    mask_mod = own.mask or function(_, t, i) return eq(t.document[i.b][i.q], t.document[i.b][i.kv]) end,
    ahead = own.plain and {} or { s = { turns = 1, before = "o" } },
    tile = { kv = 64 },
    arch = { sm_90a = {}, sm_80 = { tile = { q = 64 }, pipeline = { stages = 2, warps_m = 4 } } },
    reference = by_hand { d = 64, visible = function(q, kv, at)
      local row = at.t.document[at.b]
      return sees(row[q], row[kv], q, kv)
    end },
    run = own.run or { { B = 2, H = 1, R = 700, S = 700 }, { B = 1, H = 2, R = 3, S = 300 } },
  }
end
forward("rising", "int32", function(b, s) return (s + 31 * b) // 150 end)
forward("falling", "int16", function(_, s) return -(s // 90) - 100 end)
forward("negative", "int8", function(_, s) return s // 130 - 3 end)
forward("mixed", "int32", function(_, s) return s % 3 end)
forward("again", "int32", function(_, s) return s // 100 % 3 == 1 and 5 or s // 300 end)
forward("scattered", "int32", function(b, s) return (s * 7919 + b) // 97 % 5 end)
forward("alone", "int32", function(_, s) return s * 2 end)
forward("one", "int32", function() return 7 end)
forward("holes", "int32", function(_, s) return (s // 64) % 2 == 0 and 1 or 9 + s // 64 end)
forward("parted", "int32", function(_, s) return s < 256 and 1 or s < 300 and 2 or s < 640 and 1 or 3 end)
-- Numbers that are none of fp32, read a turn ahead.
forward("unlooked", "int32", function(_, s) return (1 << 24) + s // 150 end, { plain = true })
-- Rows of the first documents see nothing.
forward("before", "int32", function(_, s) return s // 200 end, {
  mask = function(_, t, i) return gt(t.document[i.b][i.q], t.document[i.b][i.kv]) end,
  sees = function(a, b) return a > b end,
})
forward("others", "int32", function(_, s) return s // 200 end, {
  mask = function(_, t, i) return ne(t.document[i.b][i.q], t.document[i.b][i.kv]) end,
  sees = function(a, b) return a ~= b end,
})
forward("either", "int32", function(_, s) return s // 200 end, {
  mask = function(_, t, i)
    return lt(i.kv, 10) | (le(i.kv, i.q) & eq(t.document[i.b][i.q], t.document[i.b][i.kv]))
  end,
  sees = function(a, b, q, kv) return kv < 10 or (kv <= q and a == b) end,
})
forward("near", "int32", function(_, s) return s // 20 end, {
  mask = function(_, t, i) return ~gt(abs(t.document[i.b][i.q] - t.document[i.b][i.kv]), 4) end,
  sees = function(a, b) return math.abs(a - b) <= 4 end,
})
forward("sums", "int32", function(_, s) return s // 64 end, {
  mask = function(_, t, i)
    return le(2 * t.document[i.b][i.kv] - 3, t.document[i.b][i.q] // 2 + max(t.document[i.b][i.kv], 1))
  end,
  sees = function(a, b) return 2 * b - 3 <= a // 2 + math.max(b, 1) end,
})
LUA
"$program" run "$work/specs/orders.lua" --device emu --complete all --hazards strict >"$work/out" 2>&1
ok $? "documents in every order" "$work/out"
"$program" run "$work/specs/orders.lua" --device emu --arch sm_80 --inputs $inputs --complete random \
    --hazards fatal >"$work/out" 2>&1
ok $? "documents in every order on sm_80" "$work/out"

# Tiles are read that somebody sees, and no others: of 64 queries in one document of 64 keys one of 11; all where
# documents are mixed. A copy for Q, and two a tile.
for line in "rising 1,64 7" "mixed 1,64 23" "alone 1,3 3" "alone 1,64 3" "before 1,64 1" "others 1,64 17"; do
    set -- $line
    "$program" show timeline "$work/specs/orders.lua" --kernel $1 --arch sm_90a --set B=1,H=${2%,*},R=${2#*,},S=700 \
        --json "$work/timeline.json" >"$work/out" 2>&1
    copies=$(grep -o '"issues a copy into a stage"' "$work/timeline.json" | wc -l)
    echo "$1 with ${2#*,} queries: $copies copies, and should be $3" >>"$work/out"
    [ "$copies" -eq "$3" ]
    ok $? "what $1 copies for ${2#*,} queries" "$work/out"
done

"$program" gen "$work/specs/orders.lua" -o "$work/gen" >"$work/out" 2>&1 || cat "$work/out"
# Runs the kernel with `edit` made in its text of that architecture.
edited() { # kernel arch edit
    sed "$3" "$work/gen/$1.$2.cu" >"$work/$1.$2.cu"
    ! cmp -s "$work/gen/$1.$2.cu" "$work/$1.$2.cu" || return 9
    "$program" run "$work/specs/orders.lua" --kernel "$1" --device emu --arch "$2" --source "$work/$1.$2.cu"
}
for arch in sm_90a sm_80; do
    while IFS='|' read -r kernel edit what; do
        edited "$kernel" $arch "$edit" >"$work/out" 2>&1
        [ $? -eq 1 ]
        ok $? "seen on $arch: $what" "$work/out"
    done <<'BUGS'
rising|s/const bool some = turn < \([a-z0-9]*\) && .*;/const bool some = false;/|the list is empty
rising|s/record\[4 + before/record[5 + before/|numbers of turns lie one too far
rising|s/record\[0\] = count/record[0] = count - 1/|the last turn is not counted
rising|s/inside .= (u32)(some && /inside += (u32)(some \&\& !/|turns that need masks have none, and the others have them
rising|s/record\[1\] = until - longest/record[1] = 0/|turns before the run have no masks
rising|s/record\[2\] = until/record[2] = count/|turns behind the run have no masks
parted|s/(0u - left) ? run + 1 : 0/(0u - left) ? run + 1 : run/|a run goes on behind a turn that needs masks
rising|s/= __reduce_min_sync(/= __reduce_max_sync(/|of the lanes' least elements the largest counts
rising|s/row < 64; row += 32/row < 32; row += 32/|the second half of a tile's keys is not looked at
BUGS
done
echo "1..$count"
[ "$failed" -eq 0 ]
