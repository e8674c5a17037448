-- Rows of 16 bytes, the boxes of an output without a swizzle, are four columns of 4 bytes; a warp holds eight of them.
local M, N, K = dims "M N K"

local function product(name, dtype, out, tile)
  kernel(name) {
    family = "gemm", tile = tile, arch = { sm_90a = {} },
    A = tensor { M, K, dtype = dtype }, B = tensor { N, K, dtype = dtype },
    D = tensor { M, N, dtype = out, swizzle = "NONE" },
    run = { { M = 70, N = 40, K = 80 }, { M = 131, N = 104, K = 0 } },
  }
end
product("boxes_of_four", "bf16", "fp32", { m = 64, n = 40, k = 32 })
product("boxes_of_four_integers", "int8", "int32", { m = 128, n = 96, k = 64 })
product("boxes_of_four_blocks", "fp16", "fp32", { m = 128, n = 24, k = 32 })
