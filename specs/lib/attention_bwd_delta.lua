-- Attention backward, what comes first: delta = sum of dO * O along the head size, for each query of each head.

local function program(t, at, tile)
  local place = { b = at.b, h = at.h, q = span(at.q, tile.q), e = all }
  local o, gradient = load(t.O, places(t.O, place)), load(t.dO, places(t.dO, place))
  store(t.delta, places(t.delta, place, row_sum(o * gradient)))
end

return {
  axes = "b h q e",
  grid = "b h q",
  tensors = {
    { "O", axes = "b h q e" },
    { "dO", axes = "b h q e" },
    { "delta", axes = "b h q", out = true },
  },
  program = program,
  fields = { tile = { q = 64 } },
}
