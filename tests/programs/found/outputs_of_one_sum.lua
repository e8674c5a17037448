-- Three outputs of one dot. Stored from registers they share a loop, and its reads where these are the same: R, which D
-- and F read behind different values of rows, and the bias of D and E do not clash.
local M, N, K = dims "M N K"

kernel "outputs_of_one_sum" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  E = tensor { M, N, dtype = "fp32", out = true },
  F = tensor { N, M, axes = "n m", dtype = "fp16", out = true },
  bias = tensor { N, axes = "n", dtype = "bf16" },
  scale = tensor { M, axes = "m", dtype = "fp32" },
  R = tensor { M, N, dtype = "bf16" },
  tile = { m = 64, n = 64, k = 32 }, pipeline = { stages = 2 }, schedule = { order = "row" },
  epilogue = function(acc, t)
    local x = acc + t.bias
    return { D = relu(x) + t.R, E = x * t.scale, F = acc * t.scale + t.R }
  end,
  run = { { M = 200, N = 136, K = 104 }, { M = 57, N = 41, K = 160 }, { M = 64, N = 40, K = 0 } },
}
