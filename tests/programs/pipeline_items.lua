-- Consumers take whole items in turn, some wait by one lane of a warp: matrix products, whose epilogues stand under the
-- next item's main loop, rows of groups whose numbers of turns data say, attention with its resident operand and two
-- rings.
local M, N, K = dims "M N K"
local function gemm(name, fields)
  local own = {
    family = "gemm", arch = { sm_90a = {} },
    A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
    tile = { m = 128, n = 128, k = 64 }, pipeline = { mode = "items" },
    -- Odd numbers of items, fewer than consumers, none of a block; no turns, fewer than stages, more.
    run = {
      { M = 344, N = 392, K = 520 }, { M = 72, N = 40, K = 904 }, { M = 300, N = 136, K = 0 },
      { M = 392, N = 261, K = 72 }, { M = 136, N = 520, K = 328 },
    },
  }
  for key, value in pairs(own) do if fields[key] == nil then fields[key] = value end end
  return kernel(name)(fields)
end
gemm("items_gemm", {})
gemm("items_wide", { tile = { m = 64, n = 256, k = 64 }, cluster = { m = 2, n = 2 }, pipeline = { mode = "items", stages = 2 } })
gemm("items_of_three", { tile = { m = 64, n = 104, k = 32 }, cluster = { m = 1 }, pipeline = { mode = "items", consumers = 3, poll = "lane" },
  schedule = { order = "column" } })
gemm("items_160", { tile = { m = 128, n = 160, k = 64 }, cluster = { n = 2 }, pipeline = { mode = "items" } })
gemm("items_km", { A = tensor { K, M, axes = "k m", dtype = "bf16" }, D = tensor { M, N, dtype = "fp32" },
  tile = { m = 192, n = 64, k = 32 }, cluster = { m = 1 }, pipeline = { mode = "items", stages = 3 } })
gemm("items_epilogue", {
  bias = tensor { N, axes = "n", dtype = "bf16" }, rest = tensor { M, N, dtype = "bf16" },
  epilogue = function(acc, t) return gelu(acc + t.bias) + t.rest end,
})

local E = dims "E"
kernel "items_groups" {
  A = tensor { E, M, K, dtype = "bf16", axes = "e m k" }, B = tensor { E, N, K, dtype = "bf16", axes = "e n k" },
  count = tensor { E, dtype = "int32", fill = "integers 0 300" },
  D = tensor { E, M, N, dtype = "bf16", axes = "e m n", out = true },
  axes = "e m n k", tile = { m = 128, n = 128, k = 64 }, grid = { e = E, m = M, n = N }, arch = { sm_90a = {} },
  pipeline = { mode = "items" },
  program = function(t, at, tile)
    local m, n, count = span(at.m, tile.m, t.count[at.e]), span(at.n, tile.n), t.count[at.e]
    local sum = loop("k", range(0, where(lt(at.m, count), K, 0), tile.k), { zeros() }, function(k, sum)
      return dot(load(t.A, at.e, m, span(k, tile.k)), load(t.B, at.e, n, span(k, tile.k)):t(), sum)
    end)
    store(t.D, at.e, m, n, sum)
  end,
  reference = function(t, n)
    for e = 0, n.E - 1 do
      for i = 0, math.min(n.M, t.count[e]) - 1 do
        for j = 0, n.N - 1 do
          local sum = 0
          for k = 0, n.K - 1 do sum = sum + t.A[e][i][k] * t.B[e][j][k] end
          t.D[e][i][j] = sum
        end
      end
    end
  end,
  run = { { E = 5, M = 300, N = 136, K = 520 }, { E = 3, M = 40, N = 200, K = 72 } },
}

local H, R, S = dims "H R S"
local function attention(mask)
  return function(t, at, tile)
    local q = load(t.Q, at.h, span(at.q, tile.q), all)
    local last = mask and min(S, at.q + tile.q) or S
    local o, most, sum = loop("kv", range(0, last, tile.kv), { zeros(), rows(-inf), rows(0) }, function(kv, o, most, sum)
      local k, v = load(t.keys, at.h, span(kv, tile.kv), all), load(t.values, at.h, span(kv, tile.kv), all)
      local s = dot(q, k:t()):as "s" * 0.125
      if mask then s = where(le(index().kv, index().q), s, -inf) end
      local m = max(most, row_max(s))
      local p, r = exp2_diff(s, m), exp2_diff(most, m)
      return dot(cast(p, "bf16"), v, o * r):as "o", m, sum * r + row_sum(p)
    end)
    store(t.O, at.h, span(at.q, tile.q), all, ratio(o, sum, 0))
  end
end
local function rows_of(n, axes, out) return tensor { H, n, 64, dtype = "bf16", axes = axes, out = out } end
local full = kernel "items_attention" {
  Q = rows_of(R, "h q d"), keys = rows_of(S, "h kv d"), values = rows_of(S, "h kv d"), O = rows_of(R, "h q d", true),
  axes = "h q kv d", tile = { q = 128, kv = 64 }, grid = { h = H, q = R }, arch = { sm_90a = {} },
  pipeline = { mode = "items" },
  program = attention(false),
  run = { { H = 3, R = 300, S = 330 }, { H = 2, R = 70, S = 0 }, { H = 1, R = 130, S = 600 } },
}
kernel "items_attention_ahead" { like = full, pipeline = { poll = "lane" }, ahead = { s = { turns = 1, before = "o" } } }
-- Items of different lengths, the longest first.
kernel "items_attention_causal" { like = full, program = attention(true), run = { { H = 2, R = 500, S = 500 } } }
