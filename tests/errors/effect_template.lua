-- A template of one's own: maps and swizzles belong to tensors in rings, and it has none.
local R, C = dims "R C%8"
kernel "own" {
  template = "effect_template.cu", grid = { R }, l2_promotion = "64B",
  x = tensor { R, C, dtype = "bf16", swizzle = "128B" },
  y = tensor { R, C, dtype = "bf16", out = true },
  arch = { sm_80 = { launch = { programmatic = true } }, sm_90a = { launch = { programmatic = true } } },
}
