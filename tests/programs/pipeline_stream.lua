-- Blocks have shares of the turns of all items (schedule.stream): orders, layouts and types, several sums of a loop,
-- axes of one place, the second operand in the instruction's rows. Sizes: fewer items than blocks, as many, items that
-- are cut at their ends and in their middle, one turn, none.
local Z, M, N, K = dims "Z M N K"
local sizes = {
  { M = 72, N = 200, K = 392 }, { M = 41, N = 41, K = 648 }, { M = 130, N = 264, K = 136 }, { M = 64, N = 40, K = 0 },
  { M = 200, N = 72, K = 24 },
}
local function of(more)
  more.stream = true
  return more
end
local plain = kernel "stream_row" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 64, n = 64, k = 64 }, cluster = { m = 1 }, pipeline = { stages = 3 }, arch = { sm_90a = {} },
  schedule = of { order = "row" }, run = sizes,
}
kernel "stream_column" { like = plain, schedule = { order = "column" } }
kernel "stream_grouped" {
  like = plain, schedule = { order = "grouped", group = 2 }, D = tensor { M, N, dtype = "fp16" },
}
kernel "stream_curve" { like = plain, schedule = { order = "hilbert", group = 2 }, D = tensor { M, N, dtype = "fp32" } }
kernel "stream_cluster_n" { like = plain, cluster = { n = 2 }, tile = { m = 64, n = 32 }, schedule = { order = "row" } }
kernel "stream_clusters" { like = plain, cluster = { m = 2, n = 2 }, tile = { m = 64, n = 32 } }
kernel "stream_wide" { like = plain, tile = { m = 128, n = 256 }, cluster = { m = 2 }, pipeline = { stages = 2 } }
kernel "stream_three" { like = plain, tile = { m = 192, n = 64 }, launch = { programmatic = true } }
kernel "stream_tall" { like = plain, tile = { m = 256, n = 64 }, pipeline = { stages = 2, poll = "lane" } }
kernel "stream_swapped" { like = plain, tile = { m = 16, n = 64 }, pipeline = { swap = true } }
kernel "stream_swapped_pair" {
  like = plain, tile = { m = 16, n = 128 }, cluster = { n = 2 }, pipeline = { swap = true },
}
kernel "stream_turned" {
  like = plain,
  A = tensor { K, M, axes = "k m", dtype = "bf16" }, B = tensor { K, N, axes = "k n", dtype = "bf16" },
  C = tensor { N, M, axes = "n m", dtype = "fp32" }, alpha = scalar("fp32", 0.5), beta = scalar("fp32", -1.5),
  D = tensor { N, M, axes = "n m", dtype = "bf16" },
}
kernel "stream_fp8" {
  like = plain, tile = { k = 128 }, A = tensor { M, K, dtype = "fp8_e4m3" }, B = tensor { N, K, dtype = "fp8_e4m3" },
}
kernel "stream_tf32" {
  like = plain, tile = { k = 32 }, A = tensor { M, K, dtype = "tf32" }, B = tensor { N, K, dtype = "tf32" },
  D = tensor { M, N, dtype = "fp32" },
}
kernel "stream_int8" {
  like = plain, A = tensor { M, K, dtype = "int8" }, B = tensor { N, K, dtype = "int8" },
  D = tensor { M, N, dtype = "int32" },
}

-- Two sums of one loop, and behind it a reduction of whole rows.
local gated = kernel "stream_gated" {
  axes = "m n k", grid = { m = M, n = N }, tile = { m = 64, n = 64, k = 64 }, cluster = { m = 2 },
  arch = { sm_90a = {} }, pipeline = { stages = 3 }, schedule = of {},
  A = tensor { M, K, dtype = "bf16" }, G = tensor { N, K, dtype = "bf16" }, U = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16", out = true }, S = tensor { M, dtype = "fp32", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local gate, up = loop("k", range(0, K, tile.k), { zeros(), zeros() }, function(k, gate, up)
      local along = span(k, tile.k)
      local a = load(t.A, m, along)
      return dot(a, load(t.G, n, along):t(), gate), dot(a, load(t.U, n, along):t(), up)
    end)
    local both = silu(gate) * up
    store(t.D, m, n, both)
    store_add(t.S, m, row_sum(both * both))
  end,
  run = sizes,
}

-- Items along an axis without a tile, a loop that begins behind the first column, and one of a constant length.
local function batch(name, from, to, sizes)
  kernel(name) {
    axes = "b m n k", grid = { b = Z, m = M, n = N }, tile = { m = 64, n = 64, k = 64 }, arch = { sm_90a = {} },
    pipeline = { stages = 3 }, schedule = of {},
    A = tensor { Z, M, K, dtype = "bf16" }, W = tensor { Z, N, K, dtype = "bf16" },
    D = tensor { Z, M, N, dtype = "bf16", out = true },
    program = function(t, at, tile)
      local m, n = span(at.m, tile.m), span(at.n, tile.n)
      store(t.D, at.b, m, n, loop("k", range(from, to, tile.k), { zeros() }, function(k, sum)
        return dot(load(t.A, at.b, m, span(k, tile.k)), load(t.W, at.b, n, span(k, tile.k)):t(), sum)
      end))
    end,
    run = sizes,
  }
end
local function at(z, m, n, k) return { Z = z, M = m, N = n, K = k } end
batch("stream_batch", 0, K, { at(3, 72, 72, 328), at(1, 40, 24, 520), at(2, 64, 64, 0) })
batch("stream_from", 64, K, { at(2, 72, 72, 328), at(1, 40, 24, 40), at(1, 40, 24, 520) })
batch("stream_constant", 0, 320, { at(2, 72, 72, 320), at(1, 24, 40, 136) })
