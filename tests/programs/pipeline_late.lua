-- Results that go out in the next item's first turns, packed in registers until then: several chunks of 64 rows and
-- one, of one to three consumers, with clusters and without; with arithmetic, two results, and 32 bits.
local M, N, K = dims "M N%8 K"
local late = { store = "late" }
local function gemm(name, fields)
  local own = {
    family = "gemm", arch = { sm_90a = {} },
    A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
    tile = { m = 128, n = 256, k = 64 }, cluster = { m = 1 }, pipeline = late,
    -- Many items of a block. More turns than chunks, fewer, none.
    run = { { M = 392, N = 392, K = 328 }, { M = 300, N = 520, K = 72 }, { M = 200, N = 264, K = 0 } },
  }
  for key, value in pairs(own) do if fields[key] == nil then fields[key] = value end end
  return kernel(name)(fields)
end
gemm("late_gemm", {
  cluster = { m = 2 }, -- and one turn, as many as chunks, one more; fewer items than blocks
  run = {
    { M = 520, N = 776, K = 40 }, { M = 392, N = 520, K = 256 }, { M = 72, N = 40, K = 200 },
    { M = 300, N = 520, K = 264 }, { M = 520, N = 520, K = 0 },
  },
})
gemm("late_192", { tile = { m = 128, n = 192, k = 64 }, cluster = { m = 1, n = 2 },
  pipeline = { store = "late", stages = 3 } })
gemm("late_two_blocks", { tile = { m = 256, n = 128, k = 64 }, pipeline = { store = "late", poll = "lane" } })
gemm("late_alone", { tile = { m = 64, n = 256, k = 32 }, cluster = { m = 1, n = 2 } })
gemm("late_small", { tile = { m = 64, n = 128, k = 32 } })
gemm("late_of_three", { tile = { m = 192, n = 192, k = 64 } })
gemm("late_one_chunk", { tile = { m = 128, n = 64, k = 64 }, schedule = { dynamic = true, order = "row" } })
gemm("late_odd_columns", { tile = { m = 128, n = 104, k = 64 }, pipeline = { store = "late", stages = 2 },
  run = { { M = 300, N = 264, K = 840 }, { M = 200, N = 136, K = 200 } } })
gemm("late_km", { A = tensor { K, M, axes = "k m", dtype = "bf16" }, D = tensor { M, N, dtype = "fp32" },
  tile = { m = 128, n = 128, k = 32 } })
gemm("late_epilogue", {
  bias = tensor { N, axes = "n", dtype = "bf16" }, rest = tensor { M, N, dtype = "bf16" },
  tile = { m = 128, n = 128, k = 64 }, epilogue = function(acc, t) return gelu(acc + t.bias) + t.rest end,
})
gemm("late_bias", {
  bias = tensor { N, axes = "n", dtype = "bf16" }, cluster = { m = 2 },
  epilogue = function(acc, t) return relu(acc + t.bias) end,
})
gemm("late_two_results", {
  tile = { m = 128, n = 128, k = 64 }, E = tensor { M, N, dtype = "fp16", out = true },
  epilogue = function(acc) return { D = acc, E = relu(acc) } end,
})

-- Two sums of one loop make a result; of a batch, so that three coordinates wait with it.
local G = dims "G"
kernel "late_gated" {
  X = tensor { G, M, K, dtype = "bf16", axes = "g m k" }, W = tensor { G, N, K, dtype = "bf16", axes = "g n k" },
  V = tensor { G, N, K, dtype = "bf16", axes = "g n k" },
  D = tensor { G, M, N, dtype = "bf16", axes = "g m n", out = true },
  axes = "g m n k", tile = { m = 128, n = 128, k = 64 }, grid = { g = G, m = M, n = N }, arch = { sm_90a = {} },
  pipeline = late,
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local w, v = loop("k", range(0, K, tile.k), { zeros(), zeros() }, function(k, w, v)
      local x, s = load(t.X, at.g, m, span(k, tile.k)), span(k, tile.k)
      return dot(x, load(t.W, at.g, n, s):t(), w), dot(x, load(t.V, at.g, n, s):t(), v)
    end)
    store(t.D, at.g, m, n, w * v)
  end,
  reference = function(t, n)
    for g = 0, n.G - 1 do
      for i = 0, n.M - 1 do
        for j = 0, n.N - 1 do
          local w, v = 0, 0
          for k = 0, n.K - 1 do
            w = w + t.X[g][i][k] * t.W[g][j][k]
            v = v + t.X[g][i][k] * t.V[g][j][k]
          end
          t.D[g][i][j] = w * v
        end
      end
    end
  end,
  run = {
    { G = 3, M = 200, N = 136, K = 72 }, { G = 2, M = 264, N = 264, K = 200 }, { G = 2, M = 136, N = 72, K = 0 },
  },
}
