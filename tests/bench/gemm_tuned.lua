-- gemm_bf16 of specs/gemm.lua with the set-ups of an H200 beside it (gemm_tuned.tuned.lua):
-- `build/tilewright run tests/bench/gemm_tuned.lua`, and on the twenty sizes
-- `build/tilewright bench tests/bench/gemm_tuned.lua --config tests/bench/shapes.json`.
local M, N, K = dims "M N K"
kernel "gemm_bf16" {
  family   = "gemm",
  A        = tensor { M, K, dtype = "bf16" },
  B        = tensor { N, K, dtype = "bf16" },
  D        = tensor { M, N, dtype = "bf16" },
  tile     = { m = 128, n = 256, k = 64 },
  cluster  = { m = 2 },
  schedule = { order = "grouped", group = 8 },
  arch     = { sm_90a = {} },
  run      = { { M = 264, N = 512, K = 136 }, { M = 64, N = 40, K = 0 }, { M = 41, N = 48, K = 1096 } },
}
