-- y = x + x, and y = x x: two kernels of one program.
local R, C = dims "R C"

local function rows(name, of)
  kernel(name) {
    x = tensor { R, C, dtype = "fp32" }, y = tensor { R, C, dtype = "fp32", out = true },
    axes = "r c", tile = { r = 1, c = 256 }, grid = { r = R },
    program = function(t, at, tile)
      loop("columns", range(0, C, tile.c), {}, function(c)
        local x = load(t.x, span(at.r, tile.r), span(c, tile.c))
        store(t.y, span(at.r, tile.r), span(c, tile.c), of(x))
      end)
    end,
    run = { { R = 3, C = 300 } },
  }
end

rows("twice", function(x) return x + x end)
rows("square", function(x) return x * x end)
