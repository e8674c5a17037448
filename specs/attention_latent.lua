-- Attention forward over latent keys, as models with a compressed cache have it: all heads share a row of 576 of K, and
-- V is its first 512 columns. The program of specs/lib/attention_latent.lua: the heads of a few tokens are rows of one
-- tile.
local by_hand = require "reference/attention"
local B, H, R, S = dims "B H R S"
local D, E = 576, 512

local full = kernel "attention_fwd_d576_512" {
  family = "attention_latent",
  Q = tensor { B, R, H, D, dtype = "bf16", axes = "b q h d" },
  K = tensor { B, S, D, dtype = "bf16", axes = "b kv d" },
  V = tensor { B, S, E, dtype = "bf16", axes = "b kv e", stride = { S * D, D, 1 } }, -- at the address of K
  O = tensor { B, R, H, E, dtype = "bf16", axes = "b q h e" },
  LSE = tensor { B, R, H, dtype = "fp32", axes = "b q h" },
  arch = { sm_90a = {} },
  reference = by_hand { d = D, e = E, one = true },
  run = {
    { B = 2, H = 20, R = 3, S = 300 }, { B = 1, H = 128, R = 1, S = 70 }, { B = 1, H = 1, R = 5, S = 32 },
    { B = 1, H = 1, R = 1, S = 1 }, { B = 1, H = 3, R = 2, S = 0 },
  },
  bench = { { B = 4, H = 128, R = 1024, S = 1024 }, { B = 1, H = 128, R = 4096, S = 4096 } },
}

-- Queries stand at the end of the keys: where there are more of them, the first see nothing.
kernel "attention_fwd_d576_512_causal_end" {
  like = full,
  mask_mod = function(_, _, i) return le(i.kv, i.q + (S - R)) end,
  reference = by_hand { d = D, e = E, one = true, visible = function(q, kv, at) return kv <= q + at.n.S - at.n.R end },
  run = {
    { B = 1, H = 16, R = 70, S = 152 }, { B = 1, H = 4, R = 100, S = 20 },
    { B = 1, H = 128, R = 2, S = 100 }, { B = 1, H = 1, R = 3, S = 40 },
    { B = 1, H = 1, R = 1, S = 1 }, { B = 1, H = 1, R = 3, S = 0 },
  },
}
