tuned "gemm_grouped_contiguous" { gpu = "NVIDIA H200", arch = "sm_90a",
  { E = 4, M = 32768, N = 4096, K = 7168, mode = "sustained", use = {} },
  { E = 4, M = 32768, N = 7168, K = 2048, mode = "sustained", use = { pipeline = { mode = "items" }, schedule = { group = 16, order = "grouped" }, tile = { n = 192 } } },
}
tuned "gemm_grouped_masked" { gpu = "NVIDIA H200", arch = "sm_90a",
  { E = 6, M = 1024, N = 4096, K = 7168, mode = "sustained", use = {} },
  { E = 6, M = 1024, N = 7168, K = 2048, mode = "sustained", use = { pipeline = { mode = "items" }, tile = { n = 192 } } },
}
