-- Kernels that may start while the one before them in the stream still runs, one of each template that waits for it.
local M, N = dims "M N"

local function product(own)
  return {
    family = "gemm", arch = { sm_90a = {} },
    A = tensor { M, 64, dtype = "bf16" },
    B = tensor { 64, 64, dtype = "bf16", axes = "n k" },
    D = tensor { M, 64, dtype = "bf16", axes = "m n" },
    tile = { m = 64, n = 64, k = 64 },
    pipeline = own,
    launch = { programmatic = true },
  }
end
kernel "chained_products" (product { consumers = 1 })
kernel "chained_warps" (product { instruction = "mma.sync" })
kernel "chained_rows" {
  arch = { sm_90a = {} },
  A = tensor { M, 64, dtype = "bf16", axes = "m n" },
  B = tensor { 64, dtype = "bf16", axes = "n" },
  D = tensor { M, 64, dtype = "bf16", out = true, axes = "m n" },
  axes = "m n",
  tile = { m = 8 },
  grid = { m = M },
  launch = { programmatic = true },
  program = function(t, at, tile)
    local rows = span(at.m, tile.m)
    store(t.D, rows, all, load(t.A, rows, all) + load(t.B, all))
  end,
}
