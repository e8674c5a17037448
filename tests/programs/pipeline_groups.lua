-- Matrix products where data say which tiles are multiplied: lists of blocks.
local M, N, K, L = dims "M N K L"

-- Of each row of blocks of A those that the list names: all others are taken as zero.
local function sparse(fields)
  local own = {
    A = tensor { M, K, dtype = "bf16", axes = "m k" }, B = tensor { N, K, dtype = "bf16", axes = "n k" },
    blocks = tensor { (M + 127) // 128, L, dtype = "int32", fill = "integers 0 4" },
    count = tensor { (M + 127) // 128, dtype = "int32", fill = "integers 0 3" },
    D = tensor { M, N, dtype = "bf16", axes = "m n", out = true },
    axes = "m n k", tile = { m = 128, n = 128, k = 64 }, grid = { m = M, n = N }, arch = { sm_90a = {}, sm_80 = {} },
    program = function(t, at, tile)
      local m, n, row = span(at.m, tile.m), span(at.n, tile.n), at.m // 128
      local sum = loop("k", list(t.blocks, row, 0, t.count[row]), { zeros() }, function(block, sum)
        local k = span(block * tile.k, tile.k)
        return dot(load(t.A, m, k), load(t.B, n, k):t(), sum)
      end)
      store(t.D, m, n, sum)
    end,
    reference = function(t, n)
      for i = 0, n.M - 1 do
        for j = 0, n.N - 1 do
          local sum = 0
          for l = 0, t.count[i // 128] - 1 do
            for k = t.blocks[i // 128][l] * 64, math.min(t.blocks[i // 128][l] * 64 + 63, n.K - 1) do
              sum = sum + t.A[i][k] * t.B[j][k]
            end
          end
          t.D[i][j] = sum
        end
      end
    end,
    run = { { M = 300, N = 136, K = 296, L = 3 }, { M = 8, N = 8, K = 264, L = 4 }, { M = 1160, N = 136, K = 320, L = 3 } },
  }
  for key, value in pairs(own) do if fields[key] == nil then fields[key] = value end end
  return fields
end
kernel "block_sparse" (sparse {})
kernel "block_sparse_int64" (sparse {
  blocks = tensor { (M + 127) // 128, L, dtype = "int64", fill = "integers 0 4" }, cluster = { n = 2 },
  pipeline = { stages = 2 },
})

-- A product for each group, of as many rows as its count on the device says: tiles past it are not multiplied, rows past
-- it not written.
local E, T = dims "E T"
local function groups(fields)
  local own = {
    A = tensor { E, M, K, dtype = "bf16", axes = "e m k" }, B = tensor { E, N, K, dtype = "bf16", axes = "e n k" },
    count = tensor { E, dtype = "int32", fill = "integers 0 300" },
    D = tensor { E, M, N, dtype = "bf16", axes = "e m n", out = true },
    axes = "e m n k", tile = { m = 128, n = 128, k = 64 }, grid = { e = E, m = M, n = N }, arch = { sm_90a = {}, sm_80 = {} },
    program = function(t, at, tile)
      local m, n, count = span(at.m, tile.m, t.count[at.e]), span(at.n, tile.n), t.count[at.e]
      local sum = loop("k", range(0, where(lt(at.m, count), K, 0), tile.k), { zeros() }, function(k, sum)
        return dot(load(t.A, at.e, m, span(k, tile.k)), load(t.B, at.e, n, span(k, tile.k)):t(), sum)
      end)
      store(t.D, at.e, m, n, sum)
    end,
    reference = function(t, n)
      for e = 0, n.E - 1 do
        for i = 0, math.min(n.M, t.count[e]) - 1 do
          for j = 0, n.N - 1 do
            local sum = 0
            for k = 0, n.K - 1 do sum = sum + t.A[e][i][k] * t.B[e][j][k] end
            t.D[e][i][j] = sum
          end
        end
      end
    end,
    run = { { E = 5, M = 300, N = 136, K = 200 }, { E = 9, M = 270, N = 8, K = 72 }, { E = 2, M = 8, N = 136, K = 8 } },
  }
  for key, value in pairs(own) do if fields[key] == nil then fields[key] = value end end
  return fields
end
kernel "masked_groups" (groups {})
kernel "masked_groups_fp32" (groups { D = tensor { E, M, N, dtype = "fp32", axes = "e m n", out = true },
  tile = { m = 256, n = 64, k = 64 } })

-- Groups of rows that lie behind each other: where each begins and how many it has stand on the device.
local function behind(store_rows, put, fields)
  local own = groups {
    A = tensor { T, K, dtype = "bf16", axes = "t k" }, scale = tensor { T, dtype = "fp32", axes = "t" },
    first = tensor { E, dtype = "int32", fill = "iota" }, count = tensor { E, dtype = "int32", fill = "integers 0 140" },
    D = tensor { T, N, dtype = "bf16", axes = "t n", out = true }, axes = "e m n k t", grid = { e = E, m = M, n = N },
    program = function(t, at, tile)
      local from, n = t.first[at.e] * 140, span(at.n, tile.n)
      local last = from + t.count[at.e]
      local rows = span(from + at.m, tile.m, last)
      local sum = loop("k", range(0, where(lt(from + at.m, last), K, 0), tile.k), { zeros() }, function(k, sum)
        return dot(load(t.A, rows, span(k, tile.k)), load(t.B, at.e, n, span(k, tile.k)):t(), sum)
      end)
      store_rows(t, rows, n, sum * load(t.scale, rows):t(), at)
    end,
    reference = function(t, n)
      for e = 0, n.E - 1 do
        for i = t.first[e] * 140, t.first[e] * 140 + t.count[e] - 1 do
          for j = 0, n.N - 1 do
            local sum = 0
            for k = 0, n.K - 1 do sum = sum + t.A[i][k] * t.B[e][j][k] end
            put(t, i, j, sum * t.scale[i], e)
          end
        end
      end
    end,
    run = { { E = 4, M = 140, T = 560, N = 136, K = 136 }, { E = 3, M = 140, T = 420, N = 8, K = 72 } },
  }
  for key, value in pairs(own) do if fields[key] == nil then fields[key] = value end end
  return fields
end
kernel "groups_behind" (behind(function(t, rows, n, x) store(t.D, rows, n, x) end,
  function(t, i, j, x) t.D[i][j] = x end, {}))
-- What ends along the columns that are written is stored element by element.
kernel "groups_turned" (behind(function(t, rows, n, x) store(t.D, n, rows, x:t()) end,
  function(t, i, j, x) t.D[j][i] = x end, { D = tensor { N, T, dtype = "bf16", axes = "n t", out = true } }))
kernel "groups_narrow" (behind(
  function(t, rows, _, x, at) store(t.D, rows, span(at.n, 128, t.width[at.e]), x) end,
  function(t, i, j, x, e) if j < t.width[e] then t.D[i][j] = x end end,
  { width = tensor { E, dtype = "int32", fill = "integers 0 140" } }))

-- Rows by number: the tokens of each expert, which the router listed; beyond its count there is none.
local experts = kernel "experts" {
  A = tensor { T, K, dtype = "bf16", axes = "t k" }, B = tensor { E, N, K, dtype = "bf16", axes = "e n k" },
  token = tensor { E, M, dtype = "int32", axes = "e m", fill = "integers 0 39" },
  count = tensor { E, dtype = "int32", fill = "integers 0 300" },
  D = tensor { E, M, N, dtype = "bf16", axes = "e m n", out = true },
  axes = "e m n k t", tile = { m = 128, n = 128, k = 64 }, grid = { e = E, m = M, n = N }, arch = { sm_90a = {} },
  program = function(t, at, tile)
    local count, n = t.count[at.e], span(at.n, tile.n)
    local token = load(t.token, at.e, span(at.m, tile.m, count)):t()
    local sum = loop("k", range(0, where(lt(at.m, count), K, 0), tile.k), { zeros() }, function(k, sum)
      local along = span(k, tile.k)
      return dot(gather(t.A, token, along):as "rows", load(t.B, at.e, n, along):t(), sum)
    end)
    store(t.D, at.e, span(at.m, tile.m, count), n, sum)
  end,
  reference = function(t, n)
    for e = 0, n.E - 1 do
      for i = 0, math.min(n.M, t.count[e]) - 1 do
        for j = 0, n.N - 1 do
          local sum = 0
          for k = 0, n.K - 1 do sum = sum + t.A[t.token[e][i]][k] * t.B[e][j][k] end
          t.D[e][i][j] = sum
        end
      end
    end
  end,
  run = { { E = 5, M = 300, N = 136, K = 200, T = 40 }, { E = 9, M = 270, N = 8, K = 72, T = 50 } },
}
kernel "experts_copied" { like = experts, via = { rows = "cp_async" } }
kernel "experts_narrow" { like = experts, tile = { k = 32 } }
