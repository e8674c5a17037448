local B, H, S = dims "B H S"
local att = kernel "att" {
  family = "attention",
  Q = tensor { B, H, S, 128, dtype = "bf16" },
  K = tensor { B, H, S, 128, dtype = "bf16" },
  V = tensor { B, H, S, 128, dtype = "bf16" },
  O = tensor { B, H, S, 128, dtype = "bf16" },
  scale = scalar("fp32", 0.1),
}
kernel "att_causal_alibi" {
  like = att,
  scale = false,
  LSE = tensor { B, H, S, dtype = "fp32" },
  slope = tensor { H, axes = "h", dtype = "fp32" },
  mask_mod = function(_, t, i) return le(i.kv, i.q) end,
  score_mod = function(s, t, i) return s + t.slope[i.h] * (i.kv - i.q) end,
  tile = { kv = 64 },
}
