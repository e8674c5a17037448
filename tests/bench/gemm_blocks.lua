-- Candidates of products with block scales (specs/gemm_types.lua, gemm_fp8_blocks): `tilewright bench
-- tests/bench/gemm_blocks.lua --kernel one_scale` and the like, those of one problem beside each other. `one_scale`: one
-- a tensor, what the others are to come to 0.90 of.
local M, N, K = dims "M N K"
local sizes = { { M = 4096, N = 4096, K = 4096 }, { M = 4096, N = 7168, K = 2048 }, { M = 4096, N = 24576, K = 1536 },
                { M = 4096, N = 2112, K = 7168 } }
local small = { { M = 200, N = 264, K = 400 } }

-- One scale of B for each 128 columns: a tile lies in one of them, or, where it does not, in two.
local function scale(t, at, tile, a, block)
  local last = (at.n + tile.n - 1) // 128
  if 128 % tile.n == 0 then return a * t.b_scale[at.n // 128][block] end
  local one, other = t.b_scale[at.n // 128][block], t.b_scale[min(last, (N - 1) // 128)][block]
  return where(lt(index().n, (at.n // 128 + 1) * 128), a * one, a * other)
end

local function c(name, f)
  f.axes, f.grid, f.arch = "m n k", { m = M, n = N }, { sm_90a = {} }
  f.A, f.B = tensor { M, K, dtype = "fp8_e4m3" }, tensor { N, K, dtype = "fp8_e4m3" }
  f.a_scale = tensor { (K + 127) // 128, M, dtype = "fp32" }
  f.b_scale = tensor { (N + 127) // 128, (K + 127) // 128, dtype = "fp32" }
  f.D = tensor { M, N, dtype = "bf16", out = true }
  f.program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local along = span(k, tile.k)
      local part = dot(load(t.A, m, along), load(t.B, n, along):t())
      return sum + part * scale(t, at, tile, load(t.a_scale, k // 128, m):t(), k // 128)
    end)
    store(t.D, m, n, sum)
  end
  f.bench, f.run = sizes, small
  kernel(name) (f)
end
c("blocks_128", { tile = { m = 128, n = 128, k = 128 } })
c("blocks_128_n2", { tile = { m = 128, n = 128, k = 128 }, cluster = { m = 1, n = 2 } })
c("blocks_128_alone", { tile = { m = 128, n = 128, k = 128 }, cluster = { m = 1 } })
c("blocks_128_16", { tile = { m = 128, n = 128, k = 128 }, schedule = { order = "grouped", group = 16 } })
c("blocks_128_hilbert", { tile = { m = 128, n = 128, k = 128 }, schedule = { order = "hilbert" } })
c("blocks_128_turns", { tile = { m = 128, n = 128, k = 128 }, pipeline = { turns = true } })
c("blocks_192", { tile = { m = 192, n = 128, k = 128 } })
c("blocks_64", { tile = { m = 128, n = 64, k = 128 } })

kernel "one_scale" {
  family   = "gemm",
  A        = tensor { M, K, dtype = "fp8_e4m3" },
  B        = tensor { N, K, dtype = "fp8_e4m3" },
  D        = tensor { M, N, dtype = "bf16" },
  scale    = scalar "fp32",
  epilogue = function(acc, t) return acc * t.scale end,
  tile     = { m = 128, n = 256, k = 128 },
  cluster  = { m = 2 },
  arch     = { sm_90a = {} },
  run      = small,
  bench    = sizes,
}
