local B, H, R, S = dims "B H R S"
local x = tensor { S, H, 64, dtype = "bf16", axes = "kv g d" }
kernel "attention" {
  family = "attention",
  Q = tensor { S, H, 64, dtype = "bf16", axes = "q h d" }, K = x, V = tensor { S, H, 64, dtype = "bf16", axes = "kv g e" },
  O = tensor { S, H, 64, dtype = "bf16", axes = "q h e" },
  grid = { b = B, q = R, h = 4 }, arch = { sm_90a = {} },
}
