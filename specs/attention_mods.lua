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
  arch = { sm_90a = {} },
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
