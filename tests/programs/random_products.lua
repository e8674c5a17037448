-- Programs with dots, drawn at random from their numbers: layouts, tiles, stages, turns of a loop, what follows the
-- sum; products of products with masks, sums and maxima that are carried beside the accumulator.
local M, N, K = dims "M N K"
local Q, S = dims "Q S"
local D, V = 64, 32

-- Numbers 0 to most - 1, the same for the same seed.
local function generator(seed)
  local state = seed * 7919 + 12345
  return function(most)
    state = (state * 1103515245 + 12345) % 2147483648
    return state // 65536 % most
  end
end
local function one_in(draw, most) return draw(most) == 0 end
local function one_of(draw, list) return list[1 + draw(#list)] end
local function pick(condition, a, b) if condition then return a end return b end

local shapes = {
  function(x) return x end, function(x) return relu(x) end, function(x) return silu(x) end,
  function(x) return gelu(x) end, function(x) return x * 0.375 end, function(x) return tanh(x * 0.125) end,
  function(x) return min(max(x, -8.0), 8.0) end,
  function(x) return exp2(min(x * 0.25, 4.0)) end, function(x) return abs(x) end,
}

-- D = f(A B) with bias and C; K goes from no turn to more than there are stages.
local function product(seed)
  local draw = generator(seed)
  local m_first, n_first = one_in(draw, 2), one_in(draw, 2)
  local bias, c, raw = one_in(draw, 2), one_in(draw, 2), one_in(draw, 3)
  local first, last = one_of(draw, shapes), one_of(draw, shapes)
  local dtype = one_of(draw, { "bf16", "fp16" })
  local tile = { m = one_of(draw, { 64, 128 }), n = one_of(draw, { 32, 64, 128 }), k = one_of(draw, { 32, 64 }) }
  local stages = 2 + draw(3)
  local trips = { 0, 1, stages - 1, stages, stages + 1, 2 * stages + 1 }
  local function sizes() return { M = 8 * (1 + draw(17)), N = 8 * (1 + draw(17)), K = tile.k * one_of(draw, trips) } end
  local ragged = { M = 1 + draw(140), N = 8 * (1 + draw(20)), K = 8 * (1 + draw(30)) }
  if m_first then ragged.M = 8 * (1 + ragged.M // 8) end
  kernel("random_product_" .. seed) {
    A = pick(m_first, tensor { K, M, dtype = dtype, axes = "k m" }, tensor { M, K, dtype = dtype, axes = "m k" }),
    B = pick(n_first, tensor { K, N, dtype = dtype, axes = "k n" }, tensor { N, K, dtype = dtype, axes = "n k" }),
    bias = pick(bias, tensor { N, dtype = dtype, axes = "n" }, nil),
    C = pick(c, tensor { M, N, dtype = dtype, axes = "m n" }, nil),
    D = tensor { M, N, dtype = one_of(draw, { "bf16", "fp16", "fp32" }), axes = "m n", out = true },
    raw = pick(raw, tensor { M, N, dtype = "fp32", axes = "m n", out = true }, nil),
    axes = "m n k", tile = tile, grid = { m = M, n = N }, pipeline = { stages = stages }, arch = { sm_90a = {} },
    program = function(t, at, tile)
      local m, n = span(at.m, tile.m), span(at.n, tile.n)
      local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
        local k = span(k, tile.k)
        local a, b
        if m_first then a = load(t.A, k, m):t() else a = load(t.A, m, k) end
        if n_first then b = load(t.B, k, n) else b = load(t.B, n, k):t() end
        return dot(a, b, sum)
      end)
      local x = first(sum)
      if bias then x = x + t.bias end
      if raw then store(t.raw, m, n, x * 0.5) end
      x = last(x)
      if c then x = x + load(t.C, m, n) * 0.25 end
      store(t.D, m, n, x)
    end,
    run = { sizes(), sizes(), ragged },
  }
end

local masks = {
  function() return nil end,
  function(i) return le(i.s, i.q + 7) end,
  function(i) return eq(i.q // 48, i.s // 48) end,
  function(i, t) return lt(i.s, t.length[i.q]) end,
  function(i) return ne((i.q + i.s) % 5, 0) end,
}
local weights = {
  function(x) return relu(x) end, function(x) return silu(x) end, function(x) return sigmoid(x) end,
  function(x) return exp2(min(x, 3.0)) end, function(x) return tanh(x) end,
}

-- o = w(q k^T) v with a mask; beside it the sum and the largest of each row.
local function chain(seed)
  local draw = generator(seed + 77)
  local which = 1 + draw(#masks)
  local mask, weight, fades = masks[which], one_of(draw, weights), one_in(draw, 2)
  local outside = one_of(draw, { 0.0, -30.0 })
  local tile, stages = { q = one_of(draw, { 64, 128 }), s = one_of(draw, { 32, 64 }) }, 2 + draw(2)
  local moved = one_in(draw, 2)
  local trips = { 0, 1, stages - 1, stages, stages + 1 }
  kernel("random_chain_" .. seed) {
    q = tensor { Q, D, dtype = "bf16", axes = "q d" }, k = tensor { S, D, dtype = "bf16", axes = "s d" },
    v = tensor { S, V, dtype = "bf16", axes = "s v" },
    length = pick(which == 4, tensor { Q, dtype = "int32", axes = "q", fill = "integers 0 150" }, nil),
    o = tensor { Q, V, dtype = "bf16", axes = "q v", out = true },
    sum = tensor { Q, dtype = "fp32", axes = "q", out = true },
    most = tensor { Q, dtype = "fp32", axes = "q", out = true },
    axes = "q s d v", tile = tile, grid = { q = Q }, pipeline = { stages = stages }, arch = { sm_90a = {} },
    ahead = pick(moved, { x = { turns = 1, before = "o" } }, nil),
    program = function(t, at, tile)
      local q = load(t.q, span(at.q, tile.q), all)
      local o, sum, most = loop("s", range(0, S, tile.s), { zeros(), rows(0), rows(-inf) }, function(s, o, sum, most)
        local k, v = load(t.k, span(s, tile.s), all), load(t.v, span(s, tile.s), all)
        local x = dot(q, k:t()):as "x" * 0.125
        if which > 1 then x = where(mask(index(), t), x, outside) end
        local p, r = weight(x), 1.0
        if fades then r = sigmoid(row_sum(x) * 0.03125) end
        return dot(cast(p, "bf16"), v, o * r):as "o", sum * r + row_sum(p), max(most, row_max(x))
      end)
      store(t.o, span(at.q, tile.q), all, ratio(o, abs(sum) + 1.0, 0))
      store(t.sum, span(at.q, tile.q), sum)
      store(t.most, span(at.q, tile.q), most)
    end,
    run = {
      { Q = 1 + draw(150), S = tile.s * one_of(draw, trips) }, { Q = 1 + draw(150), S = 1 + draw(190) },
      { Q = 8, S = tile.s * (2 * stages + 1) },
    },
  }
end

for seed = 1, 8 do product(seed) end
for seed = 1, 8 do chain(seed) end
