-- Attention backward, dQ: from what attention forward left, LSE, and the delta of attention_bwd_delta.
--
-- With P = exp(scale Q K^T - LSE) and dS = P * (dO V^T - delta), dQ = scale dS K. Axes, shared heads, scale and
-- mask_mod are those of family attention. A row that sees nothing, whose LSE is -inf, gets 0.

local log2e = 1.4426950408889634

local function program(t, at, tile)
  local queries = { b = at.b, h = at.h, q = span(at.q, tile.q), d = all, e = all }
  local q, o = load(t.Q, places(t.Q, queries)):as "q", load(t.dO, places(t.dO, queries)):as "o"
  local lse, delta = load(t.LSE, places(t.LSE, queries)):t(), load(t.delta, places(t.delta, queries)):t()
  local head = at.h // (extent "h" // extent "g")
  local scale = given "scale" and t.scale or rsqrt(extent "d")

  local dq = loop("kv", range(0, extent "kv", tile.kv), { zeros() }, function(kv, dq)
    local place = { b = at.b, g = head, kv = span(kv, tile.kv), d = all, e = all }
    local k, v = load(t.K, places(t.K, place)):as "k", load(t.V, places(t.V, place)):as "v"
    local s, dp = dot(q, k:t()):as "s", dot(o, v:t()):as "dp"
    local p = where(fused("mask_mod", true), exp2(s * (scale * log2e) - lse * log2e), 0)
    return dot(cast(p * (dp - delta), dtype(t.K)), k, dq):as "dq"
  end)
  store(t.dQ, places(t.dQ, queries, dq * scale))
end

local function sizes(arch, said, extent)
  if arch and arch ~= "sm_90a" then
    return { q = 64, kv = 32, why = "the fragments of a warp's rows fit its registers" }
  end
  local most = math.max(extent.d or 128, extent.e or extent.d or 128)
  local why = "sums of dQ and Q beside scores, their gradients and an operand"
  return { q = 128, kv = most <= 64 and 112 or 64, why = why }
end

return {
  axes = "b h g q kv d e",
  grid = "b h q",
  tensors = {
    { "Q", axes = "b h q d" },
    { "K", axes = "b g kv d" },
    { "V", axes = "b g kv e" },
    { "dO", axes = "b h q e" },
    { "LSE", axes = "b h q" },
    { "delta", axes = "b h q" },
    { "dQ", axes = "b h q d", out = true },
  },
  scalars = { "scale" },
  functions = { "mask_mod" },
  program = program,
  sizes = sizes,
}
