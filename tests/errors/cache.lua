-- What becomes of tensors in the L2: words, names, and what no bulk copy brings.
local M, N, K = dims "M N K"
kernel "words" {
  family = "gemm",
  A      = tensor { M, K, dtype = "bf16" },
  B      = tensor { N, K, dtype = "bf16" },
  D      = tensor { M, N, dtype = "bf16" },
  bias   = tensor { N, axes = "n", dtype = "bf16" },
  cache  = {
    B = "evict_frist", X = "evict_last", A = 3,
    bias = "evict_first", D = "evict_first",
  },
  epilogue = function(acc, t) return acc + t.bias end,
  arch   = { sm_90a = {} },
}
kernel "cp_async" {
  family = "gemm",
  A      = tensor { M, K, dtype = "bf16" },
  B      = tensor { N, K, dtype = "bf16" },
  D      = tensor { M, N, dtype = "bf16" },
  cache  = { A = "prefetch", B = "evict_first", D = "prefetch" },
  arch   = { sm_80 = {} },
}
kernel "bulk" {
  family = "gemm",
  A      = tensor { K, M, axes = "k m", dtype = "bf16" },
  B      = tensor { N, K, dtype = "bf16" },
  D      = tensor { M, N, dtype = "bf16" },
  cache  = { A = "prefetch", B = "prefetch_evict_first", D = "prefetch_evict_last" },
  arch   = { sm_90a = {} },
}
local R, C = dims "R C"
kernel "rows" {
  x = tensor { R, C, dtype = "bf16" }, y = tensor { R, C, dtype = "bf16", out = true },
  axes = "r c", tile = { r = 1, c = 256 }, grid = { r = R, c = C },
  cache = { x = "evict_first" },
  program = function(t, at, tile)
    local r, c = span(at.r, tile.r), span(at.c, tile.c)
    store(t.y, r, c, load(t.x, r, c) * 2)
  end,
}
