local R, C = dims "R C"

kernel "dims" { family = "attention", Q = tensor { R, C, R, dtype = "bf16" }, K = tensor { R, C, "64", 64, dtype = "bf16" },
  V = tensor { dtype = "bf16" }, O = tensor { R, C, R, 64 } }
kernel "extents" {
  family = "attention",
  Q = tensor { R, C, R, 64, dtype = "bf16" },
  K = tensor { R, C, R, 128, dtype = "bf16" },
  V = tensor { R, C, R, 64, dtype = "bf16" },
  O = tensor { R, C, R, 64, dtype = "bf16" },
}
