-- Attention backward, [batch, sequence, heads, head size], in three kernels, one after another: delta = sum of dO * O,
-- then dK and dV by blocks of keys, and dQ by blocks of queries. Scores are computed twice so, seven products for the
-- five that count, 10 B H R S D operations; nothing is added atomically, and results are the same bits in each run.
-- LSE is what attention forward stored.
local by_hand = require "reference/attention_bwd"
local B, H, R, S = dims "B H R S"

-- Of head size d, of which `shared` heads of Q share one of K and V.
local function tensors(d, shared)
  local function of_q() return tensor { B, R, H, d, dtype = "bf16", axes = "b q h d" } end
  local function of_o() return tensor { B, R, H, d, dtype = "bf16", axes = "b q h e" } end
  local function by_row(fill) return tensor { B, H, R, dtype = "fp32", axes = "b h q", fill = fill } end
  local function of_k() return tensor { B, S, H // shared, d, dtype = "bf16", axes = "b kv g d" } end
  local function of_v() return tensor { B, S, H // shared, d, dtype = "bf16", axes = "b kv g e" } end
  return of_q, of_o, by_row, of_k, of_v
end

local run = {
  { B = 1, H = 2, R = 300, S = 400 }, { B = 1, H = 2, R = 10, S = 100 }, { B = 1, H = 2, R = 500, S = 128 },
  { B = 1, H = 1, R = 448, S = 448 }, { B = 1, H = 2, R = 1, S = 1 }, { B = 1, H = 1, R = 5, S = 0 },
  { B = 1, H = 1, R = 0, S = 5 },
}
local bench = {
  { B = 8, H = 16, R = 2048, S = 2048 }, { B = 4, H = 16, R = 4096, S = 4096 },
  { B = 2, H = 16, R = 8192, S = 8192 }, { B = 1, H = 16, R = 16384, S = 16384 },
}

-- The kernels' names end in `suffix`; own: shared heads, visible(q, kv, n), the mask_mod that says the same, and the
-- document of each row where it asks for that; turn: rows of a loop's tiles, else the family's.
local function backward(suffix, d, own)
  local of_q, of_o, by_row, of_k, of_v = tensors(d, own.shared or 1)
  local function reference(gives)
    return by_hand { gives = gives, d = d, shared = own.shared, visible = own.visible }
  end
  local lse = own.lse or "constant 4"
  kernel("attention_bwd_dkdv" .. suffix) {
    family = "attention_bwd_dkdv",
    Q = of_q(), K = of_k(), V = of_v(), dO = of_o(), LSE = by_row(lse), delta = by_row(), dK = of_k(), dV = of_v(),
    document = own.document, tile = { q = own.turn },
    mask_mod = own.mask_mod,
    schedule = { dynamic = own.mask_mod and true },
    pipeline = { stages = d == 64 and 3 or nil },
    arch = { -- a thread of sm_80 has no registers for sums of 128
      sm_90a = {}, sm_80 = d == 64 and {} or nil,
      sm_100a = d == 64 and { asked = true, tile = { q = own.turn or 64 } } or nil,
    },
    reference = reference "dkdv",
    run = own.run or run, bench = bench,
  }
  kernel("attention_bwd_dq" .. suffix) {
    family = "attention_bwd_dq",
    Q = of_q(), K = of_k(), V = of_v(), dO = of_o(), LSE = by_row(lse), delta = by_row(), dQ = of_q(),
    document = own.document, tile = { kv = own.turn },
    mask_mod = own.mask_mod,
    pipeline = { stages = d == 64 and 3 or nil },
    via = own.mask_mod and d == 128 and { o = "bulk" } or nil, -- there are registers for Q, and not for dO
    arch = own.arch or { sm_90a = {}, sm_80 = {} },
    reference = reference "dq",
    run = own.run or run, bench = bench,
  }
end

for _, d in ipairs { 128, 64 } do
  local suffix = d == 128 and "" or "_d" .. d
  local _, of_o, by_row = tensors(d, 1)
  kernel("attention_bwd_delta" .. suffix) {
    family = "attention_bwd_delta",
    O = of_o(), dO = of_o(), delta = by_row(),
    reference = by_hand { gives = "delta", d = d },
    run = { { B = 1, H = 2, R = 300 }, { B = 1, H = 1, R = 1 } },
    bench = { { B = 8, H = 16, R = 2048 }, { B = 1, H = 16, R = 16384 } },
  }
  backward(suffix, d, {})
  -- Queries stand at the end of the keys: where there are more of them, the first see nothing, and LSE is -inf there.
  backward(suffix .. "_causal_end", d, {
    mask_mod = function(_, _, i) return le(i.kv, i.q + (S - R)) end,
    visible = function(q, kv, n) return kv <= q + n.S - n.R end,
    lse = function(_, _, q, n) return q + n.S - n.R < 0 and -math.huge or 4 end,
    run = {
      { B = 1, H = 2, R = 300, S = 400 }, { B = 1, H = 2, R = 500, S = 128 }, { B = 1, H = 1, R = 448, S = 448 },
      { B = 2, H = 1, R = 224, S = 400 }, { B = 1, H = 1, R = 6, S = 300 }, { B = 1, H = 1, R = 100, S = 20 },
      { B = 1, H = 2, R = 1, S = 1 }, { B = 1, H = 1, R = 5, S = 0 }, { B = 1, H = 1, R = 0, S = 5 },
    },
  })
end

backward("_causal", 128, {
  mask_mod = function(_, _, i) return le(i.kv, i.q) end,
  visible = function(q, kv) return kv <= q end,
})

-- Eight documents behind each other: a query sees the keys of its own up to itself, other tiles are not loaded.
local documents = {
  document = tensor { B, R, dtype = "int32", axes = "b q", fill = function(_, q, n) return q * 8 // n.R end },
  mask_mod = function(_, t, i) return le(i.kv, i.q) & eq(t.document[i.b][i.q], t.document[i.b][i.kv]) end,
  visible = function(q, kv, n) return kv <= q and q * 8 // n.R == kv * 8 // n.R end,
  run = {
    { B = 1, H = 2, R = 300, S = 400 }, { B = 2, H = 1, R = 448, S = 448 }, { B = 1, H = 1, R = 3, S = 9000 },
    { B = 1, H = 1, R = 8500, S = 3 }, { B = 1, H = 2, R = 1, S = 1 }, { B = 1, H = 1, R = 5, S = 0 },
    { B = 1, H = 1, R = 20, S = 24 }, { B = 1, H = 1, R = 0, S = 5 }, { B = 1, H = 1, R = 2000, S = 2000 },
  },
}
documents.turn = 32 -- the shorter a tile, the less of it is another document's
backward("_d64_documents", 64, documents)
documents.turn, documents.run = nil, {
  { B = 1, H = 1, R = 200, S = 200 }, { B = 1, H = 1, R = 30, S = 30 }, { B = 1, H = 1, R = 5, S = 0 },
}
documents.arch = { sm_90a = {} }
backward("_documents", 128, documents)

-- Four heads of Q share one of K and V: dK and dV are sums over them.
backward("_grouped", 128, {
  shared = 4,
  run = { { B = 1, H = 4, R = 300, S = 300 }, { B = 1, H = 4, R = 64, S = 112 }, { B = 1, H = 8, R = 4, S = 60 },
    { B = 1, H = 4, R = 5, S = 0 }, { B = 1, H = 4, R = 0, S = 5 } },
})
