local R, C = dims "R C"

kernel "norms" {
  template = "no_such_file.cu",
  x = tensor { R, C, dtype = "bf16" },
  grid = { R },
}
