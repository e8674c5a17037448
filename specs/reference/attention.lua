-- Attention by hand, for the `reference` of specs: plain numbers, one query at a time.
--
-- by_hand { ... } gives a kernel's reference. All fields may be left out:
--   shared   heads of Q that share one of K and V (1)
--   queries  the dim that counts them ("R")
--   order    "bshd", [batch, sequence, heads, head size], or "bhsd"
--   visible  function(q, kv, at): whether the key counts; at has t, n, b and h
--   score    function(x, q, kv, at): the scaled score becomes this
--   sink     function(at): a logit that joins the row's sum, and no value with it
local function by_hand(own)
  local shared, order = own.shared or 1, own.order or "bshd"
  local visible, score = own.visible or function() return true end, own.score or function(x) return x end
  local function row(x, b, s, h)
    if order == "bhsd" then return x[b][h][s] end
    return x[b][s][h]
  end
  return function(t, n)
    local width = { q = own.d or n.D, v = own.e or own.d or n.D }
    for b = 0, n.B - 1 do
      for h = 0, n.H - 1 do
        local at, keys, values = { t = t, n = n, b = b, h = h }, {}, {}
        for kv = 0, n.S - 1 do
          local k, v = row(t.K, b, kv, h // shared), row(t.V, b, kv, h // shared)
          keys[kv], values[kv] = {}, {}
          for c = 0, width.q - 1 do keys[kv][c] = k[c] end
          for c = 0, width.v - 1 do values[kv][c] = v[c] end
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
              x[kv] = score(s / width.q ^ 0.5, q, kv, at)
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
          for c = 0, width.v - 1 do out[c] = sum == 0 and 0 or o[c] / sum end -- NaN stays NaN
          t.LSE[b][h][q] = most + log(sum)
        end
      end
    end
  end
end

return by_hand
