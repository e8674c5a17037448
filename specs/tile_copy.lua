-- Copies of a matrix tile by tile. What moves the tiles is all that differs: bulk copies through tensor maps, by boxes
-- of several widths and in every swizzle, or threads, 128 bits at a time; a block a tile, or resident blocks. No thread
-- touches what bulk copies move: a stage of the ring that they fill is what they empty. `bench` sets all of them beside
-- each other; and what many tensor maps cost. Boxes of other dimensions: specs/tile_copy_boxes.lua.

local H, W = dims "H W"

local function program(t, at, tile)
  local h, w = span(at.h, tile.h), span(at.w, tile.w)
  store(t.Y, h, w, load(t.X, h, w):as "tile")
end

-- Rows of H and W by boxes of 64 x 64: what the numbers beside each other are about. A block a tile, so that memory is
-- asked for tile after tile: resident blocks, each at its own pace, ask for places far from each other.
-- Both together have 8 MB, 48 MB and 4 GB.
local bytes = { { H = 2048, W = 1024 }, { H = 4096, W = 3072 }, { H = 32768, W = 32768 } }
local copy = kernel "tile_copy" {
  X = tensor { H, W, dtype = "bf16", axes = "h w" }, Y = tensor { H, W, dtype = "bf16", axes = "h w", out = true },
  axes = "h w", tile = { h = 64, w = 64 }, grid = { h = H, w = W },
  via = { tile = "bulk" }, schedule = { persistent = false },
  arch = { sm_90a = {}, sm_120a = { asked = true } },
  program = program,
  run = { { H = 515, W = 520 }, { H = 3, W = 8 }, { H = 0, W = 64 }, { H = 40, W = 35 } },
  bench = bytes,
  reference = function(t, n)
    for h = 0, n.H - 1 do
      local from, to = t.X[h], t.Y[h]
      for w = 0, n.W - 1 do to[w] = from[w] end
    end
  end,
}
for _, swizzle in ipairs { "32B", "64B", "128B" } do
  kernel("tile_copy_" .. swizzle) {
    like = copy, Y = tensor { H, W, dtype = "bf16", axes = "h w", out = true, swizzle = swizzle },
    run = { { H = 515, W = 520 } },
  }
end
for _, columns in ipairs { 128, 256 } do
  kernel("tile_copy_64x" .. columns) { like = copy, tile = { w = columns }, run = { { H = 515, W = 1032 } } }
end

-- Threads that hold what they copy, in vectors of 128 bits, resident or a block an item: the plain copies to beat.
for name, persistent in pairs { tile_copy_direct = true, tile_copy_blocks = false } do
  kernel(name) {
    like = copy, via = { tile = "direct" }, tile = { h = 4, w = 1024 }, schedule = { persistent = persistent },
    run = { { H = 197, W = 1040 }, { H = 3, W = 35 } },
  }
end

-- Resident blocks, by the stages of a ring: how many copies have to be under way. Without a number as many as there is
-- room for, 16 on sm_90a.
for _, stages in ipairs { 2, 4, 8, false } do
  kernel("tile_copy_" .. (stages and "stages_" .. stages or "resident")) {
    like = copy, schedule = { persistent = true }, pipeline = { stages = stages or nil },
    run = { { H = 835, W = 520 } },
  }
end

-- Slabs with a tensor map each, so that a tile's map is one of many: 96 that are read and 96 that are written, 24 KB of
-- the kernel's parameters. Beside them the same slabs through one map of three dims for each tensor, and 192 that are
-- read by as many maps and written by one. All have 8 MB, 48 MB and 4 GB.
local function slabs(name, count, loads, stores, bench)
  kernel(name) {
    X = tensor { count, H, W, dtype = "bf16", axes = "p h w", maps = loads },
    Y = tensor { count, H, W, dtype = "bf16", axes = "p h w", out = true, maps = stores },
    axes = "p h w", tile = { h = 64, w = 64 }, grid = { p = count, h = H, w = W },
    via = { tile = "bulk" }, schedule = { persistent = false },
    arch = { sm_90a = {}, sm_120a = { asked = true } },
    program = function(t, at, tile)
      local h, w = span(at.h, tile.h), span(at.w, tile.w)
      store(t.Y, at.p, h, w, load(t.X, at.p, h, w):as "tile")
    end,
    run = { { H = 70, W = 72 }, { H = 0, W = 64 }, { H = 5, W = 35 } },
    bench = bench,
    reference = function(t, n)
      for p = 0, count - 1 do
        for h = 0, n.H - 1 do
          local from, to = t.X[p][h], t.Y[p][h]
          for w = 0, n.W - 1 do to[w] = from[w] end
        end
      end
    end,
  }
end
local of_96 = { { H = 64, W = 320 }, { H = 256, W = 512 }, { H = 2688, W = 4096 } }
slabs("tile_copy_192", 96, "p", "p", of_96)
slabs("tile_copy_slabs", 96, nil, nil, of_96)
slabs("tile_copy_192_to_one", 192, "p", nil, { { H = 64, W = 192 }, { H = 128, W = 512 }, { H = 1344, W = 4096 } })
