-- What tests/emu/test_bench.c benches on the emulator: a product in every layout, of other tiles, of other types, with
-- an epilogue, one that goes wrong, and products of groups of rows.
local M, N, K = dims "M N K"
local a, b = tensor { M, K, dtype = "bf16" }, tensor { N, K, dtype = "bf16" }
local along_m, along_n = tensor { K, M, axes = "k m", dtype = "bf16" }, tensor { K, N, axes = "k n", dtype = "bf16" }

local plain = kernel "plain" {
  family = "gemm",
  A = a,
  B = b,
  D = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 64, k = 64 },
  arch = { sm_90a = {} },
  bench = { { M = 136, N = 72, K = 64 } },
}
kernel "other" { like = plain, tile = { m = 64, n = 32 } }
kernel "fused" { like = plain, epilogue = function(acc) return relu(acc) end }
kernel "wrong" { like = plain, tile = { n = 128 } }
kernel "at" { like = plain, A = along_m }
kernel "bt" { like = plain, B = along_n }
kernel "at_bt" { like = plain, A = along_m, B = along_n }
local dt = kernel "dt" { like = plain, D = tensor { N, M, axes = "n m", dtype = "bf16" } }
kernel "at_dt" { like = dt, A = along_m }
kernel "bt_dt" { like = dt, B = along_n }
kernel "at_bt_dt" { like = dt, A = along_m, B = along_n }
local fp8 = tensor { M, K, dtype = "fp8_e4m3" }
kernel "fp8" { like = plain, A = fp8, B = tensor { N, K, dtype = "fp8_e5m2" }, tile = { k = 128 } }
kernel "int8" {
  like = plain,
  A = tensor { M, K, dtype = "int8" },
  B = tensor { N, K, dtype = "int8" },
  D = tensor { M, N, dtype = "int32" },
  tile = { k = 128 },
}
kernel "tf32" {
  like = plain,
  A = tensor { M, K, dtype = "tf32" },
  B = tensor { N, K, dtype = "tf32" },
  D = tensor { M, N, dtype = "fp32" },
  tile = { k = 32 },
}

-- Groups whose rows data decide: 0, 70 and all M of three; and tiles of rows of which the second is nobody's.
local function sum(t, tile, n, group, a)
  return loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
    local along = span(k, tile.k)
    return dot(a(along), load(t.B, group, n, along):t(), sum)
  end)
end
local contiguous = kernel "contiguous" {
  axes = "m n k", grid = { m = M, n = N }, tile = { m = 64, n = 64, k = 64 }, arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { 3, N, K, dtype = "bf16" },
  group = tensor { (M + 63) // 64, dtype = "int32", fill = function(i) return ({ 0, -1, 2 })[i + 1] end },
  D = tensor { M, N, dtype = "bf16", out = true },
  peer = { "gemm", a = "A", b = "B", d = "D" },
  program = function(t, at, tile)
    local group = t.group[at.m // 64]
    local m, n = span(at.m, tile.m, where(ge(group, 0), M, 0)), span(at.n, tile.n)
    store(t.D, m, n, sum(t, tile, n, max(group, 0), function(along) return load(t.A, m, along) end))
  end,
  bench = { { M = 136, N = 72, K = 64 } },
}
kernel "masked" {
  like = contiguous, axes = "e m n k", grid = { e = 3, m = M, n = N }, group = false,
  A = tensor { 3, M, K, dtype = "bf16" },
  count = tensor { 3, dtype = "int32", fill = function(e, n) return ({ 0, 70, n.M })[e + 1] end },
  D = tensor { 3, M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m, t.count[at.e]), span(at.n, tile.n)
    store(t.D, at.e, m, n, sum(t, tile, n, at.e, function(along) return load(t.A, at.e, m, along) end))
  end,
}
