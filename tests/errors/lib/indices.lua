-- y = x, or what the epilogue makes of it, which sees the indices that scalars ask for.
return {
  axes = "r c",
  grid = "r c",
  tensors = { { "x", axes = "r c" }, { "y", axes = "r c", out = true } },
  scalars = { "number", "stranger", "real" },
  functions = { "epilogue" },
  fields = { tile = { r = 64, c = 64 } },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
    if given "number" then x = fused("epilogue", x * t.number, 3) end
    if given "stranger" then x = fused("epilogue", x * t.stranger, { z = at.r + row() }) end
    if given "real" then x = fused("epilogue", x * t.real, { r = 0.5 }) end
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), x)
  end,
}
