local M, N, K = dims "M N K"

local plain = kernel "no_such_word" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 64, n = 64, k = 64 }, arch = { sm_90a = {} },
  pipeline = { instruction = "mma" },
}
kernel "on_ampere" { like = plain, arch = { sm_80 = { pipeline = { instruction = "wgmma" } } } }
kernel "consumers" { like = plain, pipeline = { instruction = "mma.sync", consumers = 2 } }
kernel "fp8" {
  like = plain, pipeline = { instruction = "mma.sync" },
  A = tensor { M, K, dtype = "fp8_e4m3" }, B = tensor { N, K, dtype = "fp8_e4m3" },
}
kernel "no_dots" {
  axes = "m n", grid = { m = M, n = N }, tile = { m = 16, n = 64 }, pipeline = { instruction = "mma.sync" },
  X = tensor { M, N, dtype = "fp32" }, Y = tensor { M, N, dtype = "fp32", out = true },
  program = function(t, at)
    store(t.Y, span(at.m, 16), span(at.n, 64), load(t.X, span(at.m, 16), span(at.n, 64)) * 2)
  end,
}
