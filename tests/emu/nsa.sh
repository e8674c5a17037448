#!/bin/sh
# Native sparse attention (specs/nsa.lua, nsa_branches.lua, nsa_kv.lua, nsa_bwd.lua) on the emulator, hazards strict and
# fatal: each kernel compared with double precision and with its reference by hand; sizes leave nothing out. What is
# changed in the lists' meaning, or in a text, is seen. TAP on stdout.
#   usage: tests/emu/nsa.sh [PROGRAM], from the top of the tree. Needs NVRTC and a C compiler, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_nsa_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - native sparse attention on the emulator # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac

# Of a block of 16 keys the rows behind it are left out of a store by eights, and never one by one; a turn of nsa_kv has
# a row to store.
one="[^']*'tma_store_5d(&args.d[KV]_map_1,[^']*' not executed"
# A block of mma.sync takes one item, whose queries come once.
once="sizes leave ring q unwrapped (1 of 1 stages filled) \["
# A query that sees one block has one turn.
turn="sizes leave ring k unwrapped (1 of 2 stages filled), ring v unwrapped (1 of 2 stages filled) \["
left="$once\|nsa_fwd_d32_b32[_a-z]* .*$turn\|sizes leave$one,$one \["
left="$left\|sizes leave nsa_kv[^']*'if (w[0-9_]* > 0) {' going one way only \["
while read -r spec mode; do
    "$program" run "specs/$spec.lua" --device emu --complete "$mode" --hazards strict >"$work/out" 2>&1 &&
        ! grep -v "$left" "$work/out" | grep -q '\[RUN-COVERAGE\]\|^hazard'
    ok $? "specs/$spec.lua, completion $mode" "$work/out"
done <<'END'
nsa late
nsa_branches random
nsa_kv random
nsa_bwd random
END
for kernel in nsa_fwd_b16 nsa_fwd_union_b16; do
    "$program" run specs/nsa.lua --kernel "$kernel" --device emu --complete all --hazards strict \
        >>"$work/out" 2>&1 ||
        echo 'not verified' >>"$work/out"
done
! grep -q 'not verified\|^hazard\|^FAILED' "$work/out"
ok $? "lists and unions, in every completion" "$work/out"

# What the family chooses where a kernel says nothing, and that what is said stands before it. A tile has the rows of
# the instruction that multiplies it.
cat >"$work/chosen.lua" <<'END'
local B, T, G, S = dims "B T G S"
local function one(name, fields, q, d, h)
  local room = tensor { B, (T + q - 1) // q, G, S, dtype = "int32" }
  local kernel_of = {
    family = "nsa", arch = { sm_90a = {} }, tile = { q = q }, blocks = room, times = q > 1 and room or nil,
    Q = tensor { B, T, G, h, d, dtype = "bf16" }, O = tensor { B, T, G, h, d, dtype = "bf16" },
    K = tensor { B, T, G, d, dtype = "bf16" }, V = tensor { B, T, G, d, dtype = "bf16" },
    run = { { B = 1, T = 19, G = 1, S = 3 } },
  }
  for field, value in pairs(fields) do kernel_of[field] = value end
  kernel(name)(kernel_of)
end
one("one", {}, 1, 128, 16)
one("pairs_of", {}, 2, 128, 16)
one("fours", {}, 4, 128, 16)
one("four_heads", {}, 1, 128, 4)
one("long_heads", {}, 1, 256, 16)
one("by_wgmma", { pipeline = { instruction = "wgmma" } }, 1, 128, 16)
one("of_consumers", { pipeline = { consumers = 1 } }, 1, 128, 16)
one("of_items", { pipeline = { mode = "items" } }, 1, 128, 16)
one("three", { pipeline = { stages = 3 } }, 1, 128, 16)
one("two_blocks", { schedule = { blocks = 2 } }, 1, 128, 16)
one("of_arch", { arch = { sm_90a = { schedule = { blocks = 5 } } } }, 1, 128, 16)
one("own_ahead", { ahead = { s = { turns = 1, before = "o" } } }, 4, 128, 16)
one("odd", { K = tensor { B, T, G, 128, dtype = "bf16", stride = { T * G * 131, G * 131, 131, 1 } } }, 1, 128, 16)
one("tuned", { tune = { pipeline = { instruction = { "wgmma", "mma.sync" } } } }, 1, 128, 16)
one("tuned_q", { tune = { tile = { q = { 1, 4 } } } }, 4, 128, 16)
END
# Of a kernel's first variant: rows, instruction, stages, blocks, what is ahead; - where none is reasoned about.
while read -r kernel want; do
    "$program" plan "$work/chosen.lua" --kernel "$kernel" --arch sm_90a --why >"$work/out" 2>"$work/err"
    got=$(awk '$1 == "why" { n++ } n == 1 && NF > 2 { value[$1] = $2 } END {
        split("tile.m pipeline.instruction pipeline.stages schedule.blocks ahead.s", name, " ")
        for (i = 1; i <= 5; i++) printf "%s%s", (i > 1 ? " " : ""), ((name[i] in value) ? value[name[i]] : "-")
    }' "$work/out")
    [ "$got" = "$want" ]
    ok $? "chosen of $kernel: $want" "$work/out"
done <<'END'
one 16 mma.sync 1 6 -
pairs_of 32 mma.sync 1 4 -
fours 64 wgmma 3 2 1
four_heads 16 mma.sync 1 6 -
long_heads 64 - 3 - -
by_wgmma 64 - 3 2 1
of_consumers 64 wgmma 3 2 1
of_items 64 - 6 - -
three 16 mma.sync 3 2 -
two_blocks 16 mma.sync 1 2 -
of_arch 16 mma.sync 1 5 -
own_ahead 64 wgmma 3 2 -
odd 16 mma.sync 2 3 -
tuned 64 - 6 - -
tuned_q 64 wgmma 3 2 1
END
"$program" check "$work/chosen.lua" >"$work/out" 2>&1
ok $? "what is chosen can be planned, and so can what tune lists beside it" "$work/out"
"$program" run "$work/chosen.lua" --arch sm_90a --device emu --complete late --hazards strict >"$work/out" 2>&1 &&
    ! grep -q '^hazard' "$work/out"
ok $? "what is chosen computes what the program means" "$work/out"
"$program" plan specs/nsa.lua --kernel nsa_fwd --arch sm_90a --why >"$work/out" 2>&1
grep -q 'schedule.blocks  *6  *registers of 12 warps' "$work/out" &&
    grep -q 'pipeline.stages  *2  *threads copy into one stage' "$work/out" &&
    grep -q 'schedule.blocks  *3  *as many as shared memory holds' "$work/out"
ok $? "reasons of what is chosen" "$work/out"

# wrong FILE KERNEL SED [SPEC]: the file of specs/, changed so, gives results that the reference by hand does not.
cp -r specs "$work/specs"
wrong() {
    sed "$3" "specs/$1.lua" >"$work/specs/$1.lua"
    ! cmp -s "specs/$1.lua" "$work/specs/$1.lua" &&
        ! "$program" run "$work/specs/${4:-nsa}.lua" --kernel "$2" --device emu --complete random >"$work/out" 2>&1 &&
        grep -q "reference" "$work/out"
    ok $? "$1, $2: seen where '$3'" "$work/out"
    cp "specs/$1.lua" "$work/specs/$1.lua"
}
wrong nsa nsa_fwd_b16 's/= t.blocks\[b\]\[q\]\[g\]\[s\] end/= math.max(t.blocks[b][q][g][s], 0) end/'
wrong reference/nsa nsa_fwd_b16 's/own.block - 1, token)/own.block - 1, n.T - 1)/'
wrong reference/nsa nsa_fwd_b16 's/own.block - 1, token)/own.block - 2, token)/'
wrong nsa nsa_fwd_b16 's/if own.counts then count = .*/if false then end/'
wrong nsa nsa_fwd_b16 's/= \(t.blocks\[b\]\[q\]\[g\]\[s\]\) end/= \1 ~= list[s] and \1 or -1 end/'
wrong nsa nsa_fwd_union_b16 's/= \(entry(b, q, g, s, n)\) end/= \1 ~= list[s] and \1 or -1 end/'
wrong nsa nsa_fwd_varlen_b16 's/return t.sequence\[b\]\[q\] < 0 and 0/return true and 0/'
wrong nsa nsa_fwd_varlen_b16 's/ + t.starts_kv\[b\]\[i + 1\] - t.starts_kv\[b\]\[i\]$/ + t.starts_kv[b][i + 1]/'
wrong reference/nsa_lists nsa_union_2 's/x <= q \/\/ block then/x < q \/\/ block then/'
wrong reference/nsa_lists nsa_union_2 's/or 0) + (1 << 7 \* i)/or 0) | (1 << 7 * i)/'
wrong reference/nsa_lists nsa_union_2 's/    table.sort(found)//'
wrong nsa_branches nsa_compressed 's/return kv \* BLOCK + BLOCK - 1 <= q/return kv * BLOCK <= q/' nsa_branches
wrong nsa_branches nsa_window 's/and kv > q + at.t.past\[at.b\] - 512/and kv > q + at.t.past[at.b] - 511/' nsa_branches
wrong nsa_branches nsa_scores 's/(c + 1) \* BLOCK <= q + 1 and N/c * BLOCK <= q + 1 and N/' nsa_branches
wrong nsa_branches nsa_top_long 's/c == 0 or c >= last - 1/c == 0 or c == last/' nsa_branches
wrong nsa_branches nsa_top 's/math.min(last, n.C - 1) do/n.C - 1 do/' nsa_branches
wrong reference/nsa nsa_mixed_b16 's/t.window_gate\[b\]\[q\]\[g\]\[h\]/t.gate[b][q][g][h]/' nsa_branches
wrong nsa_branches nsa_decode_b16 's/return t.lengths\[b\] - n.R + q end/return t.lengths[b] - 1 end/' nsa_branches
wrong reference/nsa_bwd nsa_bwd_dq_b16 's/block + own.block - 1, q)/block + own.block - 1, n.T - 1)/' nsa_bwd
wrong reference/nsa_bwd nsa_bwd_dkdv_b16 's/block + own.block - 1, q)/block + own.block - 1, q - 1)/' nsa_bwd
wrong reference/nsa_lists nsa_bwd_dkdv_b16 's/ = listed\[at\[x\]\] + 1$/ = q << 7 | 1/' nsa_bwd
wrong reference/nsa_lists nsa_queries_b16 's/ = listed\[at\[x\]\] + 1$/ = q << 7 | 1/' nsa_kv
wrong reference/nsa_lists nsa_queries_b16 's/x <= q \/\/ block then to/x <= #at then to/' nsa_kv
wrong reference/nsa_lists nsa_places_b16 's/if x then at\[x\] = at\[x\] + 1 end/if x then at[x] = at[x] + 2 end/' nsa_kv
wrong nsa_bwd nsa_window_dkdv 's/and kv > q + n.S - n.R - WINDOW/and kv >= q + n.S - n.R - WINDOW/' nsa_bwd
# The text, changed: a query takes its neighbour's weights; a list is taken for one of its neighbours.
"$program" gen specs/nsa.lua --kernel nsa_fwd_union_b16 --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
text=$work/gen/nsa_fwd_union_b16.sm_90a.cu
for bug in 's/= ew_floor_mod(\(e[0-9]*\), 128);/= ew_floor_mod(\1, 2);/' 's/at_q \/ 2;/at_q \/ 4;/'; do
    sed "$bug" "$text" >"$work/broken.cu"
    ! cmp -s "$text" "$work/broken.cu" && ! "$program" run specs/nsa.lua --kernel nsa_fwd_union_b16 --device emu \
        --source "$work/broken.cu" >"$work/out" 2>&1 && grep -q '^FAILED' "$work/out"
    ok $? "nsa_fwd_union_b16: seen where '$bug'" "$work/out"
done
# By mma.sync on sm_90a, from rings of one stage that a warp fills: each statement that orders, taken out, is seen.
"$program" gen specs/nsa.lua --kernel nsa_fwd --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
text=$work/gen/nsa_fwd.sm_90a.cu
for part in k_wait_empty k_wait_full k_read k_release v_wait_empty v_wait_full v_read v_release block; do
    case $part in
    block) sed '/^    __syncthreads();$/d' "$text" ;;
    *_release) sed "/ void $part(/,/^}/s/barrier_arrive(.*/;/" "$text" ;; # all of an if
    *) sed "/ void $part(/,/^}/{/barrier_wait\|__syncwarp/d;}" "$text" ;;
    esac >"$work/broken.cu"
    ! cmp -s "$text" "$work/broken.cu" && ! "$program" run specs/nsa.lua --kernel nsa_fwd --device emu --complete late \
        --set B=1,T=70,G=1,S=3 --source "$work/broken.cu" >"$work/out" 2>&1 && grep -q '^FAILED.*hazards' "$work/out"
    ok $? "nsa_fwd by mma.sync: seen where $part waits for nothing" "$work/out"
done
"$program" run tests/programs/family_of_tiles.lua --device emu --hazards strict >"$work/out" 2>&1 &&
    grep -q '^verified 16 cases of 4 kernels' "$work/out" && ! grep -q '^hazard' "$work/out"
ok $? "what the family chooses goes together for tiles of an architecture and for stages that are said" "$work/out"
# Where a block is one warp that copies its own keys: the lanes do not meet, or not wait for what they copied.
"$program" gen specs/nsa.lua --kernel nsa_fwd_d32_b32 --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
text=$work/gen/nsa_fwd_d32_b32.sm_90a.cu
for bug in '/^    __syncwarp();$/d' 's/cp.async.wait_group 1/cp.async.wait_group 2/'; do
    sed "$bug" "$text" >"$work/broken.cu"
    ! cmp -s "$text" "$work/broken.cu" && ! "$program" run specs/nsa.lua --kernel nsa_fwd_d32_b32 --device emu \
        --complete late --source "$work/broken.cu" >"$work/out" 2>&1 && grep -q '^FAILED.*hazards' "$work/out"
    ok $? "nsa_fwd_d32_b32: seen where '$bug'" "$work/out"
done
# A row is taken for one of its neighbour's sequence. What stands behind a list counts; what a query names twice is
# summed up once; a key that is the query's own is not seen; a list is another query's; what a block weighs is not told;
# what it gives is taken twice, or from another place; lists are written a place on; a turn takes what the one before it
# does.
"$program" gen specs/nsa.lua --kernel nsa_fwd_varlen_b16 --arch sm_90a -o "$work/gen" >"$work/out" 2>&1
for spec in nsa_kv nsa_bwd; do "$program" gen specs/$spec.lua --arch sm_90a -o "$work/gen" >"$work/out" 2>&1; done
while IFS='|' read -r kernel bug; do
    text=$work/gen/$kernel.sm_90a.cu
    case $kernel in nsa_bwd*) spec=nsa_bwd ;; nsa_fwd*) spec=nsa ;; *) spec=nsa_kv ;; esac
    sed "$bug" "$text" >"$work/broken.cu"
    ! cmp -s "$text" "$work/broken.cu" && ! "$program" run specs/$spec.lua --kernel "$kernel" --device emu \
        --source "$work/broken.cu" >"$work/out" 2>&1 && grep -q '^FAILED' "$work/out"
    ok $? "$kernel: seen where '$bug'" "$work/out"
done <<'END'
nsa_fwd_varlen_b16|s/sequence_at(args, at_b, at_q)/sequence_at(args, at_b, at_q - 1)/
nsa_bwd_dkdv_b16|s/ = min(e[0-9]*, 0ll);/ = 0;/
nsa_bwd_dkdv_b16|s/ew_log2((float)e[0-9]*)/0.0f/
nsa_bwd_dkdv_b16|s/(float)row <= __shfl/(float)row < __shfl/
nsa_bwd_dq_b16|s/= at_q \/ 16;/= at_q \/ 32;/
nsa_kv_b16|s/ew_log2(e[0-9]*)/0.0f/
nsa_combine_b16|s/= sum_2 == 0;/= true;/
nsa_combine_b16|s/sum = fold_sum(sum, __shfl/sum = fold_sum(0, __shfl/
nsa_queries_b16|s/ + k1;$/ + k1 + 1;/
nsa_places_b16|s/= fold_sum(sum_4, /= fold_sum(0, /
END
echo "1..$count"
[ "$failed" -eq 0 ]
