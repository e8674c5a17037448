-- A last wave that is at most half full, by halves of rows and whole: `tilewright bench tests/bench/gemm_tail.lua` times
-- both beside each other and beside cuBLASLt. On 132 multiprocessors 16896 and 25344 columns fill 16 and 24 waves of
-- pairs, 17152 leave two of the 66 pairs, 24576 leave 18, 17920 leave all but two: there halves are not taken.
local M, N, K = dims "M N K"
local function size(n) return { M = 4096, N = n, K = 1536 } end
local whole = kernel "whole" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 256, k = 64 }, cluster = { m = 2 }, arch = { sm_90a = {} },
  pipeline = { store = "late" }, schedule = { order = "grouped", group = 16 },
  cache = { A = "evict_last", D = "evict_first" },
  run = { { M = 520, N = 200, K = 136 } },
  bench = { size(16896), size(17152), size(17920), size(24576), size(25344) },
}
kernel "halves" { like = whole, schedule = { tail = "halves" } }
