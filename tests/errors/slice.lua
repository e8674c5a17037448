-- Slices that begin where no group of rows does, outside of their tile, of what is no loaded tile, or for nothing.
local B, T = dims "B T"
local function one(name, fields)
  kernel(name) {
    Q = tensor { B, T, 16, 64, dtype = "fp16" }, K = tensor { B, fields.keys or 96, 64, dtype = "fp16" },
    blocks = tensor { B, T, dtype = "int32" }, O = tensor { B, T, 16, 64, dtype = "fp16", out = true },
    axes = "b q h d kv", grid = { b = B, q = T }, tile = { q = 4 },
    pipeline = fields.pipeline or { instruction = "mma.sync" }, arch = { sm_90a = {} },
    program = function(t, at, tile)
      local q, k = load(t.Q, at.b, span(at.q, 4), span(0, 16), all), load(t.K, at.b, span(0, fields.rows or 96), all)
      local first = clamp(t.blocks[at.b][min(at.q + row() // 16, T - 1)], 0, 1) * 32
      local s = fields.s(q, k, first, at, t)
      store(t.O, at.b, span(at.q, 4), span(0, 16), all, s)
    end,
  }
end
one("odd_start", { s = function(q, k, own) return dot(q, slice(k, own + 4, 64):t()) end })
one("unknown_start", { s = function(q, k, _, at, t)
  return dot(q, slice(k, clamp(t.blocks[at.b][at.q], 0, 32), 64):t())
end })
one("outside", { s = function(q, k, own) return dot(q, slice(k, own * 2, 64):t()) end })
one("unbounded", { s = function(q, k, _, at, t) return dot(q, slice(k, t.blocks[at.b][at.q] * 32, 64):t()) end })
one("odd_length", { s = function(q, k) return dot(q, slice(k, 0, 60):t()) end })
one("too_long", { s = function(q, k) return dot(q, slice(k, 0, 104):t()) end })
one("no_number", { s = function(q, k) return dot(q, slice(k, 1.5, 64):t()) end })
one("by_column", { s = function(q, k, own) return dot(q, slice(k, own + min(column(), 0) * 8, 64):t()) end })
one("other_rows", { s = function(q, k, _, at) return dot(q, slice(k, clamp(rows(span(at.q, 32)), 0, 4) * 8, 64):t()) end })
one("of_computed", { s = function(q, k, own) return dot(q, slice(k * 2, own, 64):t()) end })
one("turned_before", { s = function(q, k, own) return dot(q, slice(k:t(), own, 64)) end })
one("first_operand", { s = function(q, k) return dot(slice(k, 0, 64), q:t()) end })
one("reduced", { s = function(q, k) return dot(q, slice(k, 0, 64):t()) + row_sum(slice(k, 8, 64)) end })
one("within_a_warp", { s = function(q, k, _, at, t)
  return dot(q, slice(k, clamp(t.blocks[at.b][min(at.q + row() // 8, T - 1)], 0, 1) * 32, 64):t())
end })
one("by_wgmma", { pipeline = { instruction = "wgmma" }, s = function(q, k) return dot(q, slice(k, 0, 64):t()) end })
