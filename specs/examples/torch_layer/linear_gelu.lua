-- y = gelu(x W^T + b), what torch.nn.functional.gelu(torch.nn.functional.linear(x, W, b)) gives, in one kernel.
local ROWS, OUT, IN = dims "ROWS OUT IN"

kernel "linear_gelu" {
  family   = "gemm",
  A        = tensor { ROWS, IN, axes = "m k", dtype = "bf16" },
  B        = tensor { OUT, IN, axes = "n k", dtype = "bf16" },
  D        = tensor { ROWS, OUT, axes = "m n", dtype = "bf16" },
  bias     = tensor { OUT, axes = "n", dtype = "bf16" },
  epilogue = function(acc, t) return gelu(acc + t.bias) end,
  run      = { { ROWS = 33, OUT = 264, IN = 136 }, { ROWS = 1, OUT = 8, IN = 1000 } },
}
