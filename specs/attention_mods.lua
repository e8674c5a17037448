-- Masks and scores of one's own over attention forward: mask_mod says which elements count, score_mod changes a scaled
-- score. A mask is a condition on i.q and i.kv: keys that no query of a tile sees are not loaded, tiles that all see
-- run without it.
local by_hand = require "reference/attention"
local B, H, R, S = dims "B H R S"
local D = 128

local base = kernel "attention_fwd_window" {
  family = "attention",
  Q = tensor { B, R, H, D, dtype = "bf16", axes = "b q h d" },
  K = tensor { B, S, H, D, dtype = "bf16", axes = "b kv g d" },
  V = tensor { B, S, H, D, dtype = "bf16", axes = "b kv g e" },
  O = tensor { B, R, H, D, dtype = "bf16", axes = "b q h e" },
  LSE = tensor { B, H, R, dtype = "fp32", axes = "b h q" },
  ahead = { s = { turns = 1, before = "o" } },
  arch = {
    sm_90a = {}, sm_80 = { tile = { q = 64, kv = 64 }, pipeline = { stages = 2, warps_m = 4 } },
    sm_120a = { asked = true, tile = { kv = 64 }, pipeline = { stages = 2 } },
  },
  -- A sliding window: each query sees the 500 keys up to its own.
  mask_mod = function(_, _, i) return le(i.kv, i.q) & gt(i.kv, i.q - 500) end,
  reference = by_hand { d = D, visible = function(q, kv) return kv <= q and kv > q - 500 end },
  run = {
    { B = 1, H = 1, R = 900, S = 900 }, { B = 1, H = 2, R = 300, S = 60 }, { B = 1, H = 1, R = 10, S = 300 },
    { B = 1, H = 1, R = 1, S = 1 }, { B = 1, H = 1, R = 5, S = 0 },
  },
}

-- Queries stand at the end of the keys (bottom-right): where there are more of them, the first see nothing.
kernel "attention_fwd_causal_end" {
  like = base,
  mask_mod = function(_, _, i) return le(i.kv, i.q + (S - R)) end,
  reference = by_hand { d = D, visible = function(q, kv, at) return kv <= q + at.n.S - at.n.R end },
  run = {
    { B = 1, H = 1, R = 200, S = 1000 }, { B = 1, H = 2, R = 300, S = 60 }, { B = 1, H = 1, R = 3, S = 700 },
    { B = 1, H = 1, R = 1, S = 256 }, { B = 1, H = 1, R = 5, S = 0 },
  },
}

kernel "attention_fwd_window_end" {
  like = base,
  mask_mod = function(_, _, i) return le(i.kv, i.q + (S - R)) & gt(i.kv, i.q + (S - R) - 600) end,
  reference = by_hand { d = D, visible = function(q, kv, at)
    local last = q + at.n.S - at.n.R
    return kv <= last and kv > last - 600
  end },
  run = {
    { B = 1, H = 1, R = 200, S = 1000 }, { B = 1, H = 2, R = 300, S = 60 }, { B = 1, H = 1, R = 3, S = 700 },
    { B = 1, H = 1, R = 1, S = 256 }, { B = 1, H = 1, R = 5, S = 0 },
  },
}

-- All queries see the first 150 keys, and those up to their own.
kernel "attention_fwd_prefix" {
  like = base,
  mask_mod = function(_, _, i) return lt(i.kv, 150) | le(i.kv, i.q) end,
  reference = by_hand { d = D, visible = function(q, kv) return kv < 150 or kv <= q end },
  run = {
    { B = 1, H = 2, R = 3, S = 300 }, { B = 1, H = 1, R = 600, S = 600 }, { B = 1, H = 1, R = 1, S = 128 },
    { B = 1, H = 1, R = 5, S = 0 },
  },
}

-- What follows sees all keys up to the query's own, or all; sizes for both.
local causal = function(_, _, i) return le(i.kv, i.q) end
local function before(q, kv) return kv <= q end
local run_causal = {
  { B = 1, H = 1, R = 650, S = 650 }, { B = 1, H = 2, R = 3, S = 300 }, { B = 1, H = 2, R = 200, S = 128 },
  { B = 1, H = 1, R = 5, S = 0 },
}
local run_all = { { B = 1, H = 3, R = 130, S = 450 }, { B = 1, H = 2, R = 3, S = 300 }, { B = 1, H = 1, R = 5, S = 0 } }

-- ALiBi: scores fall with the distance, by a slope for each head.
kernel "attention_fwd_alibi" {
  like = base,
  slope = tensor { H, dtype = "fp32", axes = "h" },
  mask_mod = causal,
  score_mod = function(s, t, i) return s + t.slope[i.h] * (i.kv - i.q) end,
  reference = by_hand { d = D, visible = before, score = function(x, q, kv, at)
    return x + at.t.slope[at.h] * (kv - q)
  end },
  run = run_causal,
}

-- Soft cap: no score is beyond 50. tanh_approx is one instruction; tanh is exact to an ulp and many.
kernel "attention_fwd_softcap" {
  like = base,
  mask_mod = false,
  score_mod = function(s) return 50 * tanh_approx(s / 50) end,
  reference = by_hand { d = D, score = function(x) return 50 * tanh(x / 50) end },
  run = run_all,
}

-- A bias for each pair of query and key. What is read of it lies in registers beside the scores, which are fewer so.
kernel "attention_fwd_bias" {
  like = base,
  bias = tensor { H, R, S, dtype = "bf16", axes = "h q kv" },
  mask_mod = false,
  score_mod = function(s, t, i) return s + t.bias[i.h][i.q][i.kv] end,
  tile = { kv = 64 },
  reference = by_hand { d = D, score = function(x, q, kv, at) return x + at.t.bias[at.h][q][kv] end },
  run = run_all,
}

-- A bias by distance, of which those beyond 64 share the last ones.
kernel "attention_fwd_relative" {
  like = base,
  bias = tensor { H, 129, dtype = "fp32" },
  mask_mod = false,
  score_mod = function(s, t, i) return s + t.bias[i.h][clamp(i.kv - i.q, -64, 64) + 64] end,
  tile = { kv = 64 },
  reference = by_hand { d = D, score = function(x, q, kv, at)
    return x + at.t.bias[at.h][math.max(-64, math.min(kv - q, 64)) + 64]
  end },
  run = run_all,
}

-- Documents behind each other: a query sees the keys of its own up to itself. Which tiles of keys those are, a small
-- kernel finds before, by the least and the largest document of each tile; what it leaves out is not loaded. Documents
-- may stand in any order. Here they are eight, of one length.
local function eighths(_, kv, n) return kv * 8 // n.S end

local documents = kernel "attention_fwd_documents" {
  like = base,
  document = tensor { B, S, dtype = "int32", fill = eighths },
  mask_mod = function(_, t, i) return le(i.kv, i.q) & eq(t.document[i.b][i.q], t.document[i.b][i.kv]) end,
  tile = { kv = 64 },
  via = { q = "bulk" },
  reference = by_hand { d = D, visible = function(q, kv, at)
    return kv <= q and at.t.document[at.b][q] == at.t.document[at.b][kv]
  end },
  run = {
    { B = 1, H = 1, R = 2000, S = 2000 }, { B = 2, H = 1, R = 3, S = 300 }, { B = 1, H = 2, R = 100, S = 128 },
    { B = 1, H = 1, R = 20, S = 24 }, { B = 1, H = 1, R = 5, S = 0 }, { B = 1, H = 1, R = 3, S = 16500 },
  },
  bench = { { B = 1, H = 16, R = 16384, S = 16384 } },
}

-- A query sees all keys of its own document, behind it too.
kernel "attention_fwd_documents_all" {
  like = documents,
  mask_mod = function(_, t, i) return eq(t.document[i.b][i.q], t.document[i.b][i.kv]) end,
  reference = by_hand { d = D, visible = function(q, kv, at)
    return at.t.document[at.b][q] == at.t.document[at.b][kv]
  end },
}

-- Attention sinks: a logit for each head joins the sum of its rows, and no value with it.
kernel "attention_fwd_sink" {
  like = base,
  sink = tensor { H, dtype = "fp32", axes = "h" },
  mask_mod = causal,
  reference = by_hand { d = D, visible = before, sink = function(at) return at.t.sink[at.h] end },
  run = run_causal,
}
