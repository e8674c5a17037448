-- Few output tiles and much k: the blocks of a cluster share the turns over k. Each has the sums of its own turns;
-- behind the loop every block gets its columns from the others, through their shared memory, and stores them.
local M, N, K = dims "M N K"
local sizes = { { M = 72, N = 264, K = 712 }, { M = 41, N = 41, K = 1160 }, { M = 64, N = 40, K = 0 },
                { M = 264, N = 136, K = 40 } }

local bf16 = kernel "gemm_split_2" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile  = { m = 64, n = 64, k = 64 },
  split = { k = 2 },
  pipeline = { stages = 3 },
  arch  = { sm_90a = {} },
  run   = sizes,
}

kernel "gemm_split_4" { like = bf16, split = { k = 4 } }

kernel "gemm_split_8" { like = bf16, split = { k = 8 } }

-- Two consumers; beside the parts two tiles along m, which share B's.
kernel "gemm_split_cluster" {
  like = bf16, tile = { m = 128, n = 128, k = 64 }, cluster = { m = 2 },
  run = {
    { M = 72, N = 264, K = 712 }, { M = 41, N = 41, K = 1160 }, { M = 64, N = 40, K = 0 },
    { M = 1032, N = 136, K = 40 },
  },
}

kernel "gemm_split_wide" {
  like = bf16, tile = { m = 128, n = 256, k = 64 }, cluster = { n = 2 }, pipeline = { stages = 2 },
  arch = { sm_100a = { asked = true, tile = { n = 128 } } }, -- its threads begin with fewer registers and keep them
}

kernel "gemm_split_bias_gelu_residual" {
  like = bf16,
  bias = tensor { N, axes = "n", dtype = "bf16" },
  R    = tensor { M, N, dtype = "bf16" },
  epilogue = function(acc, t) return gelu(acc + t.bias) + t.R end,
}

kernel "gemm_split_two_outputs" {
  like = bf16,
  tile = { m = 128, n = 64, k = 64 },
  E    = tensor { M, N, dtype = "fp32", out = true },
  epilogue = function(acc, t, i) return { D = silu(acc), E = select(lt(i.n, i.m), acc, 0) } end,
}

kernel "gemm_split_alpha_beta" {
  like = bf16,
  C = tensor { M, N, dtype = "bf16" }, alpha = scalar("fp32", 0.5), beta = scalar("fp32", -1.5),
}

-- D lies with m innermost: its rows are the columns that blocks share.
kernel "gemm_split_turned" {
  like = bf16,
  A = tensor { K, M, axes = "k m", dtype = "bf16" }, B = tensor { K, N, axes = "k n", dtype = "bf16" },
  C = tensor { N, M, axes = "n m", dtype = "fp32" },
  D = tensor { N, M, axes = "n m", dtype = "bf16" },
}

kernel "gemm_split_fp8" {
  like = bf16, tile = { m = 64, n = 128, k = 128 }, split = { k = 4 },
  A = tensor { M, K, dtype = "fp8_e4m3" }, B = tensor { N, K, dtype = "fp8_e4m3" },
}

kernel "gemm_split_int8" {
  like = bf16,
  A = tensor { M, K, dtype = "int8" }, B = tensor { N, K, dtype = "int8" }, D = tensor { M, N, dtype = "int32" },
}

kernel "gemm_split_tf32" {
  like = bf16, tile = { k = 32 },
  A = tensor { M, K, dtype = "tf32" }, B = tensor { N, K, dtype = "tf32" }, D = tensor { M, N, dtype = "fp32" },
}

-- Over blocks of no cluster: each writes its sums into the workspace, and the last adds them up, in their order. Any
-- number of parts, on any architecture, and behind the loop whatever one block can do.
local both = { sm_90a = {}, sm_80 = { tile = { m = 64, n = 64, k = 32 }, pipeline = { stages = 3 } } }
local over = kernel "gemm_split_blocks" { like = bf16, split = { k = { parts = 3, over = "blocks" } }, arch = both }

kernel "gemm_split_blocks_cluster" {
  like = over, tile = { m = 128, n = 128, k = 64 }, cluster = { m = 2 }, arch = { sm_90a = {} },
}

kernel "gemm_split_blocks_epilogue" {
  like = over, split = { k = { parts = 4, over = "blocks" } },
  bias = tensor { N, axes = "n", dtype = "bf16" },
  R    = tensor { M, N, dtype = "bf16" },
  E    = tensor { M, N, dtype = "fp32", out = true },
  epilogue = function(acc, t) return { D = gelu(acc + t.bias) + t.R, E = acc } end,
}

kernel "gemm_split_blocks_int8" {
  like = over, A = tensor { M, K, dtype = "int8" }, B = tensor { N, K, dtype = "int8" },
  D = tensor { M, N, dtype = "int32" },
}

-- As a stream: the turns of all items are one line, of which each block has as many as the others. Which items are cut,
-- and by how many blocks, follows from the grid; sums of those that are come together in the workspace.
local stream = kernel "gemm_stream" {
  like = bf16, split = { k = 1 }, cluster = { m = 1 }, schedule = { stream = true },
  run = {
    { M = 72, N = 264, K = 712 }, { M = 41, N = 41, K = 1160 }, { M = 64, N = 40, K = 0 }, { M = 264, N = 136, K = 40 },
    { M = 264, N = 136, K = 520 },
  },
}

kernel "gemm_stream_cluster" {
  like = stream, tile = { m = 128, n = 128, k = 64 }, cluster = { m = 2 },
  run = { { M = 72, N = 264, K = 712 }, { M = 520, N = 136, K = 392 }, { M = 64, N = 40, K = 0 } },
}

kernel "gemm_stream_epilogue" {
  like = stream,
  bias = tensor { N, axes = "n", dtype = "bf16" },
  R    = tensor { M, N, dtype = "bf16" },
  E    = tensor { M, N, dtype = "fp32", out = true },
  epilogue = function(acc, t) return { D = gelu(acc + t.bias) + t.R, E = acc } end,
}

-- A gated pair and the sums of its rows' squares: two sums of one loop, and a reduction of whole rows behind it.
kernel "gemm_split_gated" {
  axes = "m n k", grid = { m = M, n = N }, tile = { m = 64, n = 64, k = 64 }, pipeline = { stages = 3 },
  split = { k = { parts = 2, over = "blocks" } }, schedule = { dynamic = true }, arch = both,
  A = tensor { M, K, dtype = "bf16" },
  G = tensor { N, K, dtype = "bf16" },
  U = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16", out = true },
  S = tensor { M, dtype = "fp32", out = true },
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

-- The same pair over a cluster: each sum by its columns.
kernel "gemm_split_gated_cluster" {
  axes = "m n k", grid = { m = M, n = N }, tile = { m = 64, n = 64, k = 64 }, pipeline = { stages = 3 },
  split = { k = 2 }, arch = { sm_90a = {} },
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
  run = sizes,
}
