-- Set-ups that the spec's language has and that no plan takes, and one that is right.
tuned "gemm" { gpu = "NVIDIA H200", arch = "sm_90a",
  { M = 16, N = 4096, K = 4096, use = { tile = { n = 100 } } },
  { M = 32, N = 4096, K = 4096, use = { pipeline = { stages = 9 } } },
  { M = 48, N = 4096, K = 4096, use = { pipeline = { warps_m = 2 } } },
  { M = 64, N = 4096, K = 4096, use = { tile = { n = 64 } } },
}
tuned "gemm" { gpu = "NVIDIA A100", arch = "sm_80",
  { M = 16, N = 4096, K = 4096, use = { cluster = { m = 2 } } },
}
