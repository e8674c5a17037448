local R, C = dims "R C"

kernel "k" {
  family = "misfilled",
  x = tensor { R, C, dtype = "bf16" },
}
