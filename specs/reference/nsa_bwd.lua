-- Native sparse attention backward by hand, for the `reference` of specs: plain numbers, from the definition.
--
-- by_hand { ... } gives a kernel's reference:
--   gives    "dq": the kernel's output is dQ; "dkdv": it has dK and dV
--   d        head size
--   heads    of Q that share one of K and V, and their lists
--   block    keys of a block
--   entries  function(t, n, b, q, g): the numbers of the blocks that query q names, a list from 1 on
--   part     function(b, g, block, q, n): which of `parts` items sums up the query's share, where dK and dV have axis p
--   scaled   scores are multiplied by the kernel's scale
local function by_hand(own)
  local d = own.d
  local function row(x)
    local to = {}
    for c = 0, d - 1 do to[c] = x[c] end
    return to
  end
  local function product(x, y)
    local sum = 0
    for c = 0, d - 1 do sum = sum + x[c] * y[c] end
    return sum
  end
  local function add(to, factor, x)
    for c = 0, d - 1 do to[c] = to[c] + factor * x[c] end
  end
  local function zeros()
    local to = {}
    for c = 0, d - 1 do to[c] = 0 end
    return to
  end
  local function write(to, from)
    for c = 0, d - 1 do to[c] = from[c] end
  end

  return function(t, n)
    local scale = own.scaled and t.scale or d ^ -0.5
    for b = 0, n.B - 1 do
      for g = 0, n.G - 1 do
        local K, V, dk, dv, parts = {}, {}, {}, {}, own.parts or 1
        for kv = 0, n.T - 1 do
          K[kv], V[kv] = row(t.K[b][kv][g]), row(t.V[b][kv][g])
          for part = 0, parts - 1 do dk[kv * parts + part], dv[kv * parts + part] = zeros(), zeros() end
        end
        for q = 0, n.T - 1 do
          local list = own.entries(t, n, b, q, g)
          for h = 0, own.heads - 1 do
            local function of(x) -- all heads of all queries are rows where dK and dV are computed
              return row(own.gives == "dq" and x[b][q][g][h] or x[b][(q * n.G + g) * own.heads + h])
            end
            local x, gradient, dq = of(t.Q), of(t.dO), zeros()
            local lse, delta = t.LSE[b][q][g][h], t.delta[b][q][g][h]
            for _, block in ipairs(list) do
              local seen = block >= 0 and block <= q // own.block
              local part = own.part and seen and own.part(b, g, block, q, n) or 0
              for kv = math.max(block * own.block, 0), math.min(block * own.block + own.block - 1, q) do
                local p = exp(product(x, K[kv]) * scale - lse)
                local ds = p * (product(gradient, V[kv]) - delta) * scale
                add(dq, ds, K[kv])
                add(dk[kv * parts + part], ds, x)
                add(dv[kv * parts + part], p, gradient)
              end
            end
            if own.gives == "dq" then write(t.dQ[b][q][g][h], dq) end
          end
        end
        for i = 0, own.gives == "dkdv" and n.T * parts - 1 or -1 do
          local kv, part = i // parts, i % parts
          write(own.part and t.dK[b][part][kv][g] or t.dK[b][kv][g], dk[i])
          write(own.part and t.dV[b][part][kv][g] or t.dV[b][kv][g], dv[i])
        end
      end
    end
  end
end

return by_hand
