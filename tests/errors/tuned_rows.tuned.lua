-- Every fault that a file of set-ups can have; the spec itself is right.
tuned "gem" { gpu = "NVIDIA H200", arch = "sm_90a" }
tuned "gemm" { arch = "sm_90a" }
tuned "gemm" { gpu = "NVIDIA H200", arch = "sm_90" }
tuned "gemm_relu" { gpu = "NVIDIA H200", arch = "sm_80" }
tuned "gemm" { gpu = "NVIDIA H200", arch = "sm_90a", driver = "570",
  { M = 16, N = 4096, K = 4096, use = { tile = { n = 96 } }, us = 10.5 },
  { M = 16, N = 4096, use = {} },
  { M = 16, N = 4096, K = 4096, mode = "sustained", use = { tile = { n = 64 } } },
  { M = 16, N = 4096, K = 4096, mode = "bursts" },
  { M = 0, N = 4096.5, K = 4095 },
  { M = 32, N = 4096, K = 4096, uses = { tile = { n = 64 } }, us = "10", ratio = -1 },
  { M = 48, N = 4096, K = 4096, use = "tile" },
  { M = 64, N = 4096, K = 4096, use = { tile = { n = "64", m = 4.5 } } },
  { M = 80, N = 4096, K = 4096, use = { tile = { n = 64, q = 4 }, pipelines = { stages = 3 } } },
  { M = 96, N = 4096, K = 4096, use = { pipeline = { stages = 40 } } },
  { M = 112, N = 4096, K = 4096, use = { epilogue = function(acc) return acc end } },
  { M = 128, N = 4096, K = 4096, exact = 3, use = {} },
  4096,
}
