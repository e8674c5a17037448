-- Attention backward, dK and dV: from what attention forward left, LSE, and the delta of attention_bwd_delta.
--
-- With P = exp(scale Q K^T - LSE) and dS = P * (dO V^T - delta), dV = P^T dO and dK = scale dS^T Q, summed over the
-- heads of Q that share one of K and V. Axes, shared heads, scale and mask_mod are those of family attention. A row
-- that sees nothing, whose LSE is -inf, adds nothing.

local log2e = 1.4426950408889634

local function program(t, at, tile)
  local shared = extent "h" // extent "g"
  local keys = { b = at.b, g = at.g, kv = span(at.kv, tile.kv), d = all, e = all }
  local k, v = load(t.K, places(t.K, keys)):as "k", load(t.V, places(t.V, keys)):as "v"
  local scale = given "scale" and t.scale or rsqrt(extent "d")

  local first = at.g * shared -- heads count as they are: else each turn would divide for its own
  local dk, dv = loop("head", range(first, first + shared), { zeros(), zeros() }, function(head, dk, dv)
    return loop("q", range(0, extent "q", tile.q), { dk, dv }, function(q0, dk, dv)
      local place = { b = at.b, h = head, q = span(q0, tile.q), d = all, e = all }
      local q, o = load(t.Q, places(t.Q, place)), load(t.dO, places(t.dO, place))
      local lse, delta = load(t.LSE, places(t.LSE, place)), load(t.delta, places(t.delta, place))
      local s, dp = dot(k, q:t()):as "s", dot(v, o:t()):as "dp"
      local p = where(fused("mask_mod", true), exp2(s * (scale * log2e) - lse * log2e), 0)
      -- dK first: both operands then come to lie where dP was, and scores and dP need no registers beside them.
      return dot(cast(p * (dp - delta), dtype(t.Q)), q, dk):as "dk", dot(cast(p, dtype(t.dO)), o, dv):as "dv"
    end)
  end)
  store(t.dK, places(t.dK, keys, dk * scale))
  store(t.dV, places(t.dV, keys, dv))
end

local function sizes(arch, said, extent)
  if arch and arch ~= "sm_90a" then
    return { kv = 64, q = 32, why = "the fragments of a warp's rows fit its registers" }
  end
  local most = math.max(extent.d or 128, extent.e or extent.d or 128)
  return { kv = 128, q = most <= 64 and 112 or 64, why = "sums of dK and dV beside scores and their gradients" }
end

return {
  axes = "b h g q kv d e",
  grid = "b g kv",
  tensors = {
    { "Q", axes = "b h q d" },
    { "K", axes = "b g kv d" },
    { "V", axes = "b g kv e" },
    { "dO", axes = "b h q e" },
    { "LSE", axes = "b h q" },
    { "delta", axes = "b h q" },
    { "dK", axes = "b g kv d", out = true },
    { "dV", axes = "b g kv e", out = true },
  },
  scalars = { "scale" },
  functions = { "mask_mod" },
  program = program,
  sizes = sizes,
}
