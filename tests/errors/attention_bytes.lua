-- fp8 with V's head size innermost, which no matrix instruction reads.
local B, H, R, S = dims "B H R S"
kernel "attention_bytes" {
  family = "attention",
  Q = tensor { B, R, H, 64, dtype = "fp8_e4m3", axes = "b q h d" },
  K = tensor { B, S, H, 64, dtype = "fp8_e4m3", axes = "b kv g d" },
  V = tensor { B, S, H, 64, dtype = "fp8_e4m3", axes = "b kv g e" },
  O = tensor { B, R, H, 64, dtype = "bf16", axes = "b q h e" },
  arch = { sm_90a = {} },
}
