-- The family gemm on sm_80: tiles, warps and stages that mma.sync and its registers cannot have, each told at
-- its field.
local M, N, K = dims "M N K"
local base = kernel "ok" {
  family = "gemm",
  arch = { sm_80 = {} },
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 128, k = 64 },
}
kernel "rows" { like = base, tile = { m = 120 } }
kernel "few_rows" { like = base, tile = { m = 8 } }
kernel "columns" { like = base, tile = { n = 100 } }
kernel "depth" { like = base, tile = { k = 24 } }
kernel "warps" { like = base, pipeline = { warps_m = 3 } }
kernel "threads" { like = base, pipeline = { warps_m = 8, warps_n = 8 } }
kernel "registers" { like = base, tile = { m = 256, n = 256 } }
kernel "one_stage" { like = base, pipeline = { stages = 1 } }
kernel "stages" { like = base, pipeline = { stages = 9 } }
kernel "deep" { like = base, tile = { k = 512 } }
kernel "whole_rows" {
  axes = "m n k", grid = { m = M }, tile = { m = 64, n = 64 }, arch = { sm_80 = {} },
  pipeline = { warps_n = 2 },
  A = tensor { M, 64, dtype = "bf16", axes = "m k" },
  B = tensor { N, 64, dtype = "bf16", axes = "n k" },
  D = tensor { M, dtype = "fp32", axes = "m", out = true },
  program = function(t, at, tile)
    local items = span(at.m, tile.m)
    store(t.D, items, loop("n", range(0, N, tile.n), { rows(-inf) }, function(n, most)
      return max(most, row_max(dot(load(t.A, items, all), load(t.B, span(n, tile.n), all):t())))
    end))
  end,
}
