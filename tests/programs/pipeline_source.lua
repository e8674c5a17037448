-- An operand of a result's arithmetic that bulk copies bring into the buffers that the result leaves by:
-- tests/emu/source.sh. Ragged rows and columns; the variant for rows of any alignment reads it from where it is.
local M, N, K = dims "M N K"
local base = kernel "source_gemm" {
  family   = "gemm",
  A        = tensor { M, K, dtype = "bf16" },
  B        = tensor { N, K, dtype = "bf16" },
  D        = tensor { M, N, dtype = "bf16" },
  R        = tensor { M, N, dtype = "bf16" },
  tile     = { m = 128, n = 128, k = 64 },
  epilogue = function(acc, t) return acc + t.R end,
  via      = { R = "bulk" },
  arch     = { sm_90a = {} },
  run      = { { M = 264, N = 392, K = 136 }, { M = 41, N = 264, K = 0 }, { M = 130, N = 255, K = 72 } },
}
-- The chunks of an item are more than a block's rows of 64: two of these a consumer.
kernel "source_blocks" { like = base, tile = { m = 256, n = 64 }, pipeline = { consumers = 2 } }
kernel "source_bias_gelu" {
  like = base,
  tile = { n = 256 },
  bias = tensor { N, axes = "n", dtype = "bf16" },
  epilogue = function(acc, t) return gelu_tanh_approx(acc + t.bias) + t.R end,
  cache = { R = "evict_first" },
}
-- Columns of one span that are not 64, of another dtype; the tensor is taken twice.
kernel "source_narrow" {
  like = base,
  D = tensor { M, N, dtype = "fp16" },
  R = tensor { M, N, dtype = "fp16" },
  tile = { m = 64, n = 96 },
  epilogue = function(acc, t) return select(gt(t.R, 0), acc, -acc) * t.R end,
}
-- A stride that the launch brings, which need be no multiple of 16 bytes; items that a counter gives.
kernel "source_strided" {
  like = base, R = tensor { M, N, dtype = "bf16", stride = { N + 8, 1 } }, cluster = { m = 1 },
  schedule = { dynamic = true }, run = { { M = 264, N = 392, K = 136 }, { M = 130, N = 255, K = 72 } },
}
-- A load of a program, by its name.
kernel "source_load" {
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, C = tensor { M, N, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16", out = true },
  axes = "m n k", tile = { m = 128, n = 128, k = 64 }, grid = { m = M, n = N },
  via = { c = "bulk" },
  arch = { sm_90a = {} },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local along = span(k, tile.k)
      return dot(load(t.A, m, along), load(t.B, n, along):t(), sum)
    end)
    store(t.D, m, n, sum * 2 - load(t.C, m, n):as "c")
  end,
  run = { { M = 264, N = 392, K = 136 }, { M = 41, N = 264, K = 0 } },
}
