local M, N, K = dims "M N K"

local base = kernel "gemm" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
}
kernel "printf" { like = base }
kernel "xor" { like = base }
kernel "schedule_next" { like = base }
kernel "operands" {
  like = base,
  threadIdx = tensor { N, axes = "n", dtype = "bf16" },
  bitand = tensor { N, axes = "n", dtype = "bf16" },
  A_map = tensor { N, axes = "n", dtype = "bf16" },
  B_stride0 = scalar "fp32",
  D_strides = scalar "fp32",
  epilogue = function(acc, t, i)
    return acc + t.threadIdx + t.bitand + t.A_map + t.B_stride0 + t.D_strides
  end,
}
local args = dims "args"
