-- Matrix products where data say which tiles are multiplied: lists of blocks.
local M, N, K, L = dims "M N K L"

-- Of each row of blocks of A those that the list names: all others are taken as zero.
local function sparse(fields)
  local own = {
    A = tensor { M, K, dtype = "bf16", axes = "m k" }, B = tensor { N, K, dtype = "bf16", axes = "n k" },
    blocks = tensor { (M + 127) // 128, L, dtype = "int32", fill = "integers 0 4" },
    count = tensor { (M + 127) // 128, dtype = "int32", fill = "integers 0 3" },
    D = tensor { M, N, dtype = "bf16", axes = "m n", out = true },
    axes = "m n k", tile = { m = 128, n = 128, k = 64 }, grid = { m = M, n = N }, arch = { sm_90a = {} },
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
