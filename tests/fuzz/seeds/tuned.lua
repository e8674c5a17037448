local M, N, K = dims "M N K"
kernel "g" { family = "gemm", A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" }, tile = { m = 128, n = 128, k = 64 }, cluster = { m = 2 } }
--tuned
tuned "g" { gpu = "NVIDIA H200", arch = "sm_90a",
  { M = 64, N = 4096, K = 4096, mode = "sustained", use = { tile = { m = 64, n = 32 }, cluster = { m = 1 } }, us = 12.3 },
  { M = 4096, N = 4096, K = 4096, mode = "burst", use = { pipeline = { stages = 3 } }, us = 203.4, ratio = 1.013 },
}
