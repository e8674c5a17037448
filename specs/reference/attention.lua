-- Attention by hand, for the `reference` of specs: plain numbers, one query at a time.
--
-- by_hand { ... } gives a kernel's reference. All fields may be left out:
--   shared   heads of Q that share one of K and V (1)
--   queries  the dim that counts them ("R")
--   order    "bshd", [batch, sequence, heads, head size], or "bhsd"
--   one      all heads share one K and V, [batch, sequence, head size]; LSE is [batch, sequence, heads]
--   turned   V lies with kv innermost, [batch, heads, head size, sequence]
--   scaled   scores are multiplied by the kernel's scale, and what comes of V by its v_scale
--   visible  function(q, kv, at): whether the key counts; at has t, n, b and h
--   score    function(x, q, kv, at): the scaled score becomes this
--   sink     function(at): a logit that joins the row's sum, and no value with it
local function by_hand(own)
  local shared, order = own.shared or 1, own.order or "bshd"
  local visible, score = own.visible or function() return true end, own.score or function(x) return x end
  local function row(x, b, s, h)
    if own.one and not h then return x[b][s] end
    if order == "bhsd" then return x[b][h][s] end
    return x[b][s][h]
  end
  return function(t, n)
    local width = { q = own.d or n.D, v = own.e or own.d or n.D }
    local scale, v_scale = own.scaled and t.scale or width.q ^ -0.5, own.scaled and t.v_scale or 1
    for b = 0, n.B - 1 do
      for h = 0, n.H - 1 do
        local at, keys, values = { t = t, n = n, b = b, h = h }, {}, {}
        for kv = 0, n.S - 1 do
          local g = not own.one and h // shared
          local k, v = row(t.K, b, kv, g), own.turned and t.V[b][g] or row(t.V, b, kv, g)
          keys[kv], values[kv] = {}, {}
          for c = 0, width.q - 1 do keys[kv][c] = k[c] end
          for c = 0, width.v - 1 do values[kv][c] = own.turned and v[c][kv] or v[c] end
        end
        for q = 0, n[own.queries or "R"] - 1 do
          local x, most = {}, own.sink and own.sink(at) or -math.huge
          local query, from, o = row(t.Q, b, q, h), {}, {}
          for c = 0, width.q - 1 do from[c] = query[c] end
          for c = 0, width.v - 1 do o[c] = 0 end
          for kv = 0, n.S - 1 do
            if visible(q, kv, at) then
              local s, k = 0, keys[kv]
              for c = 0, width.q - 1 do s = s + from[c] * k[c] end
              x[kv] = score(s * scale, q, kv, at)
              most = math.max(most, x[kv])
            end
          end
          local sum = own.sink and exp(own.sink(at) - most) or 0
          for kv = 0, n.S - 1 do
            if x[kv] then
              local p, v = most > -math.huge and exp(x[kv] - most) or 0, values[kv]
              sum = sum + p
              for c = 0, width.v - 1 do o[c] = o[c] + p * v[c] end
            end
          end
          local out = row(t.O, b, q, h)
          for c = 0, width.v - 1 do out[c] = sum == 0 and 0 or o[c] / sum * v_scale end -- NaN stays NaN
          if own.one then t.LSE[b][q][h] = most + log(sum) else t.LSE[b][h][q] = most + log(sum) end
        end
      end
    end
  end
end

return by_hand
