local R, C = dims "R C"

kernel "k" {
  family = "misspelt",
  x = tensor { R, C, dtype = "bf16" },
}
