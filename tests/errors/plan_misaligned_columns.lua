-- Rows of A and B along m and n are misaligned; those of D are stored element by element.
local K = dims "K"

kernel "gemm" {
  family = "gemm",
  A = tensor { K, 98, axes = "k m", dtype = "fp16" },
  B = tensor { K, 100, axes = "k n", dtype = "fp16", stride = { 102, 1 } },
  D = tensor { 98, 100, dtype = "fp16" },
}
