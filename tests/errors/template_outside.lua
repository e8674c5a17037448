local R, C = dims "R C"

kernel "norms" {
  template = "../../specs/rms_norm.cu",
  x = tensor { R, C, dtype = "bf16" },
  rings = { { "y", stages = 2 } },
}
