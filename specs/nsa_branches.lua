-- The whole of native sparse attention forward, a launch each: keys and values of whole blocks (nsa_pool), attention
-- over them (nsa_compressed), what they weigh (nsa_scores), the blocks that weigh most (nsa_top), attention over a
-- sliding window (nsa_window), and over these blocks, mixed with the two others by gates (nsa_mixed). New tokens:
-- nsa_decode.
local attention, by_hand = require "reference/attention", require "reference/nsa"
local lists = require "reference/nsa_lists"
local B, T, G, H, C, S, R = dims "B T G H C S R"
local N, D, BLOCK = 16, 128, 64 -- heads of Q that share one of K and V, head size, keys of a block
local long = {
  { B = 1, T = 8192, G = 4, H = 64, C = 128, S = 16 }, { B = 1, T = 65536, G = 4, H = 64, C = 1024, S = 16 },
}
local function at(names)
  local list = {}
  for i, one in ipairs(long) do
    list[i] = {}
    for _, name in ipairs(names) do list[i][name] = one[name] end
  end
  return list
end

-- Means of whole blocks of keys, or values.
kernel "nsa_pool" {
  x = tensor { B, T, G, D, dtype = "bf16" }, y = tensor { B, T // BLOCK, G, D, dtype = "bf16", out = true },
  axes = "b c g d", tile = { c = 1 }, grid = { b = B, c = T // BLOCK, g = G },
  program = function(t, at)
    local block = load(t.x, at.b, span(at.c * BLOCK, BLOCK), at.g, span(0, D))
    store(t.y, at.b, at.c, at.g, span(0, D), column_sum(block) / BLOCK)
  end,
  reference = function(t, n)
    for b = 0, n.B - 1 do
      for c = 0, n.T // BLOCK - 1 do
        for g = 0, n.G - 1 do
          for d = 0, D - 1 do
            local sum = 0
            for i = c * BLOCK, c * BLOCK + BLOCK - 1 do sum = sum + t.x[b][i][g][d] end
            t.y[b][c][g][d] = sum / BLOCK
          end
        end
      end
    end
  end,
  run = { { B = 2, T = 200, G = 2 } }, bench = at({ "B", "T", "G" }),
}

-- One head's queries are rows of a tile, as of any attention, over C keys. past[b] tokens stand before the first query.
local function dense(own)
  return {
    family = "attention",
    Q = tensor { B, T, H, D, dtype = "bf16", axes = "b q h d" },
    K = tensor { B, C, G, D, dtype = "bf16", axes = "b kv g d" },
    V = tensor { B, C, G, D, dtype = "bf16", axes = "b kv g e" },
    O = tensor { B, T, H, D, dtype = "bf16", axes = "b q h e" },
    LSE = tensor { B, H, T, dtype = "fp32", axes = "b h q" },
    past = tensor { B, dtype = "int32", fill = own.past },
    mask_mod = own.mask,
    ahead = { s = { turns = 1, before = "o" } },
    arch = { sm_90a = {} },
    reference = function(t, n)
      local by_rows = attention { d = D, shared = n.H // n.G, visible = own.visible }
      by_rows(t, { B = n.B, H = n.H, R = n.T, S = n.C })
    end,
    run = own.run,
    bench = own.bench,
  }
end
kernel "nsa_compressed" (dense {
  past = function(b, n) return n.T < 100 and n.C * BLOCK - 90 * b or 0 end,
  mask = function(_, t, i) return lt(i.kv * BLOCK + (BLOCK - 1), i.q + t.past[i.b] + 1) end,
  visible = function(q, kv, at) return kv * BLOCK + BLOCK - 1 <= q + at.t.past[at.b] end,
  run = {
    { B = 1, T = 130, G = 1, H = 2, C = 2 }, { B = 2, T = 3, G = 1, H = 1, C = 530 },
    { B = 1, T = 3, G = 1, H = 1, C = 0 },
  },
  bench = at({ "B", "T", "G", "H", "C" }),
})
kernel "nsa_window" (dense {
  past = function(b, n) return math.max(n.C - n.T - b, 0) end,
  mask = function(_, t, i) return le(i.kv, i.q + t.past[i.b]) & gt(i.kv, i.q + t.past[i.b] - 512) end,
  visible = function(q, kv, at) return kv <= q + at.t.past[at.b] and kv > q + at.t.past[at.b] - 512 end,
  run = {
    { B = 1, T = 130, G = 1, H = 2, C = 901 }, { B = 2, T = 1, G = 1, H = 1, C = 600 },
    { B = 1, T = 3, G = 1, H = 1, C = 0 },
  },
  bench = { { B = 1, T = 8192, G = 4, H = 64, C = 8192 }, { B = 1, T = 65536, G = 4, H = 64, C = 65536 } },
})

local padded = (T + 3) // 4 * 4
kernel "nsa_scores" {
  family = "nsa_scores",
  Q = tensor { B, T, G, N, D, dtype = "bf16" },
  K = tensor { B, C, G, D, dtype = "bf16" },
  LSE = tensor { B, T, G, N, dtype = "fp32" },
  score = tensor { B, padded, G, C, dtype = "fp32" },
  schedule = { blocks = 2 },
  arch = { sm_90a = {}, sm_100a = { asked = true, schedule = { blocks = 1 } } },
  reference = function(t, n)
    for b = 0, n.B - 1 do
      for q = 0, (n.T + 3) // 4 * 4 - 1 do
        for g = 0, n.G - 1 do
          for c = 0, n.C - 1 do
            local sum = 0
            for h = 0, (q < n.T and (c + 1) * BLOCK <= q + 1 and N or 0) - 1 do
              local s = 0
              for d = 0, D - 1 do s = s + t.Q[b][q][g][h][d] * t.K[b][c][g][d] end
              sum = sum + exp(s / D ^ 0.5 - t.LSE[b][q][g][h])
            end
            t.score[b][q][g][c] = sum
          end
        end
      end
    end
  end,
  run = { { B = 1, T = 141, C = 2, G = 1 }, { B = 2, T = 66, C = 70, G = 1 } },
  bench = at({ "B", "T", "G", "C" }),
}
local function top(own)
  return {
    family = "nsa_top",
    score = tensor { B, padded, G, C, dtype = "fp32", fill = own.fill },
    blocks = tensor { B, T, G, S, dtype = "int32" },
    tile = { kv = own.block, c = own.tile },
    arch = { sm_90a = {} },
    reference = function(t, n)
      for b = 0, n.B - 1 do
        for q = 0, n.T - 1 do
          for g = 0, n.G - 1 do
            local order, last = {}, q // own.block
            for c = 0, math.min(last, n.C - 1) do
              local forced = c == 0 or c >= last - 1
              order[#order + 1] = { c = c, score = forced and math.huge or t.score[b][q][g][c] }
            end
            table.sort(order, function(x, y) return x.score > y.score or x.score == y.score and x.c < y.c end)
            for s = 0, n.S - 1 do t.blocks[b][q][g][s] = order[s + 1] and order[s + 1].c or -1 end
          end
        end
      end
    end,
    run = own.run,
    bench = own.bench,
  }
end
kernel "nsa_top" (top {
  block = BLOCK, bench = at { "B", "T", "G", "C", "S" },
  run = {
    { B = 1, T = 200, C = 4, G = 1, S = 4 }, { B = 1, T = 3, C = 1, G = 2, S = 3 },
    { B = 1, T = 2, C = 1028, G = 1, S = 4 },
  },
})
-- More blocks than registers hold are looked at again in memory.
kernel "nsa_top_long" (top {
  block = 2, tile = 16, fill = "integers 0 3",
  run = { { B = 1, T = 90, C = 48, G = 1, S = 4 }, { B = 1, T = 6, C = 3, G = 1, S = 3 } },
})

local function entry(block, token)
  return function(b, q, g, s, n)
    return lists[lists.measured(n.T) and "uniform" or "mixed"](b, token and token(b, q, n) or q, g, s, block, n.T, n.S)
  end
end
local function named(t, n, b, q, g)
  local list = {}
  for s = 0, n.S - 1 do list[s + 1] = t.blocks[b][q][g][s] end
  return list
end
local function selected(d, block, queries, own)
  local fields = {
    family = "nsa",
    Q = tensor { B, queries, G, N, d, dtype = "bf16" },
    K = tensor { B, T, G, d, dtype = "bf16" },
    V = tensor { B, T, G, d, dtype = "bf16" },
    O = tensor { B, queries, G, N, d, dtype = "bf16" },
    LSE = tensor { B, queries, G, N, dtype = "fp32" },
    tile = { kv = block },
    ahead = { s = { turns = 1, before = "o" } },
    pipeline = { consumers = 1 },
    schedule = { blocks = 2 },
    arch = { sm_90a = {} },
  }
  for name, value in pairs(own) do fields[name] = value end
  return fields
end
local function gate() return tensor { B, T, G, N, dtype = "bf16" } end
local function mixed(d, block, own)
  own.window, own.compressed = tensor { B, T, G, N, d, dtype = "bf16" }, tensor { B, T, G, N, d, dtype = "bf16" }
  own.gate, own.window_gate, own.compressed_gate = gate(), gate(), gate()
  own.blocks = tensor { B, T, G, S, dtype = "int32", fill = entry(block) }
  own.reference = by_hand { d = d, heads = N, block = block, entries = named, mixed = true }
  return selected(d, block, T, own)
end
kernel "nsa_mixed" (mixed(D, BLOCK, {
  run = { { B = 1, T = 140, G = 1, S = 4 }, { B = 2, T = 6, G = 1, S = 0 } },
  bench = at({ "B", "T", "G", "S" }),
}))
kernel "nsa_mixed_b16" (mixed(64, 16, { run = { { B = 1, T = 40, G = 1, S = 4 }, { B = 1, T = 6, G = 2, S = 0 } } }))

-- The newest R tokens of each request, which has lengths[b] of them in all.
local function length(b, n) return lists.measured(n.T) and n.T or b == n.B - 1 and n.T or b * 19 % (n.T + 1) end
local function decode(d, block, own)
  own.lengths = tensor { B, dtype = "int32", fill = length }
  own.blocks = tensor { B, R, G, S, dtype = "int32", fill = entry(block, function(b, q, n)
    return math.max(length(b, n) - n.R + q, 0)
  end) }
  own.reference = by_hand {
    d = d, heads = N, block = block, entries = named, queries = "R",
    token = function(t, n, b, q) return t.lengths[b] - n.R + q end,
  }
  return selected(d, block, R, own)
end
kernel "nsa_decode" (decode(D, BLOCK, {
  run = { { B = 5, T = 150, R = 3, G = 2, S = 7 }, { B = 2, T = 60, R = 1, G = 1, S = 0 } },
  bench = { { B = 32, T = 65536, R = 1, G = 4, S = 16 } },
}))
kernel "nsa_decode_b16" (decode(64, 16, {
  run = { { B = 4, T = 60, R = 2, G = 1, S = 16 }, { B = 2, T = 60, R = 1, G = 1, S = 0 } },
}))
