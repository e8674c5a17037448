local R = dims "R"

local function rows(program)
  return {
    x = tensor { R, 16, dtype = "bf16" },
    y = tensor { R, 16, dtype = "bf16", out = true },
    axes = "r",
    tile = { r = 64 },
    grid = { r = R },
    program = function(t, at, tile)
      local r = span(at.r, tile.r)
      store(t.y, r, all, program(load(t.x, r, all), t, r))
    end,
  }
end

kernel "computed" (rows(function(x) return x * pick(x * 2, 3) end))
kernel "beyond" (rows(function(x) return x * pick(x, 16) end))
kernel "number" (rows(function(x) return x * pick(x, 0.5) end))
kernel "used" (rows(function(x) return x * pick(x, 3) end))
kernel "twice" (rows(function(x, t, r) return x * pick(load(t.x, r, all), 3) end))
