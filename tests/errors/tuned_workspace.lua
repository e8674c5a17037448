local Q, S = dims "Q S"
kernel "attention" {
  q = tensor { Q, 64, dtype = "bf16", axes = "q d" }, k = tensor { S, 64, dtype = "bf16", axes = "s d" },
  v = tensor { S, 64, dtype = "bf16", axes = "s v" }, o = tensor { Q, 64, dtype = "bf16", out = true, axes = "q v" },
  document = tensor { S, dtype = "int32", axes = "s" },
  axes = "q s d v", tile = { q = 64, s = 64 }, grid = { q = Q },
  arch = { sm_90a = {} },
  program = function(t, at, tile)
    local q = load(t.q, span(at.q, tile.q), all)
    local o, most, sum = loop("s", range(0, S, tile.s), { zeros(), rows(-inf), rows(0) }, function(s, o, most, sum)
      local x = dot(q, load(t.k, span(s, tile.s), all):t())
      x = where(eq(t.document[index().q], t.document[index().s]), x, -inf)
      local m = max(most, row_max(x))
      local p, r = exp2_diff(x, m), exp2_diff(most, m)
      return dot(cast(p, "bf16"), load(t.v, span(s, tile.s), all), o * r), m, sum * r + row_sum(p)
    end, { combine = function(a, b)
      local m = max(a[2], b[2])
      local of_a, of_b = exp2_diff(a[2], m), exp2_diff(b[2], m)
      return { a[1] * of_a + b[1] * of_b, m, a[3] * of_a + b[3] * of_b }
    end })
    store(t.o, span(at.q, tile.q), all, ratio(o, sum, 0))
  end,
}
