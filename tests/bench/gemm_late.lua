-- Results that go out in the next item's first turns, beside what hides the epilogue otherwise or not at all:
-- `tilewright bench tests/bench/gemm_late.lua` times the kernels beside each other and beside cuBLASLt, in bursts and
-- sustained. chunks, whole and in_turn are the other ways.
local M, N, K = dims "M N K"
local base = kernel "chunks" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 256, k = 64 }, cluster = { m = 2 }, arch = { sm_90a = {} },
  pipeline = { stages = 4, store = "chunks" },
  run = { { M = 264, N = 520, K = 136 } },
  bench = {
    { M = 4096, N = 24576, K = 1536 }, { M = 4096, N = 7168, K = 2048 }, { M = 4096, N = 4096, K = 4096 },
    { M = 4096, N = 14336, K = 4096 },
  },
}
kernel "whole" { like = base, pipeline = { stages = 3, store = "whole" } }
kernel "in_turn_176" { like = base, tile = { n = 176 }, pipeline = { stages = 4, mode = "items" } }
kernel "in_turn_192" { like = base, tile = { n = 192 }, pipeline = { stages = 4, mode = "items" },
  schedule = { group = 16 } }
kernel "late" { like = base, pipeline = { store = "late" } }
kernel "late_3" { like = base, pipeline = { stages = 3, store = "late" } }
kernel "late_group_16" { like = base, pipeline = { store = "late" }, schedule = { group = 16 } }
kernel "late_along_n" { like = base, cluster = { m = 1, n = 2 }, pipeline = { store = "late" } }
kernel "late_192" { like = base, tile = { n = 192 }, pipeline = { store = "late" } }
kernel "late_256x128" { like = base, tile = { m = 256, n = 128 }, pipeline = { store = "late" } }
kernel "late_192x192" { like = base, tile = { m = 192, n = 192 }, pipeline = { stages = 3, store = "late" } }
