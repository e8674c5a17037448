#!/bin/sh
# The further specs of attention on the emulator: head sizes and layouts, masks and scores, sequences of their own
# lengths. In the three modes of completion, which alternate, hazards strict and fatal, each compared with double
# precision and with its reference by hand; their sizes leave nothing out. On sm_80 with one kind of inputs. And what is
# changed in them is seen. FULL=1: every case in every completion, and both kinds. TAP on stdout.
#   usage: tests/emu/attention_specs.sh [PROGRAM], from the top of the tree. Needs NVRTC and a C compiler, no GPU.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_attention_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh

if ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - specs of attention on the emulator # SKIP there is no NVRTC"
    exit 0
fi
case $program in /*) ;; *) program=$PWD/$program ;; esac

# Documents of head size 128 are those of 64, which leave nothing out.
apart='note: attention_bwd_d[dkvq]*_documents sm_90a:'
for spec in specs/attention_*.lua; do
    case $spec in *.tuned.lua | *decode_mods.lua) continue ;; esac # the latter: tests/emu/decode.sh
    "$program" run "$spec" --device emu --complete "$completions" --hazards strict >"$work/out" 2>&1 &&
        ! grep -v "$apart" "$work/out" | grep -q '\[RUN-COVERAGE\]\|^hazard'
    ok $? "$spec, completion $completions" "$work/out"
    grep -q sm_80 "$spec" || continue
    "$program" run "$spec" --device emu --arch sm_80 --inputs $inputs --complete random --hazards fatal \
        >"$work/out" 2>&1
    ok $? "$spec on sm_80" "$work/out"
done

# Scores of some ten thousand, of which one key takes nearly all; keys, values and whole rows that are infinite. The
# values are those of the reference by hand, NaN where it is NaN.
cp -r specs "$work/specs"
cat >"$work/specs/values.lua" <<'LUA'
local by_hand = require "reference/attention"
local B, H, R, S = dims "B H R S"
local inf = math.huge
local function first(d, x) return d == 0 and x or 0 end
local function forward(name, q, k, v, slope)
  kernel(name) {
    family = "attention",
    Q = tensor { B, R, H, 64, dtype = "bf16", axes = "b q h d", fill = q },
    K = tensor { B, S, H, 64, dtype = "bf16", axes = "b kv g d", fill = k },
    V = tensor { B, S, H, 64, dtype = "bf16", axes = "b kv g e", fill = v },
    O = tensor { B, R, H, 64, dtype = "bf16", axes = "b q h e" },
    LSE = tensor { B, H, R, dtype = "fp32", axes = "b h q" },
    ahead = { s = { turns = 1, before = "o" } },
    arch = { sm_90a = {} },
    slope = slope and tensor { H, dtype = "fp32", fill = slope } or nil,
    score_mod = slope and function(x, t, i) return x + t.slope[i.h] * (i.kv - i.q - 400) end or nil,
    reference = by_hand { d = 64, score = slope and function(x, q, kv, at)
      return x + at.t.slope[at.h] * (kv - q - 400)
    end or nil },
    run = { { B = 1, H = 1, R = 3, S = 300 } },
  }
end
local function one(_, _, _, d) return first(d, 1) end
local function steps(_, s, _, d) return first(d, s * 37 % 101 * 5) end
forward("large", function(_, _, _, d) return first(d, 300) end, steps)
forward("key_minus_inf", one, function(_, s, _, d) return first(d, s % 3 == 0 and -inf or s % 7) end)
forward("all_minus_inf", one, function(_, _, _, d) return first(d, -inf) end)
forward("key_inf", one, function(_, s, _, d) return first(d, s == 9 and inf or s % 7) end)
forward("value_inf", nil, nil, function(_, s, _, d) return s == 5 and d == 3 and inf or s % 5 end)
forward("slope_inf", nil, nil, nil, function() return inf end)
LUA
"$program" run "$work/specs/values.lua" --device emu --complete random --inputs normal --hazards strict --verbose \
    >"$work/out" 2>&1 && grep -q '^verified 6 cases of 6 kernels' "$work/out" &&
    ! grep -q 'large.*nothing is shown' "$work/out"
ok $? "large and infinite values" "$work/out"

# Results that become operands of fp8: exact. What lanes exchange is seen where any of it goes astray.
for arch in sm_90a sm_89; do
    "$program" run tests/programs/pipeline_bytes.lua --device emu --arch $arch --complete all --hazards strict \
        >"$work/out" 2>&1 && grep -q 'fp8_e5m2_96.*integers equal' "$work/out"
    ok $? "operands of fp8 on $arch, equal" "$work/out"
done
cases=0
for kernel in fp8 fp8_d64 fp8_d256 fp8_causal fp8_d64_causal fp8_d256_causal; do
    kernel=attention_fwd_$kernel
    "$program" run specs/attention_heads.lua --kernel "$kernel" --device emu --arch sm_89 --complete random \
        --hazards fatal >"$work/out" 2>&1 && grep -q '^verified .* of 1 kernel on emulator of sm_89' "$work/out"
    ok $? "$kernel on sm_89" "$work/out"
    cases=$((cases + $(sed -n 's/^verified \([0-9]*\) cases of 1 kernel.*/\1/p' "$work/out")))
done
[ $cases -eq 54 ]
ok $? "attention of fp8 on sm_89: 54 cases"
"$program" gen tests/programs/pipeline_bytes.lua -o "$work/bytes" --arch sm_90a >"$work/out" 2>&1
text=$work/bytes/bytes_fp8_e4m3_32.sm_90a.cu
for bug in 's/0x1054/0x5410/' 's/from + upper/from/' 's/odd ? 0x7632/odd ? 0x5410/' 's/odd ? 0x5410/odd ? 0x7632/' \
    's/pair == 3/false/' 's/pair % 2 ?/pair % 2 == 0 ?/' 's/from + 1 - upper/from + 1/' 's/0x3276/0x7632/' \
    's/"f"(second), "f"(first)/"f"(first), "f"(second)/'; do
    sed "$bug" "$text" >"$work/broken.cu"
    ! cmp -s "$text" "$work/broken.cu" &&
        ! "$program" run tests/programs/pipeline_bytes.lua --kernel bytes_fp8_e4m3_32 --device emu --arch sm_90a \
            --source "$work/broken.cu" >"$work/out" 2>&1 && grep -q '^FAILED' "$work/out"
    ok $? "operands of fp8: seen where '$bug'" "$work/out"
done

# Turns with and without masks are one loop, with a branch around the masks; a turn too few with them is seen.
kernel=attention_fwd_fp8_d256_causal
"$program" gen specs/attention_heads.lua --kernel $kernel -o "$work/bytes" --arch sm_90a >"$work/out" 2>&1
sed 's/= at_kv - \(w[0-9_]*\);/= at_kv - 96 - \1;/' "$work/bytes/$kernel.sm_90a.cu" >"$work/broken.cu"
! cmp -s "$work/bytes/$kernel.sm_90a.cu" "$work/broken.cu" &&
    ! "$program" run specs/attention_heads.lua --kernel $kernel --device emu --arch sm_90a --source "$work/broken.cu" \
        >"$work/out" 2>&1 && grep -q '^FAILED' "$work/out"
ok $? "one body of turns: seen where one is without its masks" "$work/out"

# Constant factors of an element are one, and the scale of scores joins their exponential where what is added to them
# goes by the row.
for kernel in alibi softcap window documents; do
    "$program" gen specs/attention_mods.lua --kernel attention_fwd_$kernel -o "$work/mods" --arch sm_90a >"$work/out" 2>&1
done
grep -q '= e0 \* 11\.313708f;' "$work/mods/attention_fwd_alibi.sm_90a.cu" &&
    ! grep -q '\* 0\.088388346f' "$work/mods/attention_fwd_alibi.sm_90a.cu"
ok $? "ALiBi: the scale moves out of the sum" "$work/out"
grep -q '\* 0\.0017677669f' "$work/mods/attention_fwd_softcap.sm_90a.cu" &&
    ! grep -q '\* 0\.02f\|\* 5e+01f' "$work/mods/attention_fwd_softcap.sm_90a.cu"
ok $? "soft cap: one factor in front of tanh, one behind it" "$work/out"

# A slope is read once an item, and not in each turn; two rows of a thread have distances in common. A score that stays
# near to 0 has no maximum. Each, changed, is seen.
[ "$(grep -c '= slope_at(args' "$work/mods/attention_fwd_alibi.sm_90a.cu")" = 1 ]
ok $? "ALiBi: a slope is read once" "$work/out"
! grep -q row_max "$work/mods/attention_fwd_softcap.sm_90a.cu" &&
    grep -q row_max "$work/mods/attention_fwd_alibi.sm_90a.cu"
ok $? "soft cap: nothing looks for the largest" "$work/out"
# Of another function the key decides: what is near to 0 at one key need not be at the next, and no element is asked for
# that is not there.
for mod in 'tanh_approx(s) + 0.5 * i.kv' 'select(lt(i.kv, 4), 50 * tanh_approx(s / 50), s)'; do
    sed "s|function(s) return 50 \* tanh_approx(s / 50)|function(s, t, i) return $mod|" specs/attention_mods.lua \
        >"$work/specs/attention_mods.lua"
    ! cmp -s specs/attention_mods.lua "$work/specs/attention_mods.lua" &&
        "$program" gen "$work/specs/attention_mods.lua" --kernel attention_fwd_softcap -o "$work/grows" --arch sm_90a \
            >"$work/out" 2>&1 && grep -q row_max "$work/grows/attention_fwd_softcap.sm_90a.cu"
    ok $? "scores that go by their key have a maximum: $mod" "$work/out"
done
cp specs/attention_mods.lua "$work/specs/"
text=$work/mods/attention_fwd_alibi.sm_90a.cu
sed 's/= row - (half \* 8);/= row;/' "$text" >"$work/broken.cu"
! cmp -s "$text" "$work/broken.cu" && ! "$program" run specs/attention_mods.lua --kernel attention_fwd_alibi \
    --device emu --source "$work/broken.cu" >"$work/out" 2>&1 && grep -q '^FAILED' "$work/out"
ok $? "ALiBi: seen where a second row's distance counts from the row itself" "$work/out"
# One body serves turns with and without the masks of the first keys: around these stands a condition.
text=$work/mods/attention_fwd_window.sm_90a.cu
for least in 128 100000; do
    awk -v least=$least '/mma_wait_1\(\);/ { inside = 1 }
        inside && / > 0\) \{/ { sub(/> 0\)/, "> " least ")"); inside = 0 } { print }' "$text" >"$work/broken.cu"
    ! cmp -s "$text" "$work/broken.cu" && ! "$program" run specs/attention_mods.lua --kernel attention_fwd_window \
        --device emu --source "$work/broken.cu" >"$work/out" 2>&1 && grep -q '^FAILED' "$work/out"
    ok $? "window: seen where masks of the first keys begin $least keys late" "$work/out"
done
# Integers along a line: of another sequence, and none of the last.
text=$work/mods/attention_fwd_documents.sm_90a.cu
for break in 's/document_line_begin(args, at_b)/document_line_begin(args, at_b - 1)/' 's/(u32)args.S : 0/(u32)args.S - 1 : 0/'; do
    sed "$break" "$text" >"$work/broken.cu"
    ! cmp -s "$text" "$work/broken.cu" && ! "$program" run specs/attention_mods.lua --kernel attention_fwd_documents \
        --device emu --source "$work/broken.cu" >"$work/out" 2>&1 && grep -q '^FAILED' "$work/out"
    ok $? "documents: seen where '$break'" "$work/out"
done
sed 's/exp2_diff(s, 0)/exp2_diff(s, 1)/' specs/lib/attention.lua >"$work/specs/lib/attention.lua"
! cmp -s specs/lib/attention.lua "$work/specs/lib/attention.lua" &&
    ! "$program" run "$work/specs/attention_mods.lua" --kernel attention_fwd_softcap --device emu --inputs normal \
        >"$work/out" 2>&1 && grep -q "reference" "$work/out"
ok $? "soft cap: seen where weights are half of what they are" "$work/out"
cp specs/lib/attention.lua "$work/specs/lib/attention.lua"

# wrong SPEC KERNEL SED WORD...: the spec, changed so, gives results that the reference by hand does not. Both say what
# is meant, which one kind of inputs tells, and no hazard does.
wrong() {
    sed "$3" "specs/$1.lua" >"$work/specs/$1.lua"
    ! cmp -s "specs/$1.lua" "$work/specs/$1.lua" &&
        ! "$program" run "$work/specs/$1.lua" --kernel "$2" --device emu --complete random --inputs normal \
            --rows padded --hazards off >"$work/out" 2>&1 && grep -q "reference" "$work/out"
    ok $? "$1, $2: seen where '$3'" "$work/out"
}
# turns KERNEL SIZES COUNT...: what the producer of one block loads of K, place by place: so many turns there are, those
# that need all masks first.
turns() {
    kernel=$1 sizes=$2 spec=specs/attention_mods.lua
    case $kernel in *varlen*) spec=specs/attention_varlen.lua ;; esac
    shift 2
    "$program" profile "$spec" --kernel "$kernel" --device emu --set "$sizes" >"$work/out" 2>&1 &&
        [ "$(awk '$2 == "K_load" { print $4 }' "$work/out" | tr '\n' ' ')" = "$* " ]
    ok $? "$kernel at $sizes: turns $*" "$work/out"
}
# Of eight items of 128 queries each sees five tiles of 128 keys at most, 30 in all.
turns attention_fwd_window B=1,H=1,R=900,S=900 8 22
turns attention_fwd_prefix B=1,H=1,R=600,S=600 5 11
# An item behind its sequence's rows loads nothing: two of 16 have any, and keys of one tile.
turns attention_fwd_varlen B=2,H=1,R=900,T=230,U=20 2
wrong attention_heads attention_fwd_d64 's/e = e }/e = e, visible = function(_, kv) return kv < 200 end }/'
wrong attention_heads attention_fwd_fp8_causal 's/return kv <= q end/return kv < q end/'
wrong attention_mods attention_fwd_window_end 's/kv > last - 600/kv > last - 400/'
wrong attention_mods attention_fwd_causal_end 's/return kv <= q + at.n.S - at.n.R end/return kv <= q end/'
wrong attention_mods attention_fwd_prefix 's/return kv < 150 or kv <= q end/return kv < 100 or kv <= q end/'
wrong attention_mods attention_fwd_alibi 's/at.t.slope\[at.h\] \* (kv - q)/at.t.slope[at.h] * (kv - q - kv % 2)/'
wrong attention_mods attention_fwd_softcap 's/50 \* tanh(x \/ 50)/2 * tanh(x \/ 2)/'
wrong attention_mods attention_fwd_bias 's/bias\[at.h\]\[q\]\[kv\]/bias[at.h][q][kv \/\/ 2]/'
wrong attention_mods attention_fwd_relative 's/math.min(kv - q, 64)/math.min(kv - q, 32)/'
wrong attention_mods attention_fwd_documents 's/return kv <= q and at.t.document.*/return kv <= q/'
wrong attention_mods attention_fwd_documents_all 's/  return at.t.document\[at.b\]\[q\] ==/  return at.t.document[at.b][0] ==/'
wrong attention_mods attention_fwd_sink 's/return at.t.sink\[at.h\]/return 0/'
wrong attention_latent attention_fwd_d576_512 's/e = E, one/e = E, visible = function(_, kv) return kv < 20 end, one/'
wrong attention_latent attention_fwd_d576_512_causal_end 's/return kv <= q + at.n.S - at.n.R end/return kv <= q end/'
wrong attention_varlen attention_fwd_varlen 's/function() return true end/function(_, kv) return kv < 12 end/'
wrong attention_varlen attention_fwd_varlen_causal 's/return kv - keys <= q - rows/return kv <= q/'
wrong attention_bwd attention_bwd_dkdv_d64_documents 's/return kv <= q and q .*/return kv <= q end,/'
wrong attention_bwd attention_bwd_dq_d64_documents 's/return kv <= q and q .*/return kv <= q end,/'
wrong attention_bwd attention_bwd_dkdv_documents 's/return kv <= q and q .*/return kv <= q end,/'
wrong attention_bwd attention_bwd_dkdv_causal 's/return kv <= q end/return kv < q end/'
wrong attention_bwd attention_bwd_dq_causal 's/return kv <= q end/return kv < q end/'
wrong attention_bwd attention_bwd_dkdv_grouped 's/  shared = 4,/  shared = 4, visible = function(q) return q < 3 end,/'
wrong attention_bwd attention_bwd_dkdv_causal_end 's/return kv <= q + n.S - n.R end/return kv <= q end/'
wrong attention_bwd attention_bwd_dq_causal_end 's/return kv <= q + n.S - n.R end/return kv <= q end/'
echo "1..$count"
[ "$failed" -eq 0 ]
