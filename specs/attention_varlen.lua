-- Attention forward over sequences of their own lengths, behind each other in [total, heads, head size]: sequence b has
-- the rows starts_q[b] to starts_q[b + 1] - 1 of Q and O, and so of K and V by starts_kv. The launch says how many rows
-- of Q none has more than (R); how many each has stands on the device.
local B, H, R, T, U = dims "B H R T U"
local D = 128

-- Every second one has no rows of Q; of K the first has few, the second none and the third many, and so on.
local function fill_q(i, n) return math.min(230 * ((i + 1) // 2), n.T) end
local function fill_kv(i, n) return math.min(532 * (i // 3) + (i % 3 > 0 and 20 or 0), n.U) end

local function by_hand(visible)
  return function(t, n)
    for b = 0, n.B - 1 do
      local q0, k0 = t.starts_q[b], t.starts_kv[b]
      local rows, keys = t.starts_q[b + 1] - q0, t.starts_kv[b + 1] - k0
      for h = 0, n.H - 1 do
        for q = 0, rows - 1 do
          local x, most, sum, o = {}, -math.huge, 0, {}
          for c = 0, D - 1 do o[c] = 0 end
          for kv = 0, keys - 1 do
            if visible(q, kv, rows, keys) then
              local s = 0
              for c = 0, D - 1 do s = s + t.Q[q0 + q][h][c] * t.K[k0 + kv][h][c] end
              x[kv] = s / D ^ 0.5
              most = math.max(most, x[kv])
            end
          end
          for kv = 0, keys - 1 do
            if x[kv] then
              local p = exp(x[kv] - most)
              sum = sum + p
              for c = 0, D - 1 do o[c] = o[c] + p * t.V[k0 + kv][h][c] end
            end
          end
          for c = 0, D - 1 do t.O[q0 + q][h][c] = sum > 0 and o[c] / sum or 0 end
          t.LSE[h][q0 + q] = most + log(sum)
        end
      end
    end
  end
end

local full = kernel "attention_fwd_varlen" {
  family = "attention",
  Q = tensor { T, H, D, dtype = "bf16", axes = "q h d" },
  K = tensor { U, H, D, dtype = "bf16", axes = "kv g d" },
  V = tensor { U, H, D, dtype = "bf16", axes = "kv g e" },
  O = tensor { T, H, D, dtype = "bf16", axes = "q h e" },
  LSE = tensor { H, T, dtype = "fp32", axes = "h q" },
  starts_q = tensor { B + 1, dtype = "int32", fill = fill_q },
  starts_kv = tensor { B + 1, dtype = "int32", fill = fill_kv },
  grid = { b = B, q = R },
  ahead = { s = { turns = 1, before = "o" } },
  arch = {
    sm_90a = {}, sm_80 = { tile = { q = 64, kv = 64 }, pipeline = { stages = 2, warps_m = 4 } },
    sm_100a = { asked = true, tile = { kv = 64 } },
  },
  reference = by_hand(function() return true end),
  run = {
    { B = 6, H = 2, R = 230, T = 690, U = 1064 }, { B = 2, H = 1, R = 3, T = 3, U = 200 },
    { B = 3, H = 1, R = 2, T = 2, U = 40 }, { B = 3, H = 1, R = 230, T = 231, U = 532 },
  },
}

-- Causal within each sequence, whose last query sees its last key: both are counted from their ends.
kernel "attention_fwd_varlen_causal" {
  like = full,
  via = { q = "bulk" }, -- the producer needs the registers: it takes items and counts rows
  mask_mod = function(_, t, i) return le(i.kv - t.starts_kv[i.b + 1], i.q - t.starts_q[i.b + 1]) end,
  reference = by_hand(function(q, kv, rows, keys) return kv - keys <= q - rows end),
}
