-- gemm_bf16 of specs/gemm.lua with the set-ups of an H200 beside it (gemm_tuned.tuned.lua), on the sizes that the record
-- is of: `build/tilewright bench tests/bench/gemm_tuned.lua`, `build/tilewright run tests/bench/gemm_tuned.lua`.
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
  bench    = {
    { M = 512, N = 512, K = 512 }, { M = 1024, N = 1024, K = 1024 }, { M = 2048, N = 2048, K = 2048 },
    { M = 4096, N = 4096, K = 4096 }, { M = 8192, N = 8192, K = 8192 }, { M = 16384, N = 8192, K = 8192 },
    { M = 4096, N = 14336, K = 4096 }, { M = 4096, N = 4096, K = 14336 }, { M = 4096, N = 6144, K = 4096 },
    { M = 8192, N = 28672, K = 8192 }, { M = 8192, N = 8192, K = 28672 }, { M = 1, N = 4096, K = 4096 },
    { M = 16, N = 4096, K = 4096 }, { M = 64, N = 4096, K = 4096 }, { M = 64, N = 7168, K = 2048 },
    { M = 128, N = 7168, K = 2048 }, { M = 128, N = 24576, K = 1536 }, { M = 4096, N = 7168, K = 2048 },
    { M = 4096, N = 24576, K = 1536 }, { M = 4096, N = 2112, K = 7168 },
  },
}
