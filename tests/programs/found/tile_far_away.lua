-- Tiles begin where data say, at places of 64 bits: one behind 2^31 is outside, and lies nowhere before the tensor.
local B, S, L = dims "B S L"
local far = { 0, 1 << 25, 3, (1 << 26) - 1, 1 << 26, (1 << 31) - 1, 1, -5 }

kernel "tile_far_away" {
  axes = "b q s l d e", tile = { q = 16, s = 64 }, grid = { b = B },
  arch = { sm_90a = { pipeline = { instruction = "mma.sync" } }, sm_80 = {} },
  via = { k = "cp_async", v = "cp_async" },
  Q = tensor { B, 16, 32, dtype = "bf16", axes = "b q d" }, K = tensor { B, S, 32, dtype = "bf16", axes = "b s d" },
  V = tensor { B, S, 32, dtype = "bf16", axes = "b s e" }, O = tensor { B, 16, 32, dtype = "bf16", axes = "b q e", out = true },
  blocks = tensor { B, L, dtype = "int32", fill = function(b, i) return far[(b * 3 + i) % #far + 1] end },
  program = function(t, at, tile)
    local q = load(t.Q, at.b, all, all)
    local o = loop("slots", range(0, L, 1), { zeros() }, function(slot, o)
      local keys = span(max(t.blocks[at.b][slot], 0) * 64, 64)
      local k, v = load(t.K, at.b, keys, all):as "k", load(t.V, at.b, keys, all):as "v"
      return dot(cast(dot(q, k:t()), "bf16"), v, o)
    end)
    store(t.O, at.b, all, all, o)
  end,
  run = { { B = 3, S = 200, L = 8 }, { B = 2, S = 64, L = 5 } },
}
