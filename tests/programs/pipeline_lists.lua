-- Attention over lists of blocks: data say which keys a turn loads, and how many turns there are.
local B, H, R, S, L = dims "B H R S L"
local D = 64

-- Attention of each block of queries to the blocks of keys that its list names; within them causal.
local block_sparse = kernel "block_sparse_attention" {
  Q = tensor { B, H, R, D, dtype = "bf16", axes = "b h q d" },
  K = tensor { B, H, S, D, dtype = "bf16", axes = "b h s d" }, V = tensor { B, H, S, D, dtype = "bf16", axes = "b h s d" },
  O = tensor { B, H, R, D, dtype = "bf16", axes = "b h q d", out = true },
  blocks = tensor { B, H, (R + 127) // 128, L, dtype = "int32", fill = "integers 0 3" },
  count = tensor { B, H, (R + 127) // 128, dtype = "int32", fill = "integers 0 6" },
  axes = "b h q s d", tile = { q = 128, s = 64 }, grid = { b = B, h = H, q = R }, arch = { sm_90a = {}, sm_80 = {} },
  program = function(t, at, tile)
    local q, row = load(t.Q, at.b, at.h, span(at.q, tile.q), all), at.q // 128
    local turns = list(t.blocks, at.b, at.h, row, 0, t.count[at.b][at.h][row])
    local o, _, sum = loop("kv", turns, { zeros(), rows(-inf), rows(0) }, function(block, o, most, sum)
      local kv = span(block * tile.s, tile.s)
      local k, v = load(t.K, at.b, at.h, kv, all), load(t.V, at.b, at.h, kv, all)
      local i = index()
      local s = where(le(i.s, i.q), dot(q, k:t()):as "s" * (1.4426950408889634 / D ^ 0.5), -inf)
      local m = max(most, row_max(s))
      local p, r = exp2_diff(s, m), exp2_diff(most, m)
      return dot(cast(p, "bf16"), v, o * r):as "o", m, sum * r + row_sum(p)
    end)
    store(t.O, at.b, at.h, span(at.q, tile.q), all, ratio(o, sum, 0))
  end,
  reference = function(t, n)
    for b = 0, n.B - 1 do
      for h = 0, n.H - 1 do
        for q = 0, n.R - 1 do
          local x, at, most, sum, o = {}, {}, -math.huge, 0, {}
          for c = 0, D - 1 do o[c] = 0 end
          for l = 0, t.count[b][h][q // 128] - 1 do
            local first = t.blocks[b][h][q // 128][l] * 64
            for s = first, math.min(first + 63, n.S - 1, q) do
              local dotted = 0
              for d = 0, D - 1 do dotted = dotted + t.Q[b][h][q][d] * t.K[b][h][s][d] / D ^ 0.5 end
              x[#x + 1], at[#at + 1] = dotted, s
              most = math.max(most, dotted)
            end
          end
          for j = 1, #x do
            local p = exp(x[j] - most)
            sum = sum + p
            for c = 0, D - 1 do o[c] = o[c] + p * t.V[b][h][at[j]][c] end
          end
          for c = 0, D - 1 do t.O[b][h][q][c] = sum > 0 and o[c] / sum or 0 end
        end
      end
    end
  end,
  run = { { B = 1, H = 2, R = 140, S = 200, L = 6 }, { B = 1, H = 1, R = 300, S = 256, L = 7 } },
}

kernel "block_sparse_attention_ahead" {
  like = block_sparse, ahead = { s = { turns = 1, before = "o" } }, arch = { sm_90a = {} },
}

-- Attention to as many keys as a length on the device says: what lies behind them in memory is none of them.
local function lengths(fields)
  local own = {
    Q = tensor { B, H, R, D, dtype = "bf16", axes = "b h q d" },
    K = tensor { B, H, S, D, dtype = "bf16", axes = "b h s d" }, V = tensor { B, H, S, D, dtype = "bf16", axes = "b h s d" },
    O = tensor { B, H, R, D, dtype = "bf16", axes = "b h q d", out = true },
    length = tensor { B, dtype = "int32", fill = "integers 0 300" },
    axes = "b h q s d", tile = { q = 128, s = 64 }, grid = { b = B, h = H, q = R }, arch = { sm_90a = {} },
    program = function(t, at, tile)
      local q, length = load(t.Q, at.b, at.h, span(at.q, tile.q), all), t.length[at.b]
      local o, _, sum = loop("kv", range(0, length, tile.s), { zeros(), rows(-inf), rows(0) }, function(kv, o, most, sum)
        local keys = span(kv, tile.s, length)
        local k, v = load(t.K, at.b, at.h, keys, all), load(t.V, at.b, at.h, keys, all)
        local s = dot(q, k:t()):as "s" * (1.4426950408889634 / D ^ 0.5)
        local m = max(most, row_max(s))
        local p, r = exp2_diff(s, m), exp2_diff(most, m)
        return dot(cast(p, "bf16"), v, o * r):as "o", m, sum * r + row_sum(p)
      end)
      store(t.O, at.b, at.h, span(at.q, tile.q), all, ratio(o, sum, 0))
    end,
    reference = function(t, n)
      for b = 0, n.B - 1 do
        for h = 0, n.H - 1 do
          for q = 0, n.R - 1 do
            local x, most, sum, o = {}, -math.huge, 0, {}
            for c = 0, D - 1 do o[c] = 0 end
            for s = 0, math.min(t.length[b], n.S) - 1 do
              x[s] = 0
              for d = 0, D - 1 do x[s] = x[s] + t.Q[b][h][q][d] * t.K[b][h][s][d] / D ^ 0.5 end
              most = math.max(most, x[s])
            end
            for s = 0, math.min(t.length[b], n.S) - 1 do
              local p = exp(x[s] - most)
              sum = sum + p
              for c = 0, D - 1 do o[c] = o[c] + p * t.V[b][h][s][c] end
            end
            for c = 0, D - 1 do t.O[b][h][q][c] = sum > 0 and o[c] / sum or 0 end
          end
        end
      end
    end,
    run = { { B = 6, H = 1, R = 130, S = 260 }, { B = 3, H = 2, R = 5, S = 180 } },
  }
  for key, value in pairs(own) do if fields[key] == nil then fields[key] = value end end
  return fields
end
kernel "attention_lengths" (lengths {})
kernel "attention_lengths_ahead" (lengths { ahead = { s = { turns = 1, before = "o" } } })

-- Attention to single keys by their numbers: keys and values come row by row.
kernel "attention_chosen" (lengths {
  chosen = tensor { B, L, dtype = "int32", axes = "b g", fill = "integers 0 99" }, axes = "b h q s d g",
  program = function(t, at, tile)
    local q, length = load(t.Q, at.b, at.h, span(at.q, tile.q), all), min(t.length[at.b], L)
    local o, _, sum = loop("kv", range(0, length, tile.s), { zeros(), rows(-inf), rows(0) }, function(kv, o, most, sum)
      local keys = load(t.chosen, at.b, span(kv, tile.s, length)):t()
      local k, v = gather(t.K, at.b, at.h, keys, all), gather(t.V, at.b, at.h, keys, all)
      local s = dot(q, k:t()):as "s" * (1.4426950408889634 / D ^ 0.5)
      local m = max(most, row_max(s))
      local p, r = exp2_diff(s, m), exp2_diff(most, m)
      return dot(cast(p, "bf16"), v, o * r):as "o", m, sum * r + row_sum(p)
    end)
    store(t.O, at.b, at.h, span(at.q, tile.q), all, ratio(o, sum, 0))
  end,
  reference = function(t, n)
    for b = 0, n.B - 1 do
      for h = 0, n.H - 1 do
        for q = 0, n.R - 1 do
          local x, most, sum, o = {}, -math.huge, 0, {}
          for c = 0, D - 1 do o[c] = 0 end
          local last = math.min(t.length[b], n.L) - 1
          for l = 0, last do
            local s = t.chosen[b][l]
            x[l] = 0
            for d = 0, D - 1 do x[l] = x[l] + t.Q[b][h][q][d] * t.K[b][h][s][d] / D ^ 0.5 end
            most = math.max(most, x[l])
          end
          for l = 0, last do
            local p = exp(x[l] - most)
            sum = sum + p
            for c = 0, D - 1 do o[c] = o[c] + p * t.V[b][h][t.chosen[b][l]][c] end
          end
          for c = 0, D - 1 do t.O[b][h][q][c] = sum > 0 and o[c] / sum or 0 end
        end
      end
    end
  end,
  run = { { B = 3, H = 2, R = 70, S = 100, L = 200 }, { B = 2, H = 1, R = 5, S = 120, L = 90 } },
})
