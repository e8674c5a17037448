-- D = A W^T of weights in fewer bits than what they are multiplied by: W comes as it is stored, and becomes bf16 on its
-- way from shared memory into registers, exactly. Each 128 elements along k of a row of W have a scale.
--
-- W is the first operand of the dot, as that is the one which registers hold, so rows of the tiles are W's and columns
-- are A's: D is stored turned. A group's product is summed by the tensor cores, scaled, and added to a sum in fp32.
local M, N, K, G = dims "M N K G"

kernel "gemm_w8a16" {
  axes    = "m n k",
  grid    = { m = M, n = N },
  tile    = { m = 64, n = 128, k = 128 },
  A       = tensor { M, K, dtype = "bf16" },
  W       = tensor { N, K, dtype = "int8", fill = "integers -128 127" },
  scale   = tensor { N, (K + 127) // 128, dtype = "bf16" },
  D       = tensor { M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local along = span(k, tile.k)
      local part = dot(cast(load(t.W, n, along), "bf16"), load(t.A, m, along):t())
      return sum + part * load(t.scale, n, k // 128):t()
    end)
    store(t.D, m, n, sum:t())
  end,
  reference = function(t, n)
    for i = 0, n.M - 1 do
      for j = 0, n.N - 1 do
        local sum = 0
        for k = 0, n.K - 1 do sum = sum + t.A[i][k] * (t.W[j][k] * t.scale[j][k // 128]) end
        t.D[i][j] = sum
      end
    end
  end,
  arch    = { sm_90a = {}, sm_80 = { tile = { n = 64 }, pipeline = { stages = 3 } } },
  run     = { { M = 200, N = 392, K = 272 }, { M = 16, N = 48, K = 2400 }, { M = 41, N = 40, K = 904 },
              { M = 64, N = 40, K = 0 } },
}

-- Weights of 4 bits, -8 to 7, each stored with 8 added to it. Byte j of a group of 128 holds element j in its low bits
-- and element 64 + j in its high ones: each half of the bits is multiplied by columns of A that lie side by side.
kernel "gemm_w4a16" {
  axes    = "m n k",
  grid    = { m = M, n = N },
  tile    = { m = 64, n = 128, k = 128 },
  A       = tensor { M, 128 * G, dtype = "bf16" },
  W       = tensor { N, G, 64, dtype = "uint8", fill = "integers 0 255" },
  scale   = tensor { N, G, dtype = "bf16" },
  D       = tensor { M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, 128 * G, tile.k), { zeros() }, function(k, sum)
      local w = load(t.W, n, k // 128, all)
      local function a(from) return load(t.A, m, span(from, 64)):t() end
      local low = dot(cast(w % 16 - 8, "bf16"), a(k))
      local part = dot(cast(w // 16 - 8, "bf16"), a(k + 64), low)
      return sum + part * load(t.scale, n, k // 128):t()
    end)
    store(t.D, m, n, sum:t())
  end,
  reference = function(t, n)
    for i = 0, n.M - 1 do
      for j = 0, n.N - 1 do
        local sum = 0
        for k = 0, 128 * n.G - 1 do
          local byte = t.W[j][k // 128][k % 64]
          local w = (k % 128 < 64 and byte % 16 or byte // 16) - 8
          sum = sum + t.A[i][k] * (w * t.scale[j][k // 128])
        end
        t.D[i][j] = sum
      end
    end
  end,
  arch    = { sm_90a = {}, sm_80 = { tile = { n = 64 }, pipeline = { stages = 3 } } },
  run     = { { M = 200, N = 392, G = 2 }, { M = 16, N = 48, G = 19 }, { M = 41, N = 40, G = 7 },
              { M = 64, N = 40, G = 0 } },
}
