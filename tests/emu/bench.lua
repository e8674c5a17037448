-- What tests/emu/test_bench.c benches on the emulator: a product in every layout, of other tiles, of other types, with
-- an epilogue, and one that goes wrong.
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
