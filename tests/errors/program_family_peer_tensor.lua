local R, C = dims "R C"

kernel "k" {
  family = "mispeered_tensor",
  x = tensor { R, C, dtype = "bf16" },
  y = tensor { R, C, dtype = "bf16" },
}
