-- Copies of tensors by boxes of one to five dimensions through tensor maps, beside specs/tile_copy.lua, which has those
-- of rows in every swizzle: elements behind each other, pixels with their channels, one tile for several places, sums
-- where the output lies, four tensors at once.

local N, D, H, W, C, P = dims "N D H W C P"

-- A span for each axis of the tensor, and along p a place.
local function places(tensor, at, tile)
  local list = {}
  for i, axis in ipairs(axes(tensor)) do list[i] = axis == "p" and at.p or span(at[axis], tile[axis]) end
  return list
end

-- X2 goes to Y2 and so on, where there are more tensors than one.
local function program(put, pairs)
  return function(t, at, tile)
    for i = 1, pairs do
      local name = i > 1 and i or ""
      local from, to = t["X" .. name], t["Y" .. name]
      local list = places(to, at, tile)
      list[#list + 1] = load(from, table.unpack(places(from, at, tile))):as("tile" .. name)
      put(to, table.unpack(list))
    end
  end
end

-- Every element of `to` gets what put gives for its own value and the one of `from`.
local function each(to, from, sizes, put, depth)
  for i = 0, sizes[depth] - 1 do
    if depth == #sizes then
      to[i] = put(to[i], from[i])
    else
      each(to[i], from[i], sizes, put, depth + 1)
    end
  end
end
local function same(_, x) return x end
local function sum(y, x) return y + x end

-- Elements behind each other, 1 to 32 KB an item.
for _, kilobytes in ipairs { 1, 8, 32 } do
  kernel("tile_copy_line_" .. kilobytes) {
    X = tensor { C, dtype = "bf16", axes = "c" }, Y = tensor { C, dtype = "bf16", axes = "c", out = true },
    axes = "c", tile = { c = 512 * kilobytes }, grid = { c = C },
    via = { tile = "bulk" },
    arch = { sm_90a = {}, sm_120a = { asked = true } },
    program = program(store, 1),
    pipeline = { stages = kilobytes == 1 and 8 or nil },
    run = { { C = kilobytes == 8 and 350120 or 500120 } },
    bench = { { C = 2 << 20 }, { C = 12 << 20 }, { C = 1 << 30 } },
    reference = function(t, n) each(t.Y, t.X, { n.C }, same, 1) end,
  }
end

-- Boxes of pixels with their channels, as attention on feature maps asks for them.
local pixels = kernel "tile_copy_2x2x32" {
  X = tensor { H, W, 32, dtype = "fp16", axes = "h w c" },
  Y = tensor { H, W, 32, dtype = "fp16", axes = "h w c", out = true },
  axes = "h w c", tile = { h = 2, w = 2, c = 32 }, grid = { h = H, w = W, c = 32 },
  via = { tile = "bulk" },
  arch = { sm_90a = {}, sm_120a = { asked = true } },
  program = program(store, 1),
  pipeline = { stages = 4 },
  run = { { H = 31, W = 67 } },
  bench = { { H = 256, W = 256 }, { H = 768, W = 512 }, { H = 8192, W = 4096 } },
  reference = function(t, n) each(t.Y, t.X, { n.H, n.W, 32 }, same, 1) end,
}
for _, side in ipairs { 4, 8 } do
  kernel("tile_copy_" .. side .. "x" .. side .. "x32") {
    like = pixels, tile = { h = side, w = side }, run = { { H = 16 * side - 1, W = 34 * side + 3 } },
  }
end
kernel "tile_copy_pixels_direct" {
  like = pixels, via = { tile = "direct" }, tile = { h = 8, w = 8 }, pipeline = { stages = nil },
  run = { { H = 9, W = 35 } },
}

-- Boxes of five dimensions.
kernel "tile_copy_5d" {
  X = tensor { N, D, H, W, C, dtype = "bf16", axes = "n d h w c" },
  Y = tensor { N, D, H, W, C, dtype = "bf16", axes = "n d h w c", out = true },
  axes = "n d h w c", tile = { n = 2, d = 2, h = 4, w = 4, c = 32 }, grid = { n = N, d = D, h = H, w = W, c = C },
  via = { tile = "bulk" },
  arch = { sm_90a = {}, sm_120a = { asked = true } },
  program = program(store, 1),
  pipeline = { stages = 4 },
  run = { { N = 5, D = 3, H = 11, W = 17, C = 72 } },
  bench = { { N = 64, D = 16, H = 64, W = 64, C = 64 } },
  reference = function(t, n) each(t.Y, t.X, { n.N, n.D, n.H, n.W, n.C }, same, 1) end,
}

-- One tile for several places: P copies, each tile of X is loaded once for two of them, half by each block of a
-- cluster.
kernel "tile_copy_multicast" {
  X = tensor { H, W, dtype = "bf16", axes = "h w" },
  Y = tensor { P, H, W, dtype = "bf16", axes = "p h w", out = true },
  axes = "p h w", tile = { h = 64, w = 64 }, cluster = { p = 2 }, grid = { p = P, h = H, w = W },
  via = { tile = "bulk" },
  arch = { sm_90a = {} },
  program = program(store, 1),
  pipeline = { stages = 4 },
  run = { { P = 3, H = 130, W = 520 } },
  bench = { { P = 4, H = 16384, W = 8192 } },
  reference = function(t, n)
    for p = 0, n.P - 1 do each(t.Y[p], t.X, { n.H, n.W }, same, 1) end
  end,
}

-- Y = Y + X: the addition is made where Y lies, by the copy.
kernel "tile_copy_add" {
  X = tensor { H, W, dtype = "fp32", axes = "h w" }, Y = tensor { H, W, dtype = "fp32", axes = "h w", out = true },
  axes = "h w", tile = { h = 64, w = 32 }, grid = { h = H, w = W },
  via = { tile = "bulk" },
  arch = { sm_90a = {}, sm_120a = { asked = true } },
  program = program(store_add, 1),
  pipeline = { stages = 4 },
  run = { { H = 515, W = 344 } },
  bench = { { H = 16384, W = 16384 } },
  reference = function(t, n) each(t.Y, t.X, { n.H, n.W }, sum, 1) end,
}

-- Four tensors at once, eight maps.
local four = {
  arch = { sm_90a = {}, sm_120a = { asked = true } }, axes = "h w", tile = { h = 64, w = 64 }, grid = { h = H, w = W },
  via = {},
}
for i = 1, 4 do
  local name = i > 1 and i or ""
  four["X" .. name] = tensor { H, W, dtype = "bf16", axes = "h w" }
  four["Y" .. name] = tensor { H, W, dtype = "bf16", axes = "h w", out = true }
  four.via["tile" .. name] = "bulk"
end
four.program = program(store, 4)
four.pipeline = { stages = 3 }
four.run = { { H = 130, W = 520 } }
four.bench = { { H = 16384, W = 8192 } }
four.reference = function(t, n)
  for i = 1, 4 do each(t["Y" .. (i > 1 and i or "")], t["X" .. (i > 1 and i or "")], { n.H, n.W }, same, 1) end
end
kernel "tile_copy_four" (four)
