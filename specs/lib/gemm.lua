-- Matrix product: D = epilogue(alpha A B + beta C), summed over k.
--
-- A (axes m k), B (n k), D (m n, written) and, if wanted, C (m n) lie with either of their axes innermost, but A and B
-- of other than 16-bit elements with k; alpha and beta are scalars, if wanted. Where beta is 0, C is not read.
-- epilogue(acc, t, i) returns what D receives, or a table of values by output tensor; other tensors that it names
-- broadcast along the axes they lack.

-- Whether the tensor lies with its rows, which run along `axis`, innermost.
local function is_turned(tensor, axis)
  return axes(tensor)[1] ~= axis
end

-- The tile of rows m, along `axis`, and columns n, however the tensor lies.
local function load_tile(tensor, axis, m, n)
  local turned = is_turned(tensor, axis)
  if turned then
    return load(tensor, n, m):t()
  end
  return load(tensor, m, n)
end

local function store_tile(tensor, m, n, value)
  local turned = is_turned(tensor, "m")
  if turned then
    store(tensor, n, m, value:t())
  else
    store(tensor, m, n, value)
  end
end

local function program(t, at, tile)
  local m, n = span(at.m, tile.m), span(at.n, tile.n)
  local sum = loop("k", range(0, extent "k", tile.k), { zeros() }, function(k, sum)
    local along = span(k, tile.k)
    return dot(load_tile(t.A, "m", m, along), load_tile(t.B, "k", along, n), sum)
  end)
  if given "alpha" then
    sum = sum * t.alpha
  end
  if given "C" then
    local c = load_tile(t.C, "m", m, n)
    if given "beta" then
      c = t.beta * where(ne(t.beta, 0), c, 0)
    end
    sum = sum + c
  end
  local results = fused("epilogue", sum)
  if type(results) ~= "table" then
    results = { D = results }
  end
  for name, value in pairs(results) do store_tile(t[name], m, n, value) end
end

-- The smallest power of two from `least` that covers the extent, at most `most`.
local function cover(extent, least, most)
  local tile = most
  while extent and tile // 2 >= least and extent <= tile // 2 do tile = tile // 2 end
  return tile
end

-- Few rows m, a constant or the spec's: the weight B is read once and little is computed. wgmma's 64 rows are those of
-- B (pipeline.swap), its columns the rows m, and as many blocks as there can be share B; 256 bytes along k make fewer
-- stages of as many bytes.
local function few_rows(said, extent, bytes)
  local rows, unit = said.m or extent.m, bytes.A == 1 and 16 or 8
  local m = rows and (rows <= 8 and 8 or (rows + unit - 1) // unit * unit) or 64
  if said.swap == nil and rows and m <= 64 and said.m ~= 64 or said.swap then
    return { m = math.min(m, 256), n = 64 * (said.consumers or 1), k = 256 // (bytes.A or 2) }
  end
end

-- Tiles that a kernel leaves out: 128 bytes of an operand along k, the span of the widest swizzle. mma.sync: 128 x 128
-- use each element often enough that shared memory keeps up. wgmma: 64 rows for each consumer, and the most columns
-- whose sums its registers hold.
local function sizes(arch, said, extent, bytes)
  local k = 128 // (bytes.A or 2)
  if arch and arch ~= "sm_90a" then
    return { m = cover(extent.m, 16, 128), n = cover(extent.n, 8, 128), k = k }
  end
  local few = few_rows(said, extent, bytes)
  if few then
    return few
  end
  local unit = bytes.A == 1 and 16 or 8 -- integers of 8 bits come by 16 columns
  local function columns(most) return math.min(most, extent.n and (extent.n + unit - 1) // unit * unit or most) end
  if said.mode == "items" then -- each consumer has a tile's sums
    local m = said.m or 128
    return { m = m, n = columns((m > 64 and 128 or 256) // (said.consumers == 3 and 2 or 1)), k = k }
  end
  local consumers = said.consumers or (said.m == 64 and 1) or (said.m == 192 and 3) or 2
  local m = said.m or 64 * consumers
  local widest = m > 64 * consumers and 128 or consumers == 3 and 192 or 256
  return { m = m, n = columns(widest), k = k }
end

return {
  axes = "m n k",
  grid = "m n",
  tensors = {
    { "A", axes = "m k", any_order = true },
    { "B", axes = "n k", any_order = true },
    { "D", axes = "m n", out = true, any_order = true },
    { "C", axes = "m n", optional = true, any_order = true },
  },
  scalars = { "alpha", "beta" },
  functions = { "epilogue" },
  peer = { "gemm", a = "A", b = "B", d = "D" },
  program = program,
  sizes = sizes,
}
