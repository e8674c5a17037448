-- Kernels for GPUs of compute capability 8.6, 8.9 and 12.0 by themselves: their blocks have 99 KB of shared memory, 8.9
-- and 12.0 multiply fp8, and on 12.0 bulk copies bring what mma.sync multiplies.
local M, N, K = dims "M N K"

local function gemm(name, a, b, d, arch)
  kernel(name) {
    family = "gemm",
    A = tensor { M, K, dtype = a }, B = tensor { N, K, dtype = b }, D = tensor { M, N, dtype = d },
    tile = { m = 128, n = 128, k = a:sub(1, 3) == "fp8" and 128 or 64 }, pipeline = { stages = 3 }, arch = arch,
    run = { { M = 72, N = 136, K = 656 }, { M = 41, N = 41, K = 336 }, { M = 8, N = 16, K = 0 } },
  }
end
gemm("gemm_ampere", "bf16", "bf16", "bf16", { sm_80 = {}, sm_86 = {}, sm_89 = {}, sm_120a = {} })
gemm("gemm_ampere_int8", "int8", "int8", "int32", { sm_86 = {}, sm_89 = {} })
gemm("gemm_ada_e4m3", "fp8_e4m3", "fp8_e4m3", "bf16", { sm_89 = {} })
gemm("gemm_ada_mixed", "fp8_e5m2", "fp8_e4m3", "fp32", { sm_89 = { tile = { n = 64 } }, sm_120a = { tile = { n = 64 } } })

local R, C = dims "R C"
kernel "squares_ampere" {
  x = tensor { R, C, dtype = "bf16" }, y = tensor { R, C, dtype = "bf16", out = true }, most = tensor { R, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 1, c = 256 }, grid = { r = R }, arch = { sm_86 = {}, sm_89 = {}, sm_120a = {} },
  program = function(t, at, tile)
    local row = span(at.r, tile.r)
    local most = loop("c", range(0, C, tile.c), { rows(0) }, function(c, most)
      local x = cast(load(t.x, row, span(c, tile.c)), "fp32")
      store(t.y, row, span(c, tile.c), x * x)
      return max(most, row_max(x * x))
    end)
    store(t.most, row, most)
  end,
  run = { { R = 5, C = 1024 }, { R = 3, C = 41 } },
}

-- Rows lie across, which takes more than a twelfth of the registers: the producer gives some of its own. Two blocks have
-- parts of each loop.
kernel "gemm_blackwell_across" {
  family = "gemm",
  A = tensor { K, M, dtype = "bf16", axes = "k m" }, B = tensor { K, N, dtype = "bf16", axes = "k n" },
  D = tensor { M, N, dtype = "fp32" },
  tile = { m = 128, n = 128, k = 32 }, pipeline = { stages = 3 }, split = { k = { parts = 2, over = "blocks" } },
  arch = { sm_120a = {} }, run = { { M = 40, N = 136, K = 264 }, { M = 136, N = 16, K = 8 } },
}
