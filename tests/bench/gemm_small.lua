-- Candidates of few rows: `tilewright bench tests/bench/gemm_small.lua` times those of one problem beside each other
-- and beside cuBLASLt.
local M, N, K = dims "M N K"
local function g(f)
  f.family = "gemm"
  f.A, f.B = tensor { M, K, dtype = "bf16" }, tensor { N, K, dtype = "bf16" }
  f.D = tensor { M, N, dtype = "bf16" }
  f.arch, f.cluster = { sm_90a = {} }, f.cluster or { m = 1 }
  return f
end
local hints = { A = "evict_last", B = "evict_first" }
for _, m in ipairs { 8, 16, 64, 128 } do
  local sizes = m == 128 and { { M = 128, N = 7168, K = 2048 }, { M = 128, N = 24576, K = 1536 } }
    or m == 64 and { { M = 64, N = 4096, K = 4096 }, { M = 64, N = 7168, K = 2048 } }
    or { { M = m == 8 and 1 or 16, N = 4096, K = 4096 } }
  local k = m == 128 and 64 or 128
  local function c(name, f)
    f.tile = f.tile or { m = m, n = 64, k = k }
    f.pipeline = f.pipeline or { swap = true }
    f.bench, f.run = sizes, { { M = 17, N = 264, K = 2056 } }
    kernel("m" .. m .. "_" .. name) (g(f))
  end
  c("swap", {})
  c("hints", { cache = hints })
  c("l2_256", { l2_promotion = "256B" })
  c("wide", { tile = { m = m, n = 128, k = k } })
  c("k256", { tile = { m = m, n = 64, k = 2 * k } })
  c("pdl", { launch = { programmatic = true } })
  if m >= 16 then
    c("cluster2", { cluster = { n = 2 } })
    c("split2", { split = { k = 2 } })
    c("split2_hints", { split = { k = 2 }, cache = hints })
  end
  if m >= 32 then c("split4", { split = { k = 4 } }) end
  if m == 8 then
    c("m16_split2", { tile = { m = 16, n = 64, k = 128 }, split = { k = 2 } })
    c("m32_split4", { tile = { m = 32, n = 64, k = 128 }, split = { k = 4 } })
  end
  if m == 128 then
    -- 56 columns are one wave of 128 blocks at N = 7168, 96 two at 24576.
    for _, n in ipairs { 56, 96, 192 } do
      c("rows_n" .. n, { tile = { m = 128, n = n, k = 64 }, pipeline = { swap = false } })
      c("rows_n" .. n .. "_hints", { tile = { m = 128, n = n, k = 64 }, pipeline = { swap = false }, cache = hints })
    end
  end
  c("once", { schedule = { persistent = false } })
  c("plain_64x32", { tile = { m = 64, n = 32, k = 128 }, pipeline = { swap = false }, cluster = { m = 1 } })
end
