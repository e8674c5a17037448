-- Native sparse attention by hand, for the `reference` of specs: plain numbers, one query at a time.
--
-- by_hand { ... } gives a kernel's reference:
--   d        head size
--   heads    of Q that share one of K and V, and their lists
--   block    keys of a block
--   entries  function(t, n, b, q, g): the numbers of the blocks that query q names, a list from 1 on
--   scaled   scores are multiplied by the kernel's scale
--   queries  the dim that counts them ("T")
--   token    function(t, n, b, q): the token of query q, which is q where it is left out
--   keys     the dim that counts keys ("T"), or their number
--   first    function(t, n, b, q): the row of K and V that is query q's token 0 (0)
--   mixed    gates and other branches' results come in
local function by_hand(own)
  return function(t, n)
    local K, V = {}, {}
    for b = 0, n.B - 1 do
      for g = 0, n.G - 1 do
        for kv = 0, (n[own.keys or "T"] or own.keys) - 1 do
          local k, v = {}, {}
          for c = 0, own.d - 1 do k[c], v[c] = t.K[b][kv][g][c], t.V[b][kv][g][c] end
          K[kv], V[kv] = k, v
        end
        for q = 0, n[own.queries or "T"] - 1 do
          local tokens, token = {}, own.token and own.token(t, n, b, q) or q
          local first = own.first and own.first(t, n, b, q) or 0
          for _, block in ipairs(own.entries(t, n, b, q, g)) do
            for kv = math.max(block * own.block, 0), math.min(block * own.block + own.block - 1, token) do
              tokens[#tokens + 1] = first + kv
            end
          end
          for h = 0, own.heads - 1 do
            local x, most, sum, o, query = {}, -math.huge, 0, {}, {}
            for c = 0, own.d - 1 do o[c], query[c] = 0, t.Q[b][q][g][h][c] end
            for i, kv in ipairs(tokens) do
              local s, k = 0, K[kv]
              for c = 0, own.d - 1 do s = s + query[c] * k[c] end
              x[i] = s * (own.scaled and t.scale or own.d ^ -0.5)
              most = math.max(most, x[i])
            end
            for i, kv in ipairs(tokens) do
              local p, v = exp(x[i] - most), V[kv]
              sum = sum + p
              for c = 0, own.d - 1 do o[c] = o[c] + p * v[c] end
            end
            for c = 0, own.d - 1 do
              local result = sum > 0 and o[c] / sum or 0
              if own.mixed then
                result = result * t.gate[b][q][g][h] + t.window[b][q][g][h][c] * t.window_gate[b][q][g][h]
                  + t.compressed[b][q][g][h][c] * t.compressed_gate[b][q][g][h]
              end
              t.O[b][q][g][h][c] = result
            end
            t.LSE[b][q][g][h] = most + log(sum)
          end
        end
      end
    end
  end
end

return by_hand
