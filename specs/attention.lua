-- Attention forward: O = softmax(scale Q K^T) V, [batch, sequence, heads, head size], as the program of
-- specs/lib/attention.lua. `ahead` issues the scores of the next turn before the product with V of this one.
local B, H, R, S = dims "B H R S"
local D = 128

-- By hand: shared heads of Q take one of K and V; visible(q, kv) says what counts.
local function by_hand(shared, visible)
  return function(t, n)
    for b = 0, n.B - 1 do
      for h = 0, n.H - 1 do
        local g = h // shared
        for q = 0, n.R - 1 do
          local score, most, sum, o = {}, -math.huge, 0, {}
          for c = 0, D - 1 do o[c] = 0 end
          for kv = 0, n.S - 1 do
            if visible(q, kv) then
              local x, y, s = t.Q[b][q][h], t.K[b][kv][g], 0
              for c = 0, D - 1 do s = s + x[c] * y[c] end
              score[kv] = s / D ^ 0.5
              most = math.max(most, score[kv])
            end
          end
          for kv = 0, n.S - 1 do
            if score[kv] then
              local p, v = exp(score[kv] - most), t.V[b][kv][g]
              sum = sum + p
              for c = 0, D - 1 do o[c] = o[c] + p * v[c] end
            end
          end
          for c = 0, D - 1 do t.O[b][q][h][c] = sum > 0 and o[c] / sum or 0 end
          t.LSE[b][h][q] = most + log(sum)
        end
      end
    end
  end
end

local full = kernel "attention_fwd" {
  family = "attention",
  Q = tensor { B, R, H, D, dtype = "bf16", axes = "b q h d" },
  K = tensor { B, S, H, D, dtype = "bf16", axes = "b kv g d" },
  V = tensor { B, S, H, D, dtype = "bf16", axes = "b kv g e" },
  O = tensor { B, R, H, D, dtype = "bf16", axes = "b q h e" },
  LSE = tensor { B, H, R, dtype = "fp32", axes = "b h q" },
  ahead = { s = { turns = 1, before = "o" } },
  arch = {
    sm_90a = {}, sm_80 = { tile = { kv = 32 }, pipeline = { stages = 2, warps_m = 4 } },
    sm_120a = { asked = true, tile = { kv = 64 }, pipeline = { stages = 2 } }, -- where --arch names it
    sm_100a = { asked = true, tile = { kv = 64 } },
  },
  reference = by_hand(1, function() return true end),
  run = {
    { B = 1, H = 3, R = 300, S = 900 }, { B = 1, H = 2, R = 10, S = 100 }, { B = 1, H = 1, R = 20, S = 128 },
    { B = 1, H = 1, R = 5, S = 0 },
  },
  bench = {
    { B = 32, H = 16, R = 512, S = 512 }, { B = 16, H = 16, R = 1024, S = 1024 }, { B = 8, H = 16, R = 2048, S = 2048 },
    { B = 4, H = 16, R = 4096, S = 4096 }, { B = 2, H = 16, R = 8192, S = 8192 },
    { B = 1, H = 16, R = 16384, S = 16384 },
  },
}

kernel "attention_fwd_causal" {
  like = full,
  mask_mod = function(_, _, i) return le(i.kv, i.q) end,
  reference = by_hand(1, function(q, kv) return kv <= q end),
  run = {
    { B = 1, H = 1, R = 650, S = 900 }, { B = 1, H = 2, R = 10, S = 100 }, { B = 1, H = 1, R = 300, S = 128 },
    { B = 1, H = 1, R = 5, S = 0 },
  },
}

-- Four heads of Q share one of K and V.
kernel "attention_fwd_grouped" {
  like = full,
  K = tensor { B, S, H // 4, D, dtype = "bf16", axes = "b kv g d" },
  V = tensor { B, S, H // 4, D, dtype = "bf16", axes = "b kv g e" },
  reference = by_hand(4, function() return true end),
  run = {
    { B = 1, H = 4, R = 300, S = 900 }, { B = 1, H = 4, R = 10, S = 60 }, { B = 1, H = 4, R = 20, S = 128 },
    { B = 1, H = 4, R = 5, S = 0 },
  },
}
