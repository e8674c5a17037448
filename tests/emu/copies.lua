-- Copies that specs/tile_copy.lua does not have: a dropped dim, part of a tensor's rows, one tile to two outputs, what
-- becomes of bytes in the L2, types of every size, a block an item.
local A, B, C = dims "A B C"

local function copy(t, at, tile) return load(t.X, span(at.r, tile.r), span(at.c, tile.c)):as "tile" end
local function put(t, at, tile, name, value) store(t[name], span(at.r, tile.r), span(at.c, tile.c), value) end

for _, dtype in ipairs { "uint8", "fp16", "fp32", "int32" } do
  kernel("copy_" .. dtype) {
    X = tensor { A, C, dtype = dtype }, Y = tensor { A, C, dtype = dtype, out = true },
    axes = "r c", tile = { r = 24, c = 64 }, grid = { r = A, c = C },
    via = { tile = "bulk" }, arch = { sm_90a = {} },
    pipeline = { stages = 2 },
    program = function(t, at, tile) put(t, at, tile, "Y", copy(t, at, tile)) end,
    run = { { A = 950, C = 432 } },
  }
end

kernel "copy_twice" {
  X = tensor { A, C, dtype = "bf16", swizzle = "128B" },
  Y = tensor { A, C, dtype = "bf16", out = true }, Z = tensor { A, C, dtype = "bf16", out = true },
  axes = "r c", tile = { r = 16, c = 128 }, grid = { r = A, c = C },
  via = { tile = "bulk" }, arch = { sm_90a = {} },
  cache = { X = "evict_first", Y = "evict_first" },
  pipeline = { stages = 3 },
  schedule = { persistent = false },
  program = function(t, at, tile)
    local x = copy(t, at, tile)
    put(t, at, tile, "Y", x)
    put(t, at, tile, "Z", x)
  end,
  run = { { A = 50, C = 400 } },
}

-- Rows of one plane into another one's.
kernel "copy_plane" {
  X = tensor { B, A, C, dtype = "bf16" }, Y = tensor { A, B, C, dtype = "bf16", out = true },
  axes = "p r c", tile = { r = 8, c = 64 }, grid = { p = B, r = A, c = C },
  via = { tile = "bulk" }, arch = { sm_90a = {} },
  pipeline = { stages = 2 },
  program = function(t, at, tile)
    local x = load(t.X, at.p, span(at.r, tile.r), span(at.c, tile.c)):as "tile"
    store(t.Y, span(at.r, tile.r), at.p, span(at.c, tile.c), x)
  end,
  run = { { A = 61, B = 16, C = 136 } },
}

-- Sums that the L2 need not keep.
kernel "copy_add_hinted" {
  X = tensor { A, C, dtype = "fp32" }, Y = tensor { A, C, dtype = "fp32", out = true },
  axes = "r c", tile = { r = 16, c = 32 }, grid = { r = A, c = C },
  via = { tile = "bulk" }, arch = { sm_90a = {} },
  cache = { Y = "evict_first" },
  pipeline = { stages = 2 },
  program = function(t, at, tile)
    store_add(t.Y, span(at.r, tile.r), span(at.c, tile.c), copy(t, at, tile))
  end,
  run = { { A = 50, C = 72 } },
}

-- Items of which no tensor says how many there can be; by bulk copies alone, as no block's threads hold such a tile.
kernel "copy_add_items" {
  X = tensor { 4, 256, C, dtype = "fp32" }, Y = tensor { 4, 256, C, dtype = "fp32", out = true },
  axes = "a b r c", tile = { r = 256, c = 64 }, grid = { a = A, b = B, r = 256, c = C },
  via = { tile = "bulk" }, arch = { sm_90a = {} },
  pipeline = { stages = 2 },
  program = function(t, at, tile)
    local r, c = span(at.r, tile.r), span(at.c, tile.c)
    store_add(t.Y, at.a % 4, r, c, load(t.X, at.a % 4, r, c):as "tile")
  end,
  run = { { A = 5, B = 1, C = 64 } },
}

-- Slices with maps of their own: whose tiles the blocks of a cluster share, of several boxes each, three from each map
-- in turn; into maps that several items add to; the innermost dim alone; at strides.
kernel "copy_maps_shared" {
  X = tensor { 3, A, C, dtype = "bf16", axes = "m r c", swizzle = "64B", maps = "m", stride = { A * 1000, 1000, 1 } },
  Y = tensor { B, 6, A, C, dtype = "bf16", axes = "b p r c", out = true },
  axes = "b p r c m", tile = { r = 32, c = 64 }, grid = { b = B, p = 6, r = A, c = C }, cluster = { b = 2 },
  via = { tile = "bulk" }, arch = { sm_90a = {} },
  cache = { X = "evict_last" },
  pipeline = { stages = 3 },
  program = function(t, at, tile)
    local r, c = span(at.r, tile.r), span(at.c, tile.c)
    store(t.Y, at.b, at.p, r, c, load(t.X, at.p // 2, r, c):as "tile")
  end,
  run = { { A = 70, B = 3, C = 136 } },
}
kernel "copy_maps_added" {
  X = tensor { 7, A, C, dtype = "fp32", axes = "p r c", maps = "p" },
  Y = tensor { 4, A, C, dtype = "fp32", axes = "m r c", out = true, maps = "m" },
  axes = "p r c m", tile = { r = 16, c = 32 }, grid = { p = 7, r = A, c = C },
  via = { tile = "bulk" }, arch = { sm_90a = {} },
  cache = { Y = "evict_first" },
  schedule = { persistent = false },
  program = function(t, at, tile)
    local r, c = span(at.r, tile.r), span(at.c, tile.c)
    store_add(t.Y, at.p % 4, r, c, load(t.X, at.p, r, c):as "tile")
  end,
  run = { { A = 50, C = 72 } },
}
kernel "copy_maps_line" {
  X = tensor { 5, C, dtype = "uint8", axes = "p c", maps = "p" },
  Y = tensor { 5, C, dtype = "uint8", axes = "p c", out = true, maps = "p" },
  axes = "p c", tile = { c = 128 }, grid = { p = 5, c = C },
  via = { tile = "bulk" }, arch = { sm_90a = {} },
  schedule = { persistent = false },
  program = function(t, at, tile)
    local c = span(at.c, tile.c)
    store(t.Y, at.p, c, load(t.X, at.p, c):as "tile")
  end,
  run = { { C = 1456 } },
}
for _, count in ipairs { 1, 254 } do -- and one of Y: all that parameters hold
  kernel("copy_maps_" .. count) {
    X = tensor { count, A, C, dtype = "bf16", axes = "p r c", maps = "p" },
    Y = tensor { count, A, C, dtype = "bf16", axes = "p r c", out = true },
    axes = "p r c", tile = { r = 8, c = 64 }, grid = { p = count, r = A, c = C },
    via = { tile = "bulk" }, arch = { sm_90a = {} },
    schedule = { persistent = false },
    program = function(t, at, tile)
      local r, c = span(at.r, tile.r), span(at.c, tile.c)
      store(t.Y, at.p, r, c, load(t.X, at.p, r, c):as "tile")
    end,
    run = { { A = 11, C = 72 } },
  }
end
