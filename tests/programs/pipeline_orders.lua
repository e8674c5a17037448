-- Orders in which blocks take items, each on grids that fill its bands and squares and that do not.
local M, N, K = dims "M N K"
local function of(order, group) return { order = order, group = group, persistent = true } end
local curve = kernel "orders_curve" {
  family = "gemm", A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 64, n = 32, k = 16 }, cluster = { m = 1 }, schedule = of("hilbert", 4), arch = { sm_90a = {}, sm_80 = {} },
  run = {
    { M = 64 * 9 - 8, N = 32 * 11, K = 120 }, { M = 64 * 8, N = 32 * 8 - 8, K = 8 }, { M = 64 * 3, N = 32 * 9, K = 8 },
    { M = 64 * 13, N = 24, K = 8 }, { M = 72, N = 45, K = 8 },
  },
}
kernel "orders_curve_of_eight" { like = curve, schedule = of("hilbert", 8) }
kernel "orders_curve_of_clusters" { like = curve, cluster = { m = 2, n = 2 }, schedule = of("hilbert", 2), arch = { sm_80 = { cluster = { m = 1, n = 1 } } } }
kernel "orders_curve_in_turn" { like = curve, tile = { m = 128 }, arch = { sm_90a = { pipeline = { mode = "items" } } } }
kernel "orders_grouped" { like = curve, schedule = of("grouped", 3) }
kernel "orders_row" { like = curve, schedule = { order = "row" } }
kernel "orders_column" { like = curve, schedule = { order = "column" } }
