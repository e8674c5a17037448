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
