-- Attention forward with a running maximum: causal, of grouped heads, of sequences whose lengths are data, of
-- documents.
local B, H, Q, S = dims "B H Q S"
local log2e, ln2 = 1.4426950408889634, 0.6931471805599453
local D, V = 32, 24

-- The heart of all four. visible(i): the condition on the indices, or nil; last: where keys end; limit: as span has it.
local function attention(t, at, tile, kv_head, visible, last, limit)
  local q = load(t.q, at.b, at.h, span(at.q, tile.q), all)
  local o, most, sum = loop("kv", range(0, last, tile.s), { zeros(), rows(-inf), rows(0) }, function(s, o, most, sum)
    local k = load(t.k, at.b, kv_head, span(s, tile.s, limit), all)
    local v = load(t.v, at.b, kv_head, span(s, tile.s, limit), all)
    local x = dot(q, k:t()) * (log2e / D ^ 0.5)
    if visible then x = where(visible(index()), x, -inf) end
    local m = max(most, row_max(x))
    local p, r = exp2_diff(x, m), exp2_diff(most, m)
    return dot(cast(p, "bf16"), v, o * r), m, sum * r + row_sum(p)
  end)
  store(t.o, at.b, at.h, span(at.q, tile.q), all, ratio(o, sum, 0))
  return most, sum
end

-- The same by hand. seen(b, q, s) says what row q of batch b sees. Gives the logarithm of the row's sum.
local function by_hand(t, n, group, seen, lse)
  for b = 0, n.B - 1 do
    for h = 0, n.H - 1 do
      for q = 0, n.Q - 1 do
        local x, most, sum, o = {}, -math.huge, 0, {}
        for c = 0, V - 1 do o[c] = 0 end
        for s = 0, n.S - 1 do
          if seen(b, q, s) then
            x[s] = 0
            for d = 0, D - 1 do x[s] = x[s] + t.q[b][h][q][d] * t.k[b][h // group][s][d] / D ^ 0.5 end
            most = math.max(most, x[s])
          end
        end
        for s = 0, n.S - 1 do
          if x[s] then
            local p = exp(x[s] - most)
            sum = sum + p
            for c = 0, V - 1 do o[c] = o[c] + p * t.v[b][h // group][s][c] end
          end
        end
        for c = 0, V - 1 do t.o[b][h][q][c] = sum > 0 and o[c] / sum or 0 end
        if lse then lse(b, h, q, sum > 0 and most + log(sum) or -math.huge) end
      end
    end
  end
end

-- Queries stand at the end of the keys; where there are more of them, the first see nothing.
local q = tensor { B, H, Q, D, dtype = "bf16", axes = "b h q d" }
local o = tensor { B, H, Q, V, dtype = "bf16", out = true, axes = "b h q v" }
kernel "attention_causal" {
  q = q, o = o, lse = tensor { B, H, Q, dtype = "fp32", out = true },
  k = tensor { B, H, S, D, dtype = "bf16", axes = "b h s d" },
  v = tensor { B, H, S, V, dtype = "bf16", axes = "b h s v" },
  axes = "b h q s d v", tile = { q = 16, s = 32 }, grid = { b = B, h = H, q = Q },
  program = function(t, at, tile)
    local most, sum = attention(t, at, tile, at.h, function(i) return le(i.s, i.q + (S - Q)) end, S)
    store(t.lse, at.b, at.h, span(at.q, tile.q), (most + log2(sum)) * ln2)
  end,
  reference = function(t, n)
    by_hand(t, n, 1, function(_, q, s) return s <= q + n.S - n.Q end,
      function(b, h, q, x) t.lse[b][h][q] = x end)
  end,
  run = { { B = 1, H = 2, Q = 20, S = 70 }, { B = 2, H = 1, Q = 37, S = 21 }, { B = 1, H = 1, Q = 5, S = 0 } },
}

kernel "attention_grouped" {
  q = q, o = o,
  k = tensor { B, H // 2, S, D, dtype = "bf16", axes = "b g s d" },
  v = tensor { B, H // 2, S, V, dtype = "bf16", axes = "b g s v" },
  axes = "b h q s d v g", tile = { q = 16, s = 16 }, grid = { b = B, h = H, q = Q },
  program = function(t, at, tile) attention(t, at, tile, at.h // 2, nil, S) end,
  reference = function(t, n) by_hand(t, n, 2, function() return true end) end,
  run = { { B = 1, H = 4, Q = 17, S = 40 } },
}

-- Keys end where `length` says, 0 among the lengths; no turn is made behind them.
kernel "attention_lengths" {
  q = q, o = o, length = tensor { B, dtype = "int32", fill = "integers 0 3" },
  k = tensor { B, H, S, D, dtype = "bf16", axes = "b h s d" },
  v = tensor { B, H, S, V, dtype = "bf16", axes = "b h s v" },
  axes = "b h q s d v", tile = { q = 16, s = 16 }, grid = { b = B, h = H, q = Q },
  program = function(t, at, tile)
    local length = t.length[at.b] * 19
    attention(t, at, tile, at.h, nil, min(length, S), length)
  end,
  reference = function(t, n) by_hand(t, n, 1, function(b, _, s) return s < t.length[b] * 19 end) end,
  run = { { B = 6, H = 1, Q = 9, S = 50 } },
}

kernel "attention_documents" {
  q = q, o = o, document = tensor { B, S, dtype = "int32", axes = "b s", fill = "documents 3" },
  k = tensor { B, H, S, D, dtype = "bf16", axes = "b h s d" },
  v = tensor { B, H, S, V, dtype = "bf16", axes = "b h s v" },
  axes = "b h q s d v", tile = { q = 16, s = 16 }, grid = { b = B, h = H, q = Q },
  program = function(t, at, tile)
    attention(t, at, tile, at.h, function(i)
      return le(i.s, i.q) & eq(t.document[i.b][i.q], t.document[i.b][i.s])
    end, S)
  end,
  reference = function(t, n)
    by_hand(t, n, 1, function(b, q, s) return s <= q and t.document[b][q] == t.document[b][s] end)
  end,
  run = { { B = 2, H = 2, Q = 41, S = 41 } },
}
