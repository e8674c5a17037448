-- Matrix product: D = epilogue(alpha A B^T + beta C).
--
-- A is m x k, B n x k, C and D m x n; each may stand in memory in either order of its axes. Where beta is 0, C does not
-- count. epilogue(acc, t, i) sees the indices i.m and i.n; it returns the value of D, or a table of values by output:
-- { D = ..., E = ... }.

-- A tile of x, rows along `axis` whatever the order in memory.
local function matrix(x, axis, rows, columns)
  if axes(x)[1] == axis then return load(x, rows, columns) end
  return load(x, columns, rows):t()
end

local function program(t, at, tile)
  local rows, columns = span(at.m, tile.m), span(at.n, tile.n)

  local acc = loop("k", range(0, extent "k", tile.k), { zeros() }, function(k, acc)
    local depth = span(k, tile.k)
    return dot(matrix(t.A, "m", rows, depth), matrix(t.B, "k", depth, columns), acc):as "product"
  end)

  if given "alpha" then acc = acc * t.alpha end
  if given "C" then
    local c = matrix(t.C, "m", rows, columns)
    acc = acc + (given "beta" and where(eq(t.beta, 0), 0, t.beta * c) or c)
  end

  local out = fused("epilogue", acc)
  for name, value in pairs(type(out) == "table" and out or { D = out }) do
    local y = t[name]
    if axes(y)[1] == "m" then
      store(y, rows, columns, value)
    else
      store(y, columns, rows, value:t())
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
