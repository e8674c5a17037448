-- Dots for sm_80 alone, where nothing runs on behind a dot, and no tile travels through a tensor map.
local Q, S, D, V = dims "Q S D V"
local function program(t, at, tile)
  local q = load(t.q, span(at.q, tile.q), span(0, tile.d)):as "q"
  local o = loop("s", range(0, S, tile.s), { zeros() }, function(s, o)
    local keys = load(t.k, span(s, tile.s), span(0, tile.d)):as "keys"
    local values = load(t.v, span(s, tile.s), span(0, tile.v)):as "values"
    return dot(cast(dot(q, keys:t()):as "x", "bf16"), values, o):as "o"
  end)
  local shift = load(t.shift, span(0, tile.v)):as "shift"
  store(t.o, span(at.q, tile.q), span(0, tile.v), o + shift)
end
local plain = {
  axes = "q s d v", tile = { q = 64, s = 32, d = 32, v = 32 }, grid = { q = Q }, program = program,
  k = tensor { S, D, dtype = "bf16" }, v = tensor { S, V, dtype = "bf16" }, o = tensor { Q, V, dtype = "bf16", out = true },
  shift = tensor { V, dtype = "fp32" }, q = tensor { Q, D, dtype = "bf16" },
}
local of_both = kernel "of_both" (plain)
kernel "alone" {
  like = of_both, arch = { sm_80 = {} },
  q = tensor { Q, D, dtype = "bf16", swizzle = "64B" }, o = tensor { Q, V, dtype = "bf16", swizzle = "64B", out = true },
  ahead = { x = { turns = 1, before = "o" } }, direction = { s = "down" },
  via = { keys = "bulk", values = "direct", shift = "cp_async" },
  l2_promotion = "64B", launch = { programmatic = true },
  pipeline = { mode = "cooperative", polynomial = 2 }, schedule = { group = 4 },
}
kernel "way" { like = of_both, arch = { sm_80 = {} }, via = { keys = "resident", q = "resident", values = "cp_async" } }
kernel "acts" { -- on sm_90a
  like = of_both, o = tensor { Q, V, dtype = "bf16", swizzle = "64B", out = true },
  ahead = { x = { turns = 1, before = "o" } }, direction = { s = "down" },
  via = { keys = "bulk", q = "bulk", shift = "direct" }, l2_promotion = "64B", launch = { programmatic = true },
  pipeline = { mode = "cooperative" },
}
