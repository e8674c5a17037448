-- Bounds of columns that are integers of 64 bits from memory, the least there is and one of the greatest: no sum of
-- them with a place, which would wrap, decides what counts.
local S, N = dims "S N"

local function bounded(name, bound, counts)
  kernel(name) {
    axes = "q k e", tile = { q = 64, k = 64, e = 64 }, grid = { q = S }, arch = { sm_90a = {} },
    Q = tensor { S, 64, dtype = "bf16", axes = "q e" },
    K = tensor { N, 64, dtype = "bf16", axes = "k e" },
    V = tensor { N, 64, dtype = "bf16", axes = "k e" },
    bound = tensor { S, dtype = "int64", axes = "q", fill = function() return bound end },
    O = tensor { S, 64, dtype = "bf16", axes = "q e", out = true },
    program = function(t, at, tile)
      local q, e = span(at.q, tile.q), span(0, tile.e)
      local held = load(t.Q, q, e)
      store(t.O, q, e, loop("k", range(0, N, tile.k), { zeros() }, function(k, o)
        local keys = span(k, tile.k)
        local s = dot(held, load(t.K, keys, e):t())
        return o + dot(cast(where(counts(column(keys), t.bound[row(q)]), s, 0), "bf16"), load(t.V, keys, e))
      end))
    end,
    run = { { S = 70, N = 128 } },
  }
end
bounded("least_ge", math.mininteger, ge)
bounded("least_gt", math.mininteger, gt)
bounded("least_lt", math.mininteger, lt)
bounded("most_ge", 1 << 62, ge)
bounded("most_lt", 1 << 62, lt)
bounded("most_le", 1 << 62, le)
