-- Consumers take turns around a dot that another turn waits for: each goes on by itself.
local M, N, K = dims "M N K"
kernel "k" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  pipeline = { turns = true },
  arch = { sm_90a = {} },
}
