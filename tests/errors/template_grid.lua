local R, C = dims "R C"

kernel "scale" {
  template = "plan_rings.cu",
  x = tensor { R, C, dtype = "bf16", tile = { 1, 64 } },
  y = tensor { R, C, dtype = "bf16", out = true },
  rings = { { "x", stages = 2 } }, grid = { R, 0, -1 }, threads = 64,
}
kernel "tall" {
  template = "plan_rings.cu",
  y = tensor { R, C, dtype = "bf16", out = true },
  grid = { R, 65536 }, threads = 64,
}
