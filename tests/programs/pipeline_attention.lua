-- Attention forward as programs: full, causal, of grouped heads, with the logarithm of the row's sum.
local B, H, R, S = dims "B H R S"
local D = 64
local log2e, ln2 = 1.4426950408889634, 0.6931471805599453

-- visible(i): the condition on the indices, or nil; last: where the keys of this item end; add(kv): what is added to
-- scores of the keys from there on, or nil.
local function attention(t, at, tile, head, visible, last, add)
  local q = load(t.Q, at.b, at.h, span(at.q, tile.q), all)
  local o, most, sum = loop("kv", range(0, last, tile.kv), { zeros(), rows(-inf), rows(0) }, function(kv, o, most, sum)
    local k = load(t.K, at.b, head, span(kv, tile.kv), all)
    local v = load(t.V, at.b, head, span(kv, tile.kv), all)
    local s = dot(q, k:t()):as "s" * (log2e / D ^ 0.5)
    if add then s = s + add(kv) * log2e end
    if visible then s = where(visible(index()), s, -inf) end
    local m = max(most, row_max(s))
    local p, r = exp2_diff(s, m), exp2_diff(most, m)
    return dot(cast(p, "bf16"), v, o * r):as "o", m, sum * r + row_sum(p)
  end)
  store(t.O, at.b, at.h, span(at.q, tile.q), all, ratio(o, sum, 0))
  return most, sum
end

local function by_hand(t, n, group, seen, lse, add)
  for b = 0, n.B - 1 do
    for h = 0, n.H - 1 do
      for q = 0, n.R - 1 do
        local x, most, sum, o = {}, -math.huge, 0, {}
        for c = 0, D - 1 do o[c] = 0 end
        for s = 0, n.S - 1 do
          if seen(b, q, s) then
            x[s] = add and add(b, s) or 0
            for d = 0, D - 1 do x[s] = x[s] + t.Q[b][h][q][d] * t.K[b][h // group][s][d] / D ^ 0.5 end
            most = math.max(most, x[s])
          end
        end
        for s = 0, n.S - 1 do
          if x[s] then
            local p = exp(x[s] - most)
            sum = sum + p
            for c = 0, D - 1 do o[c] = o[c] + p * t.V[b][h // group][s][c] end
          end
        end
        for c = 0, D - 1 do t.O[b][h][q][c] = sum > 0 and o[c] / sum or 0 end
        if lse then lse(b, h, q, sum > 0 and most + log(sum) or -math.huge) end
      end
    end
  end
end

local function heads(n) return tensor { B, n, S, D, dtype = "bf16", axes = "b g s d" } end
local plain = {
  Q = tensor { B, H, R, D, dtype = "bf16", axes = "b h q d" },
  O = tensor { B, H, R, D, dtype = "bf16", axes = "b h q d", out = true },
  axes = "b h q s d g", tile = { q = 128, s = 64 }, grid = { b = B, h = H, q = R }, arch = { sm_90a = {}, sm_80 = { allow_spills = true, pipeline = { stages = 2 }, schedule = { persistent = true } } },
}
local function with(fields)
  for name, value in pairs(plain) do if fields[name] == nil then fields[name] = value end end
  return fields
end

local kernels = {}
kernels.attention_full = kernel "attention_full" (with {
  K = tensor { B, H, S, D, dtype = "bf16", axes = "b h s d" }, V = tensor { B, H, S, D, dtype = "bf16", axes = "b h s d" },
  program = function(t, at, tile) attention(t, at, { q = tile.q, kv = tile.s }, at.h, nil, S) end,
  reference = function(t, n) by_hand(t, n, 1, function() return true end) end,
  run = { { B = 1, H = 2, R = 140, S = 200 }, { B = 1, H = 1, R = 5, S = 130 } },
})

kernels.attention_causal_lse = kernel "attention_causal_lse" (with {
  K = heads(H // 2), V = heads(H // 2),
  lse = tensor { B, H, R, dtype = "fp32", axes = "b h q", out = true },
  program = function(t, at, tile)
    local most, sum = attention(t, at, { q = tile.q, kv = tile.s }, at.h // 2, function(i) return le(i.s, i.q + (S - R)) end,
      min(S, at.q + tile.q + (S - R)))
    store(t.lse, at.b, at.h, span(at.q, tile.q), (most + log2(sum)) * ln2)
  end,
  reference = function(t, n)
    by_hand(t, n, 2, function(_, q, s) return s <= q + n.S - n.R end, function(b, h, q, x) t.lse[b][h][q] = x end)
  end,
  run = { { B = 1, H = 2, R = 130, S = 200 }, { B = 1, H = 2, R = 300, S = 30 } },
})

for _, name in ipairs { "attention_full", "attention_causal_lse" } do
  local ahead = kernel(name .. "_ahead") { like = kernels[name], ahead = { s = { turns = 1, before = "o" } } }
  kernel(name .. "_turns") { like = ahead, pipeline = { turns = true } }
end

-- Rows that see nothing, items without turns, and a window: which turns there are follows from the masks alone.
local function seen(name, visible, sees)
  local plain = kernel(name) (with {
    K = tensor { B, H, S, D, dtype = "bf16", axes = "b h s d" }, V = tensor { B, H, S, D, dtype = "bf16", axes = "b h s d" },
    program = function(t, at, tile) attention(t, at, { q = tile.q, kv = tile.s }, at.h, visible, S) end,
    reference = function(t, n) by_hand(t, n, 1, function(_, q, s) return sees(q, s) end) end,
    run = { { B = 1, H = 2, R = 600, S = 300 }, { B = 1, H = 3, R = 300, S = 30 }, { B = 2, H = 1, R = 200, S = 200 } },
  })
  return kernel(name .. "_ahead") { like = plain, ahead = { s = { turns = 1, before = "o" } } }, plain
end
local late = seen("attention_late", function(i) return le(i.s + 200, i.q) end, function(q, s) return s + 200 <= q end)
local _, window = seen("attention_window", function(i) return le(i.s, i.q) & lt(i.q, i.s + 100) end,
  function(q, s) return s <= q and q < s + 100 end)
kernel "attention_late_static" { like = late, schedule = { dynamic = false } }
kernel "attention_late_rows" { like = late, schedule = { order = "row" } }
kernel "attention_full_dynamic" { like = kernels.attention_full, schedule = { dynamic = true } }

-- The other way than what is chosen.
kernel "attention_late_up" { like = late, direction = { kv = "up" } }
kernel "attention_full_down" { like = kernels.attention_full, direction = { kv = "down" } }
kernel "attention_causal_lse_down" { like = kernels.attention_causal_lse, direction = { kv = "down" } }
kernel "attention_window_down" { like = window, direction = { kv = "down" } }

-- What is added to the scores of each key: read a turn ahead, a column for each lane.
kernel "attention_added" (with {
  K = tensor { B, H, S, D, dtype = "bf16", axes = "b h s d" }, V = tensor { B, H, S, D, dtype = "bf16", axes = "b h s d" },
  added = tensor { B, S, dtype = "fp32", axes = "b s" },
  program = function(t, at, tile)
    attention(t, at, { q = tile.q, kv = tile.s }, at.h, function(i) return le(i.s, i.q + 100) end, S,
      function(kv) return load(t.added, at.b, span(kv, tile.s)) end)
  end,
  reference = function(t, n)
    by_hand(t, n, 1, function(_, q, s) return s <= q + 100 end, nil, function(b, s) return t.added[b][s] end)
  end,
  run = { { B = 2, H = 1, R = 140, S = 331 }, { B = 1, H = 1, R = 5, S = 130 } },
})
