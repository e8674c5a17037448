-- D = A B^T of other types than specs/gemm.lua has: fp8, int8 and tf32, which lie with k innermost, always. fp8 has no
-- instruction on sm_80.
local M, N, K = dims "M N K"

-- fp8 with one scale a tensor. e4m3 and e5m2 may be mixed. The tensor cores of Hopper keep 14 bits of what they sum of
-- fp8: the bound that `run` prints says what that comes to.
local fp8 = kernel "gemm_fp8" {
  family   = "gemm",
  A        = tensor { M, K, dtype = "fp8_e4m3" },
  B        = tensor { N, K, dtype = "fp8_e4m3" },
  D        = tensor { M, N, dtype = "bf16" },
  scale    = scalar "fp32",                       -- that of A times that of B
  epilogue = function(acc, t) return acc * t.scale end,
  tile     = { m = 128, n = 256, k = 128 },       -- 128 bytes along k
  cluster  = { m = 2 },
  arch     = { sm_90a = {} },
  run      = { { M = 264, N = 512, K = 272 }, { M = 41, N = 48, K = 648 }, { M = 64, N = 40, K = 0 } },
}

-- One scale a row of A and a row of B.
kernel "gemm_fp8_rows" {
  like     = fp8,
  B        = tensor { N, K, dtype = "fp8_e5m2" },
  scale    = false,
  a_scale  = tensor { M, dtype = "fp32", axes = "m" },
  b_scale  = tensor { N, dtype = "fp32", axes = "n" },
  epilogue = function(acc, t) return acc * (t.a_scale * t.b_scale) end,
}

-- A row's number times the scale of B in a column, one for each 128. A tile begins at a multiple of the power of two
-- that divides its width: it lies in one block of columns; in two, of which the second begins at a column that is known
-- where 128 divides the tile; or in more.
local function scaled(row, t, at, tile, block)
  local first, power = at.n // 128, tile.n & -tile.n
  if 128 % tile.n == 0 then return row * t.b_scale[first][block] end
  if tile.n > 128 + power then return row * t.b_scale[(at.n + column()) // 128][block] end
  local second, other = 128, min(first + 1, (N - 1) // 128)
  if power < 128 then second = 128 - at.n % 128 end
  return where(lt(column(), second), row * t.b_scale[first][block], row * t.b_scale[other][block])
end

-- One scale for each 128 elements along k of a row of A, and for each 128 x 128 of B. A stage's product is summed by
-- the tensor cores, scaled, and added to a sum in fp32, which so is one of all its bits. Of 256 rows registers do not
-- hold both: Hopper multiplies 64 rows of a consumer at a time, and of 256 columns 128.
kernel "gemm_fp8_blocks" {
  axes    = "m n k",
  grid    = { m = M, n = N },
  tile    = { m = 128, n = 128, k = 128 },
  schedule = { order = "column" },
  A       = tensor { M, K, dtype = "fp8_e4m3" },
  B       = tensor { N, K, dtype = "fp8_e4m3" },
  a_scale = tensor { (K + 127) // 128, M, dtype = "fp32" }, -- rows innermost: they come with the tiles
  b_scale = tensor { (N + 127) // 128, (K + 127) // 128, dtype = "fp32" },
  D       = tensor { M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local along, block = span(k, tile.k), k // 128
      local part = dot(load(t.A, m, along), load(t.B, n, along):t())
      return sum + part * scaled(load(t.a_scale, block, m):t(), t, at, tile, block)
    end)
    store(t.D, m, n, sum)
  end,
  reference = function(t, n)
    for i = 0, n.M - 1 do
      for j = 0, n.N - 1 do
        local sum = 0
        for k = 0, n.K - 1 do
          local scale = t.a_scale[k // 128][i] * t.b_scale[j // 128][k // 128]
          sum = sum + t.A[i][k] * t.B[j][k] * scale
        end
        t.D[i][j] = sum
      end
    end
  end,
  arch    = { sm_90a = { tile = { m = 256 } }, sm_100a = { asked = true } },
  run     = { { M = 264, N = 264, K = 272 }, { M = 41, N = 48, K = 904 }, { M = 64, N = 40, K = 0 } },
}

-- Integers sum in int32, which D may be, or be computed from.
local int8 = kernel "gemm_int8" {
  family  = "gemm",
  A       = tensor { M, K, dtype = "int8" },
  B       = tensor { N, K, dtype = "int8" },
  D       = tensor { M, N, dtype = "int32" },
  tile    = { m = 128, n = 128, k = 128 },
  cluster = { m = 2 },
  arch    = { sm_90a = {}, sm_80 = { cluster = { m = 1 }, pipeline = { stages = 3 } } },
  run     = { { M = 264, N = 264, K = 272 }, { M = 41, N = 48, K = 648 }, { M = 64, N = 40, K = 0 } },
}

kernel "gemm_int8_scaled" {
  like     = int8,
  D        = tensor { M, N, dtype = "bf16" },
  bias     = tensor { N, dtype = "int32", axes = "n" },
  a_scale  = tensor { M, dtype = "fp32", axes = "m" },
  b_scale  = tensor { N, dtype = "fp32", axes = "n" },
  epilogue = function(acc, t) return (acc + t.bias) * (t.a_scale * t.b_scale) end,
}

-- tf32 is fp32 in memory. Of its low 13 bits bulk copies round (sm_90a), and the tensor cores of sm_80 take no notice.
kernel "gemm_tf32" {
  family  = "gemm",
  A       = tensor { M, K, dtype = "tf32" },
  B       = tensor { N, K, dtype = "tf32" },
  D       = tensor { M, N, dtype = "fp32" },
  tile    = { m = 128, n = 128, k = 32 },
  cluster = { m = 2 },
  arch    = { sm_90a = {}, sm_80 = { cluster = { m = 1 }, pipeline = { stages = 3 } } },
  run     = { { M = 264, N = 264, K = 68 }, { M = 41, N = 48, K = 162 }, { M = 64, N = 40, K = 0 } },
}
