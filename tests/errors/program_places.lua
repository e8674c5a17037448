local M, N = dims "M N"

local function with(by, axes, more)
  return {
    axes = "m n", tile = { m = 1, n = 64 }, grid = { m = M },
    X = tensor { M, N, more, dtype = "fp32", axes = axes }, Y = tensor { M, N, dtype = "fp32", out = true, axes = "m n" },
    program = function(t, at, tile)
      loop("n", range(0, N, tile.n), {}, function(n)
        local place = by(at, span(n, tile.n))
        store(t.Y, at.m, span(n, tile.n), load(t.X, places(t.X, place)))
      end)
    end,
    run = { { M = 3, N = 100 } },
  }
end

kernel "right" (with(function(at, n) return { m = at.m, n = n, more = 0 } end, "m n"))
kernel "lacks_one" (with(function(at, n) return { m = at.m } end, "m n"))
kernel "no_table" (with(function(at, n) return n end, "m n"))
kernel "no_axis" (with(function(at, n) return { m = at.m, n = n } end, nil, 3))
