local R, C = dims "R C"

kernel "norm" {
  template = "../../specs/rms_norm.cu",
  x = tensor { R, C, dtype = "bf16" },
  rings = { { "y", stages = 2 } },
}
