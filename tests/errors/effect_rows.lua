-- Programs without dots: what decides how dots run decides nothing in them.
local R, C = dims "R C"
local scaled = kernel "scaled" {
  axes = "r c", tile = { r = 8, c = 128 }, grid = { r = R },
  x = tensor { R, C, dtype = "bf16" },
  y = tensor { R, C, dtype = "bf16", swizzle = "128B", out = true },
  program = function(t, at, tile)
    local most = loop("c", range(0, C, tile.c), { rows(-inf) }, function(c, most)
      return max(most, row_max(load(t.x, span(at.r, tile.r), span(c, tile.c)):as "x"))
    end)
    loop("again", range(0, C, tile.c), {}, function(c)
      local again = load(t.x, span(at.r, tile.r), span(c, tile.c))
      store(t.y, span(at.r, tile.r), span(c, tile.c), again / most)
    end)
  end,
  cluster = { r = 2 },
  via = { x = "bulk" },
  ahead = { x = { turns = 1 } },
  direction = { c = "down" },
  pipeline = { stages = 3, consumers = 2, mode = "cooperative", turns = true, warps_m = 2 },
  schedule = { order = "grouped", group = 4, dynamic = true },
  l2_promotion = "256B",
}
kernel "inherits" { like = scaled } -- what the other says
kernel "says_what_is" {             -- and that asks for nothing
  like = scaled, cluster = { r = 1 }, via = { x = "direct" }, direction = { c = "up" },
  pipeline = { turns = false }, schedule = { dynamic = false, persistent = true },
}
kernel "of_one" { like = scaled, arch = { sm_80 = { pipeline = { stages = 2 } }, sm_90a = { cluster = { r = 4 } } } }
