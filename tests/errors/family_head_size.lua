local B, H, S = dims "B H S"
kernel "attention" {
  family = "attention",
  Q = tensor { B, H, S, 100, dtype = "bf16", axes = "b h q d" }, K = tensor { B, H, S, 100, dtype = "bf16", axes = "b g kv d" },
  V = tensor { B, H, S, 100, dtype = "bf16", axes = "b g kv e" }, O = tensor { B, H, S, 100, dtype = "bf16", out = true, axes = "b h q e" },
  pipeline = { stages = 2 }, arch = { sm_90a = {}, sm_80 = {} },
}
