-- Soft-capped scores and ALiBi beside plain attention, by tile of keys and way of taking turns; sums that warps multiply
-- where a factor is not 1 alone (changed), and a maximum that seldom changes (lazy).
--     build/tilewright bench tests/bench/attention_cap.lua --mode burst --peer none
local B, H, R, S = dims "B H R S"
local log2e, ln2 = 1.4426950408889634, 0.6931471805599453
local bench = { { B = 4, H = 16, R = 4096, S = 4096 } }
local run = { { B = 1, H = 1, R = 200, S = 1300 }, { B = 1, H = 2, R = 3, S = 300 } }

local function attention(how)
  return {
    family = "attention",
    Q = tensor { B, R, H, 128, dtype = "bf16", axes = "b q h d" },
    K = tensor { B, S, H, 128, dtype = "bf16", axes = "b kv g d" },
    V = tensor { B, S, H, 128, dtype = "bf16", axes = "b kv g e" },
    O = tensor { B, R, H, 128, dtype = "bf16", axes = "b q h e" },
    LSE = tensor { B, H, R, dtype = "fp32", axes = "b h q" },
    slope = how.alibi and tensor { H, dtype = "fp32", axes = "h" } or nil,
    ahead = { s = { turns = 1, before = "o" } },
    arch = { sm_90a = {} },
    score_mod = how.cap and function(s) return 50 * tanh_approx(s / 50) end
      or how.alibi and function(s, t, i) return s + t.slope[i.h] * (i.kv - i.q) end or nil,
    mask_mod = how.causal and function(_, _, i) return le(i.kv, i.q) end or nil,
    tile = how.tile, pipeline = how.pipeline, run = run, bench = bench,
  }
end
kernel "full" (attention {})
kernel "causal" (attention { causal = true })
kernel "alibi" (attention { causal = true, alibi = true })
kernel "cap" (attention { cap = true })
kernel "full_changed" (attention { pipeline = { rescale = "changed" } })
kernel "causal_changed" (attention { causal = true, pipeline = { rescale = "changed" } })
kernel "alibi_changed" (attention { causal = true, alibi = true, pipeline = { rescale = "changed" } })

-- A maximum that is passed on only once it is exceeded by 8, as binary logarithm: most turns then scale nothing.
local function lazy(how)
  local q_rows, keys = how.q or 128, how.kv or 128
  return {
    axes = "b h q kv d",
    grid = { b = B, h = H, q = R },
    tile = { q = q_rows, kv = keys },
    Q = tensor { B, R, H, 128, dtype = "bf16", axes = "b q h d" },
    K = tensor { B, S, H, 128, dtype = "bf16", axes = "b kv h d" },
    V = tensor { B, S, H, 128, dtype = "bf16", axes = "b kv h d" },
    O = tensor { B, R, H, 128, dtype = "bf16", axes = "b q h d", out = true },
    LSE = tensor { B, H, R, dtype = "fp32", axes = "b h q", out = true },
    ahead = { s = { turns = 1, before = "o" } },
    pipeline = how.pipeline,
    arch = { sm_90a = {} },
    program = function(t, at, tile)
      local queries = span(at.q, tile.q)
      local q = load(t.Q, at.b, queries, at.h, all):as "q"
      local o, most, sum = loop("kv", range(0, S, tile.kv), { zeros(), rows(-inf), rows(0) }, function(kv, o, most, sum)
        local now = span(kv, tile.kv)
        local k, v = load(t.K, at.b, now, at.h, all):as "k", load(t.V, at.b, now, at.h, all):as "v"
        local s = dot(q, k:t()):as "s" * (128 ^ -0.5 * log2e)
        local high = row_max(s)
        local m = select(gt(high, most + 8), high, most)
        local p, r = exp2_diff(s, m), exp2_diff(most, m)
        return dot(cast(p, "bf16"), v, o * r):as "o", m, sum * r + row_sum(p)
      end)
      store(t.O, at.b, queries, at.h, all, ratio(o, sum, 0))
      store(t.LSE, at.b, at.h, queries, (most + log2(sum)) * ln2)
    end,
    run = run, bench = bench,
  }
end
kernel "full_lazy" (lazy { pipeline = { rescale = "changed" } })
kernel "full_lazy_always" (lazy {})
kernel "alibi_96" (attention { causal = true, alibi = true, tile = { kv = 96 } })
kernel "alibi_112" (attention { causal = true, alibi = true, tile = { kv = 112 } })
kernel "alibi_144" (attention { causal = true, alibi = true, tile = { kv = 144 } })
kernel "alibi_turns" (attention { causal = true, alibi = true, pipeline = { turns = true } })
kernel "alibi_changed_112" (attention {
  causal = true, alibi = true, tile = { kv = 112 }, pipeline = { rescale = "changed" },
})
