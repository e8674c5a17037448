local B, S, H, D = dims "B S H D"

-- Heads lie behind positions in memory, and the program takes them before.
kernel "k" {
  x = tensor { B, S, H, 64, axes = "b q h d", dtype = "bf16" },
  y = tensor { B, S, H, 64, axes = "b q h d", dtype = "bf16", out = true },
  axes = "b h q d",
  tile = { q = 64 },
  grid = { b = B, h = H, q = S },
  program = function(t, at, tile)
    store(t.y, at.b, span(at.q, tile.q), at.h, all, load(t.x, at.b, at.h, span(at.q, tile.q), all))
  end,
}

-- A neighbour's place; and what is none of it: a group of heads, heads along an axis without items, no axes.
kernel "l" {
  x = tensor { S, D, axes = "q d", dtype = "fp32" },
  group = tensor { H, D, axes = "h d", dtype = "fp32" },
  square = tensor { S, S, dtype = "fp32" },
  y = tensor { S, D, axes = "q d", dtype = "fp32", out = true },
  axes = "q h d",
  tile = { q = 8, d = 64 },
  grid = { q = S, d = D },
  program = function(t, at, tile)
    local g = load(t.group, at.q // 4, span(at.d, tile.d))
    local s = load(t.square, span(at.q, tile.q), at.q)
    local x = load(t.x, span(at.q - 1, tile.q), span(at.d + 64, tile.d))
    local other = load(t.group, at.q, span(at.q - 64, tile.d))
    store(t.y, span(at.q, tile.q), span(at.d, tile.d), g + s + x + other)
  end,
}
