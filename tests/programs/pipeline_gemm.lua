-- Matrix products as programs, for tensor copies and wgmma, and for cp.async and mma.sync: layouts, clusters, what follows the sum, several outputs.
local M, N, K = dims "M N K"

local function by_hand(a, b, finish)
  return function(t, n)
    for i = 0, n.M - 1 do
      for j = 0, n.N - 1 do
        local sum = 0
        for k = 0, n.K - 1 do sum = sum + (a == "k m" and t.A[k][i] or t.A[i][k]) * (b == "k n" and t.B[k][j] or t.B[j][k]) end
        if finish then finish(t, i, j, sum) else t.D[i][j] = sum end
      end
    end
  end
end

-- The sum over k of A and B as their axes say.
local function product(t, at, tile, a_axes, b_axes)
  local m, n = span(at.m, tile.m), span(at.n, tile.n)
  return loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
    local along = span(k, tile.k)
    local a = a_axes == "k m" and load(t.A, along, m):t() or load(t.A, m, along)
    local b = b_axes == "k n" and load(t.B, along, n) or load(t.B, n, along):t()
    return dot(a, b, sum)
  end), m, n
end

local function gemm(name, fields)
  local a, b, dtype = fields.a or "m k", fields.b or "n k", fields.dtype or "bf16"
  fields.a, fields.b, fields.dtype = nil, nil, nil
  local own = {
    axes = "m n k", tile = { m = 128, n = 256, k = 64 }, grid = { m = M, n = N },
    arch = { sm_90a = {}, sm_80 = { tile = { n = 96 }, pipeline = { stages = 3 }, schedule = { persistent = true } } },
    A = tensor { a == "k m" and K or M, a == "k m" and M or K, dtype = dtype, axes = a },
    B = tensor { b == "k n" and K or N, b == "k n" and N or K, dtype = dtype, axes = b },
    D = tensor { M, N, dtype = dtype, axes = "m n", out = true },
    program = function(t, at, tile)
      local sum, m, n = product(t, at, tile, a, b)
      store(t.D, m, n, sum)
    end,
    reference = by_hand(a, b),
    run = { { M = 200, N = 264, K = 344 }, { M = 8, N = 8, K = 8 }, { M = 72, N = b == "k n" and 136 or 133, K = 40 } },
  }
  for key, value in pairs(own) do if fields[key] == nil then fields[key] = value end end
  return kernel(name)(fields)
end

gemm("gemm_program", { run = { { M = 200, N = 264, K = 344 }, { M = 8, N = 8, K = 8 }, { M = 300, N = 520, K = 72 },
  { M = 9, N = 16, K = 0 }, { M = 70, N = 261, K = 72 } } })
-- The L2 is asked for rows that begin with what the first turns read, and keeps those of one operand.
gemm("gemm_program_asked", { cache = { A = "prefetch_evict_last", B = "prefetch" }, arch = { sm_90a = {} },
  tile = { m = 64, n = 64, k = 64 }, run = { { M = 70, N = 264, K = 600 }, { M = 8, N = 8, K = 8 }, { M = 9, N = 16, K = 0 } } })
-- Parts of the sum that threads add up, each consumer's dot in its turn; the L2 gives up the results.
gemm("gemm_program_turns", {
  tile = { m = 128, n = 128, k = 64 }, pipeline = { turns = true }, cache = { D = "evict_first" }, arch = { sm_90a = {} },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    store(t.D, m, n, loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local along = span(k, tile.k)
      return sum + dot(load(t.A, m, along), load(t.B, n, along):t()) * 0.5
    end))
  end,
  reference = by_hand("m k", "n k", function(t, i, j, sum) t.D[i][j] = 0.5 * sum end),
})
gemm("gemm_program_km", { a = "k m", cluster = { m = 1, n = 2 } })
-- One row of a stride that fits no 16 bytes.
gemm("gemm_program_kn", { b = "k n", tile = { m = 128, n = 128, k = 64 }, cluster = { m = 2, n = 2 },
  run = { { M = 200, N = 264, K = 344 }, { M = 8, N = 8, K = 8 }, { M = 72, N = 136, K = 40 }, { M = 1, N = 24, K = 326 } } })
gemm("gemm_program_km_kn", { a = "k m", b = "k n", dtype = "fp16", tile = { m = 64, n = 96, k = 32 }, cluster = { m = 1 } })
gemm("gemm_program_tall", { tile = { m = 192, n = 128, k = 64 }, pipeline = { stages = 3 }, schedule = { order = "row" } })
gemm("gemm_program_blocks", { tile = { m = 256, n = 128, k = 64 }, schedule = { order = "column", persistent = false } })
gemm("gemm_program_fp32", { D = tensor { M, N, dtype = "fp32", axes = "m n", out = true }, tile = { m = 128, n = 160, k = 64 } })
gemm("gemm_program_epilogue", {
  C = tensor { M, N, dtype = "bf16", axes = "m n" }, bias = tensor { N, dtype = "bf16", axes = "n" },
  E = tensor { M, N, dtype = "fp32", axes = "m n", out = true }, alpha = scalar("fp32", 0.5), beta = scalar("fp32", 0.25),
  tile = { m = 128, n = 128, k = 64 },
  program = function(t, at, tile)
    local sum, m, n = product(t, at, tile, "m k", "n k")
    local x = sum * t.alpha + t.bias
    store(t.E, m, n, x)
    store(t.D, m, n, gelu(x) + t.beta * load(t.C, m, n))
  end,
  reference = by_hand("m k", "n k", function(t, i, j, sum)
    local x = sum * t.alpha + t.bias[j]
    t.E[i][j], t.D[i][j] = x, gelu(x) + t.beta * t.C[i][j]
  end),
})
-- Tiles that begin outside of the tensors, and within 16 bytes: cp.async cannot bring those.
for name, start in pairs { before = -1, behind = 1, eight = -8 } do
  gemm("gemm_program_begins_" .. name, {
    b = "k n", tile = { m = 64, n = 64, k = 32 }, arch = { sm_80 = { schedule = { persistent = true } } },
    program = function(t, at, tile)
      store(t.D, span(at.m, tile.m), span(at.n, tile.n), loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
        local a = load(t.A, span(at.m - 1, tile.m), span(k + start, tile.k))
        return dot(a, load(t.B, span(k, tile.k), span(at.n, tile.n)), sum)
      end))
    end,
    reference = function(t, n)
      for i = 0, n.M - 1 do
        for j = 0, n.N - 1 do
          local sum = 0
          for k = 0, n.K - 1 do
            local inside = i > 0 and k + start >= 0 and k + start < n.K
            sum = sum + (inside and t.A[i - 1][k + start] * t.B[k][j] or 0)
          end
          t.D[i][j] = sum
        end
      end
    end,
  })
end
