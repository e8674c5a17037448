-- sm_80: B lies along n, and a warp's columns begin within a swizzle's span; and parts of one block of rows and more
-- columns than registers hold two steps of.
local M, N, K = dims "M N K"

local function case(name, n, B, D)
  kernel(name) {
    family = "gemm",
    A = tensor { M, K, axes = "m k", dtype = "fp16" }, B = B, D = D,
    epilogue = function(acc) return acc * 1.5 + acc end,
    tile = { m = 128, n = n },
    arch = { sm_80 = {} },
    run = { { M = 48, N = 186, K = 64 } },
  }
end

local rows, columns = tensor { N, K, axes = "n k", dtype = "fp16" }, tensor { K, N, axes = "k n", dtype = "fp16" }
local plain, turned = tensor { M, N, axes = "m n", dtype = "bf16" }, tensor { N, M, axes = "n m", dtype = "bf16" }
case("turned_208", 208, columns, turned)
case("plain_216", 216, columns, plain)
case("rows_232", 232, rows, plain)
case("plain_208", 208, columns, plain)
