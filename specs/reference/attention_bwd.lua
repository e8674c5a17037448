-- Attention backward by hand, for the `reference` of specs: plain numbers, from the definition.
--
-- by_hand { gives = "dq" } gives the reference of a kernel whose output is dQ, "dkdv" that of one with dK and dV,
-- "delta" that of one with delta. Further fields may be left out:
--   d        head size, else the kernel's is 128
--   shared   heads of Q that share one of K and V (1)
--   visible  function(q, kv, n): whether the key counts
local function by_hand(own)
  local d, shared, scale = own.d or 128, own.shared or 1, 1 / (own.d or 128) ^ 0.5
  local visible = own.visible or function() return true end

  -- A row of tensor x, [batch, sequence, heads, head size], as plain numbers.
  local function row(x, b, s, h)
    local from, to = x[b][s][h], {}
    for c = 0, d - 1 do to[c] = from[c] end
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
  local function zeros(count)
    local rows = {}
    for s = 0, count - 1 do
      rows[s] = {}
      for c = 0, d - 1 do rows[s][c] = 0 end
    end
    return rows
  end
  local function write(x, b, h, rows, count)
    for s = 0, count - 1 do
      local to = x[b][s][h]
      for c = 0, d - 1 do to[c] = rows[s][c] end
    end
  end

  local function delta(t, n)
    for b = 0, n.B - 1 do
      for h = 0, n.H - 1 do
        for q = 0, n.R - 1 do t.delta[b][h][q] = product(t.dO[b][q][h], t.O[b][q][h]) end
      end
    end
  end

  -- The gradients of one head of Q, added to rows of K's and V's head.
  local function head(t, n, b, h, dq, dk, dv)
    for kv = 0, n.S - 1 do
      local k, v = row(t.K, b, kv, h // shared), row(t.V, b, kv, h // shared)
      for q = 0, n.R - 1 do
        if visible(q, kv, n) then
          local x, gradient = t.Q[b][q][h], t.dO[b][q][h]
          local p = exp(product(x, k) * scale - t.LSE[b][h][q])
          local ds = p * (product(gradient, v) - t.delta[b][h][q]) * scale
          if dq then add(dq[q], ds, k) end
          if dk then add(dk[kv], ds, x) end
          if dv then add(dv[kv], p, gradient) end
        end
      end
    end
  end

  return own.gives == "delta" and delta or function(t, n)
    for b = 0, n.B - 1 do
      for g = 0, n.H // shared - 1 do
        local dk, dv
        if own.gives == "dkdv" then dk, dv = zeros(n.S), zeros(n.S) end
        for h = g * shared, g * shared + shared - 1 do
          local dq = own.gives == "dq" and zeros(n.R) or nil
          head(t, n, b, h, dq, dk, dv)
          if dq then write(t.dQ, b, h, dq, n.R) end
        end
        if dk then
          write(t.dK, b, g, dk, n.S)
          write(t.dV, b, g, dv, n.S)
        end
      end
    end
  end
end

return by_hand
