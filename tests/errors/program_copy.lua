-- What bulk copies of tiles cannot do, each with what to write instead.
local A, B, C = dims "A B C"
local function base(t)
  return {
    X = tensor { A, C, dtype = t.from or "bf16", swizzle = t.x }, Y = tensor { t.rows or A, C, dtype = t.to or "bf16", swizzle = t.y, out = true },
    axes = "r c p", tile = t.tile or { r = 64, c = 64 }, grid = { r = A, c = C, p = B },
    via = { tile = "bulk" }, arch = { sm_90a = {} }, cluster = t.cluster, pipeline = t.pipeline, split = t.split,
    program = t.program or function(t, at, tile)
      store(t.Y, span(at.r, tile.r), span(at.c, tile.c), load(t.X, span(at.r, tile.r), span(at.c, tile.c)):as "tile")
    end,
    schedule = t.schedule,
  }
end
kernel "wide_rows" (base { tile = { r = 512, c = 16 } })
kernel "span" (base { x = "128B", tile = { r = 64, c = 96 } })
kernel "narrow" (base { tile = { r = 64, c = 4 } })
kernel "small" (base { tile = { r = 3, c = 8 } })
kernel "two_swizzles" (base { x = "128B", y = "64B" })
kernel "other_type" (base { to = "fp16" })
kernel "other_extent" (base { rows = B })
kernel "shifted" (base {
  program = function(t, at, tile)
    store(t.Y, span(at.r, tile.r), span(at.c, tile.c), load(t.X, span(at.r + 1, tile.r), span(at.c, tile.c)):as "tile")
  end,
})
kernel "inner" (base {
  program = function(t, at, tile)
    store(t.Y, span(at.r, tile.r), span(at.c + 1, tile.c), load(t.X, span(at.r, tile.r), span(at.c + 1, tile.c)):as "tile")
  end,
})
kernel "limited" (base {
  program = function(t, at, tile)
    store(t.Y, span(at.r, tile.r, B), span(at.c, tile.c), load(t.X, span(at.r, tile.r, B), span(at.c, tile.c)):as "tile")
  end,
})
kernel "column" (base {
  program = function(t, at, tile)
    store(t.Y, span(at.r, tile.r), at.c, load(t.X, span(at.r, tile.r), at.c):as "tile")
  end,
})
kernel "twice" (base {
  program = function(t, at, tile)
    local x = load(t.X, span(at.r, tile.r), span(at.c, tile.c)):as "tile"
    store(t.Y, span(at.r, tile.r), span(at.c, tile.c), x)
    store(t.Y, span(at.r, tile.r), span(at.c, tile.c), x)
  end,
})
kernel "same_tile" (base { cluster = { p = 2 } })
kernel "slices" {
  X = tensor { A, C, dtype = "bf16" }, Y = tensor { B, A, C, dtype = "bf16", out = true },
  axes = "p r c", tile = { r = 8, c = 64 }, grid = { p = B, r = A, c = C }, cluster = { p = 2 },
  via = { tile = "bulk" }, arch = { sm_90a = {} },
  program = function(t, at, tile)
    store(t.Y, at.p, span(at.r, tile.r), span(at.c, tile.c), load(t.X, span(at.r, tile.r), span(at.c, tile.c)):as "tile")
  end,
}
kernel "two_axes" (base { cluster = { r = 2, c = 2 } })
kernel "stages" (base { tile = { r = 128, c = 256 }, pipeline = { stages = 9 } })
kernel "too_large" (base { tile = { r = 256, c = 256 } })
kernel "one_stage" (base { pipeline = { stages = 1 } })
kernel "fields" (base { pipeline = { consumers = 2 }, schedule = { order = "row" } })

-- What blocks behind the last of a cluster would store.
local function tail(axes, grid, cluster, program, e)
  return {
    X = tensor { e.x, C, dtype = "fp32" }, Y = tensor { e.y, C, dtype = "fp32", out = true },
    axes = axes .. " c", tile = { m = e.m, c = 32 }, grid = { m = e.m and grid, h = not e.m and grid or nil, c = C },
    cluster = cluster, via = { tile = "bulk" }, arch = { sm_90a = {} }, program = program,
  }
end
local function rows(t, at, tile)
  store(t.Y, span(at.m, tile.m), span(at.c, tile.c), load(t.X, span(at.m, tile.m), span(at.c, tile.c)):as "tile")
end
local function heads(t, at, tile)
  store_add(t.Y, at.h % 4, span(at.c, tile.c), load(t.X, at.h % 4, span(at.c, tile.c)):as "tile")
end
local function moved(t, at, tile)
  store(t.Y, span(at.m + 64, tile.m), span(at.c, tile.c), load(t.X, span(at.m + 64, tile.m), span(at.c, tile.c)):as "tile")
end
kernel "behind_rows" (tail("m", A, { m = 4 }, rows, { x = B, y = B, m = 64 }))
kernel "behind_heads" (tail("h", A, { h = 2 }, heads, { x = B, y = B }))
kernel "behind_moved" (tail("m", A, { m = 4 }, moved, { x = A, y = A, m = 64 }))
