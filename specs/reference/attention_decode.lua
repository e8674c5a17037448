-- Attention over a cache by hand, for the `reference` of specs: plain numbers, one query at a time.
--
-- by_hand(heads, own) gives a kernel's reference: so many heads of Q share one of K and V, of head size 128. own's
-- fields may all be left out:
--   row      function(t, b, kv): the tensors' rows of a request's token
--   visible  function(q, kv, at): whether the token counts, by default those up to the query's own; at has t, n, b, h
--            and shift, which makes a token of q
--   score    function(x, q, kv, at): the scaled score becomes this
--   sink     function(at): a logit that joins the row's sum, and no value with it
local D = 128

local function by_hand(heads, own)
  own = own or {}
  local row = own.row or function(t, b, kv) return t.K[b][kv], t.V[b][kv] end
  local visible = own.visible or function(q, kv, at) return kv <= q + at.shift end
  local score = own.score or function(x) return x end
  return function(t, n)
    for b = 0, n.B - 1 do
      local length = t.lengths[b]
      for h = 0, n.G * heads - 1 do
        local at, keys, values = { t = t, n = n, b = b, h = h, shift = length - n.R }, {}, {}
        for kv = 0, length - 1 do
          local k, v = row(t, b, kv)
          keys[kv], values[kv] = {}, {}
          for c = 0, D - 1 do keys[kv][c], values[kv][c] = k[h // heads][c], v[h // heads][c] end
        end
        for q = 0, n.R - 1 do
          local x, most, o, query = {}, own.sink and own.sink(at) or -math.huge, {}, {}
          for c = 0, D - 1 do o[c], query[c] = 0, t.Q[b][q][h][c] end
          for kv = 0, length - 1 do
            if visible(q, kv, at) then
              local s = 0
              for c = 0, D - 1 do s = s + query[c] * keys[kv][c] end
              x[kv] = score(s / D ^ 0.5, q, kv, at)
              most = math.max(most, x[kv])
            end
          end
          local sum = own.sink and exp(own.sink(at) - most) or 0
          for kv = 0, length - 1 do
            if x[kv] then
              local p = exp(x[kv] - most)
              sum = sum + p
              for c = 0, D - 1 do o[c] = o[c] + p * values[kv][c] end
            end
          end
          for c = 0, D - 1 do t.O[b][q][h][c] = sum > 0 and o[c] / sum or 0 end
          t.LSE[b][q][h] = most + log(sum)
        end
      end
    end
  end
end

return by_hand
