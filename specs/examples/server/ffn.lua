-- A feed-forward layer in two kernels: what stands between two matrix products of it is fused into them.
--   hidden = gelu(x W1^T + b1)      out = x + hidden W2^T + b2
-- WIDTH and HIDDEN are constants here, as in ffn.h: only the number of rows is known at a launch.
local M = dims "M"
local WIDTH, HIDDEN = 256, 512

local function bf16(...) return tensor { dtype = "bf16", ... } end

kernel "ffn_up" {
  family   = "gemm",
  A        = bf16(M, WIDTH),
  B        = bf16(HIDDEN, WIDTH),
  D        = bf16(M, HIDDEN),
  bias     = tensor { HIDDEN, axes = "n", dtype = "bf16" },
  epilogue = function(acc, t) return gelu(acc + t.bias) end,
  tile     = { m = 64, n = 128, k = 64 }, -- requests are few rows
  run      = { { M = 1 }, { M = 77 } },
}

kernel "ffn_down" {
  family   = "gemm",
  A        = bf16(M, HIDDEN),
  B        = bf16(WIDTH, HIDDEN),
  D        = bf16(M, WIDTH),
  bias     = tensor { WIDTH, axes = "n", dtype = "bf16" },
  x        = bf16(M, WIDTH),
  epilogue = function(acc, t) return t.x + acc + t.bias end,
  tile     = { m = 64, n = 128, k = 64 },
  run      = { { M = 1 }, { M = 77 } },
}
