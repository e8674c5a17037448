-- Products that are more than D = epilogue(A B^T): a batch, a gated pair, sums of rows beside the result, a sum over k
-- that several blocks share. Each is a program of its own, in which dots, loops and stores stand as they are computed.
local B, M, N, K = dims "B M N K"
local tile = { m = 128, n = 128, k = 64 }
local arch = { sm_90a = {}, sm_80 = { pipeline = { stages = 3 } } }

-- One item's sum of A's rows m by the rows n of W, over k from `from` to `to`.
local function product(t, m, n, from, to)
  return loop("k", range(from, to, 64), { zeros() }, function(k, sum)
    return dot(load(t.A, m, span(k, 64)), load(t.W, n, span(k, 64)):t(), sum)
  end)
end

-- A batch: the axis b has no tile, so that each item is of one of its matrices.
local batched = kernel "gemm_batched" {
  axes = "b m n k", grid = { b = B, m = M, n = N }, tile = tile, arch = arch,
  A = tensor { B, M, K, dtype = "bf16" },
  W = tensor { B, N, K, dtype = "bf16" },
  D = tensor { B, M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local along = span(k, tile.k)
      return dot(load(t.A, at.b, m, along), load(t.W, at.b, n, along):t(), sum)
    end)
    store(t.D, at.b, m, n, sum)
  end,
  run = {
    { B = 2, M = 264, N = 264, K = 136 }, { B = 3, M = 41, N = 41, K = 328 }, { B = 1, M = 64, N = 40, K = 0 },
    { B = 1, M = 20, N = 24, K = 904 },
  },
}

-- The same of matrices that lie anywhere: a launch is given, for each of the three tensors, a device array of as many
-- addresses as the batch has matrices, as cuBLAS takes them for cublasGemmBatchedEx.
kernel "gemm_bf16_pointers" {
  like = batched,
  A = tensor { B, M, K, dtype = "bf16", pointers = "B" },
  W = tensor { B, N, K, dtype = "bf16", pointers = "B" },
  D = tensor { B, M, N, dtype = "bf16", out = true, pointers = "B" },
}

-- silu(A G^T) * (A U^T): both products read one tile of A.
kernel "gemm_gated" {
  axes = "m n k", grid = { m = M, n = N }, tile = tile,
  arch = { sm_90a = {}, sm_80 = { tile = { m = 64, n = 64 }, pipeline = { stages = 3 } } },
  A = tensor { M, K, dtype = "bf16" },
  G = tensor { N, K, dtype = "bf16" },
  U = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local gate, up = loop("k", range(0, K, tile.k), { zeros(), zeros() }, function(k, gate, up)
      local along = span(k, tile.k)
      local a = load(t.A, m, along)
      return dot(a, load(t.G, n, along):t(), gate), dot(a, load(t.U, n, along):t(), up)
    end)
    store(t.D, m, n, silu(gate) * up)
  end,
  run = { { M = 264, N = 264, K = 136 }, { M = 41, N = 41, K = 328 }, { M = 64, N = 40, K = 0 } },
}

-- The product and the sum of its rows' squares, as the norm behind it wants it. S begins as zeros.
kernel "gemm_squares" {
  axes = "m n k", grid = { m = M, n = N }, tile = tile, arch = arch,
  A = tensor { M, K, dtype = "bf16" },
  W = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16", out = true },
  S = tensor { M, dtype = "fp32", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = product(t, m, n, 0, K)
    store(t.D, m, n, sum)
    store_add(t.S, m, row_sum(sum * sum))
  end,
  run = { { M = 264, N = 264, K = 136 }, { M = 41, N = 41, K = 328 }, { M = 64, N = 40, K = 0 } },
}

-- Few rows and columns, much k: items share the sum, 512 of k each; beyond K there are zeros. D begins as zeros; the
-- order of the items, and with it the rounding, differs from launch to launch.
kernel "gemm_split" {
  axes = "m n k", grid = { m = M, n = N, k = K }, tile = { m = 64, n = 128, k = 512 },
  schedule = { order = "row" },
  arch = { sm_90a = {}, sm_80 = { tile = { n = 64 }, pipeline = { stages = 3 } } },
  A = tensor { M, K, dtype = "bf16" },
  W = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "fp32", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    store_add(t.D, m, n, product(t, m, n, at.k, at.k + tile.k))
  end,
  run = { { M = 72, N = 264, K = 1160 }, { M = 41, N = 41, K = 712 }, { M = 64, N = 40, K = 0 } },
}
