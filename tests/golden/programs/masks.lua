local B, H, G, S, T = dims "B H G S T"
kernel "documents" {
  family = "attention",
  Q = tensor { B, H, S, 64, dtype = "fp16" }, K = tensor { B, G, S, 64, dtype = "fp16" }, V = tensor { B, G, S, 64, dtype = "fp16" },
  O = tensor { B, H, S, 64, dtype = "fp16" },
  doc = tensor { B, S, axes = "b q", dtype = "int32", fill = "documents 8" },
  mask_mod = function(_, t, i) return le(i.kv, i.q) & eq(t.doc[i.b][i.q], t.doc[i.b][i.kv]) end,
}
kernel "varlen" {
  Q = tensor { T, H, 64, axes = "q h d", dtype = "bf16" }, K = tensor { T, H, 64, axes = "kv h d", dtype = "bf16" }, V = tensor { T, H, 64, axes = "kv h d", dtype = "bf16" },
  start = tensor { B + 1, dtype = "int32" }, O = tensor { T, H, 64, axes = "q h d", dtype = "bf16", out = true },
  axes = "b h q kv d", tile = { q = 64, kv = 64 }, grid = { b = B, h = H, q = S },
  program = function(t, at, tile)
    local first, last = t.start[at.b], t.start[at.b + 1]
    local place = span(first + at.q, tile.q, last)
    local q = load(t.Q, place, at.h, all)
    local window = 128
    local o, most, sum = loop("kv", range(max(0, at.q - window), min(last - first, at.q + tile.q), tile.kv), { zeros(), rows(-inf), rows(0) }, function(j, o, most, sum)
      local there = span(first + j, tile.kv, last)
      local k, v = load(t.K, there, at.h, all), load(t.V, there, at.h, all)
      local i = index()
      local s = where(le(i.kv, i.q) & gt(i.kv, i.q - window), dot(q, k:t()) * 0.125, -inf)
      local m = max(most, row_max(s))
      local p, r = exp2_diff(s, m), exp2_diff(most, m)
      return dot(cast(p, "bf16"), v, o * r), m, sum * r + row_sum(p)
    end)
    store(t.O, place, at.h, all, ratio(o, sum, 0))
  end,
}
kernel "backward" {
  Q = tensor { B, H, S, 64, axes = "b h q d", dtype = "bf16" }, K = tensor { B, H, S, 64, axes = "b h kv d", dtype = "bf16" },
  V = tensor { B, H, S, 64, axes = "b h kv d", dtype = "bf16" }, dO = tensor { B, H, S, 64, axes = "b h q d", dtype = "bf16" },
  LSE = tensor { B, H, S, axes = "b h q", dtype = "fp32" }, delta = tensor { B, H, S, axes = "b h q", dtype = "fp32" },
  dK = tensor { B, H, S, 64, axes = "b h kv d", dtype = "fp32", out = true }, dV = tensor { B, H, S, 64, axes = "b h kv d", dtype = "fp32", out = true },
  dQ = tensor { B, H, S, 64, axes = "b h q d", dtype = "fp32", out = true },
  axes = "b h q kv d", tile = { q = 64, kv = 128 }, grid = { b = B, h = H, kv = S },
  program = function(t, at, tile)
    local here = span(at.kv, tile.kv)
    local k, v = load(t.K, at.b, at.h, here, all), load(t.V, at.b, at.h, here, all)
    local dk, dv = loop("q", range(0, S, tile.q), { zeros(), zeros() }, function(j, dk, dv)
      local rows = span(j, tile.q)
      local q, g = load(t.Q, at.b, at.h, rows, all), load(t.dO, at.b, at.h, rows, all)
      local p = exp2(dot(q, k:t()) - t.LSE)
      local ds = p * (dot(g, v:t()) - load(t.delta, at.b, at.h, rows):t())
      store_add(t.dQ, at.b, at.h, rows, all, dot(cast(ds, "bf16"), k))
      return dot(cast(ds, "bf16"):t(), q, dk), dot(cast(p, "bf16"):t(), g, dv)
    end)
    store(t.dK, at.b, at.h, here, all, dk)
    store(t.dV, at.b, at.h, here, all, dv)
  end,
}
