-- y = factor x, or what the epilogue makes of it.
return {
  axes = "r c",
  grid = "r c",
  tensors = { { "x", axes = "r c" }, { "y", axes = "r c", out = true }, { "w", axes = "c", optional = true } },
  scalars = { "factor" },
  functions = { "epilogue" },
  fields = { tile = { r = 64, c = 64 } },
  program = function(t, at, tile)
    local x = load(t.x, span(at.r, tile.r), span(at.c, tile.c))
    local out = fused("epilogue", given "factor" and x * t.factor or x)
    for name, value in pairs(type(out) == "table" and out or { y = out }) do
      store(t[name], span(at.r, tile.r), span(at.c, tile.c), value)
    end
  end,
}
