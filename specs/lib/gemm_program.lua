-- Matrix product: D = epilogue(alpha A B + beta C), summed over k.
--
-- Each tensor lies with either of its axes innermost. Where beta is 0, C is not read. epilogue(acc, t, i) returns what D
-- receives, or a table of values by output tensor; other tensors that it names broadcast along the axes that they lack.

-- The tile, as a tensor with these axes has it: by rows of `row`, or turned.
local function turned(tensor, row)
  return axes(tensor)[1] ~= row
end

local function program(t, at, tile)
  local m, n = span(at.m, tile.m), span(at.n, tile.n)
  local sum = loop("k", range(0, extent "k", tile.k), { zeros() }, function(k, sum)
    local along = span(k, tile.k)
    local a = turned(t.A, "m") and load(t.A, along, m):t() or load(t.A, m, along)
    local b = turned(t.B, "n") and load(t.B, along, n) or load(t.B, n, along):t()
    return dot(a, b, sum)
  end)
  if given "alpha" then sum = sum * t.alpha end
  if given "C" then
    local c = turned(t.C, "m") and load(t.C, n, m):t() or load(t.C, m, n)
    sum = sum + (given "beta" and where(ne(t.beta, 0), t.beta * c, 0) or c)
  end
  local result = fused("epilogue", sum)
  if type(result) ~= "table" then result = { D = result } end
  for name, value in pairs(result) do
    local out = t[name]
    if turned(out, "m") then
      store(out, n, m, value:t())
    else
      store(out, m, n, value)
    end
  end
end

return {
  axes = "m n k",
  grid = "m n",
  tensors = {
    { "A", axes = "m k" },
    { "B", axes = "n k" },
    { "D", axes = "m n", out = true },
    { "C", axes = "m n", optional = true },
  },
  scalars = { "alpha", "beta" },
  functions = { "epilogue" },
  program = program,
  fields = { tile = { m = 128, n = 256, k = 64 } },
}
