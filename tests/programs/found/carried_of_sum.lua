-- A tile that is carried is computed from the sum that the dot leaves in its place: before that is the next turn's.
local M, N, K = dims "M N K"

local function products(name, dtype, out, arch)
  kernel(name) {
    axes = "m n k", tile = { m = 64, n = 32, k = 32 }, grid = { m = M, n = N }, arch = arch,
    A = tensor { M, K, dtype = dtype }, B = tensor { N, K, dtype = dtype },
    D = tensor { M, N, dtype = "fp32", out = true }, E = tensor { M, N, dtype = out, out = true },
    program = function(t, at, tile)
      local m, n = span(at.m, tile.m), span(at.n, tile.n)
      local sum, most = loop("k", range(0, K, tile.k), { zeros(), zeros() }, function(k, sum, most)
        local now = dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t(), sum)
        return now, max(most, cast(now, "fp32"))
      end)
      store(t.D, m, n, most)
      store(t.E, m, n, sum)
    end,
    run = { { M = 70, N = 40, K = 80 }, { M = 33, N = 16, K = 0 }, { M = 64, N = 48, K = 608 } },
  }
end
products("carried_of_sum", "bf16", "fp16", { sm_90a = {}, sm_80 = { pipeline = { warps_m = 1, warps_n = 4 } } })
products("carried_of_whole_sum", "int8", "int32", { sm_90a = {}, sm_80 = {} })
