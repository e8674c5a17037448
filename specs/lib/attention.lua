-- Attention forward: O = softmax(scale Q K^T) V, by blocks of keys with a running maximum and sum; with the sum alone
-- where score_mod keeps all scores within 50 of 0 and V is bf16, whose elements then have to stay below 2^40.
--
-- Heads of Q may share those of K and V: axis h counts the heads of Q, g those of K and V, and H // G of h belong to
-- one of g. A tensor's `axes` say the order of its dims. The scale is 1 / sqrt(d) where the kernel has none.
-- V and O have a head size of their own, axis e. V may lie with kv innermost, which fp8 must: no matrix instruction
-- reads it otherwise. Weights of fp8 are 256 times themselves, so that small ones are not lost; sums cancel it. Where
-- tensors have scales, `scale` holds those of Q and K beside 1 / sqrt(d), and v_scale is that of V.
--
-- mask_mod(_, t, i) says which elements count, score_mod(score, t, i)
-- changes scaled scores before their softmax; both see the indices i.b, i.h, i.q and i.kv. LSE receives the logarithm
-- of each row's sum. sink, if wanted, is a logit by head that joins that sum, and no value with it. Rows that see
-- nothing are 0, and -inf in LSE.
--
-- Sequences of their own lengths lie behind each other in tensors without axis b: b has the rows from starts_q[b] up to
-- starts_q[b + 1] of Q and O, and those of K and V by starts_kv. grid = { b = B, q = R } says how many there are, and
-- the most rows of Q that one has; i.q and i.kv count in the tensors.

local log2e, ln2 = 1.4426950408889634, 0.6931471805599453

-- Of a score that arithmetic keeps this near to 0, as binary logarithm, weights are its powers themselves, up to 2^73:
-- fp32 leaves 2^54 for how many keys there are, times what V is. So no maximum is looked for, and no sum is scaled.
local MOST = 73

local function innermost(x, axis)
  local list = axes(x)
  return list[#list] == axis
end

local function program(t, at, tile)
  local heads = extent "h" // extent "g"
  local head = at.h // heads
  local queries, count, keys = span(at.q, tile.q), extent "kv", function(kv) return span(kv, tile.kv) end
  if given "starts_kv" then
    local first, last = max(t.starts_kv[at.b], 0), t.starts_kv[at.b + 1]
    count, keys = last - first, function(kv) return span(first + kv, tile.kv, last) end
  end
  if given "starts_q" then
    local first, last = max(t.starts_q[at.b], 0), t.starts_q[at.b + 1]
    queries, count = span(first + at.q, tile.q, last), select(lt(at.q, last - first), count, 0)
  end
  local q = load(t.Q, places(t.Q, { b = at.b, h = at.h, q = queries, d = all })):as "q"
  local scale = given "scale" and t.scale or rsqrt(extent "d")
  local fp8 = dtype(t.V) == "fp8_e4m3" or dtype(t.V) == "fp8_e5m2"

  -- What score_mod gives may be near to 0 whatever it is given, and whatever key: any place stands for it here.
  local near = given "score_mod" and dtype(t.V) == "bf16" and magnitude(fused("score_mod", q * scale, { kv = at.q }))
  near = near and near * log2e <= MOST

  local function turn(kv)
    local place = { b = at.b, g = head, kv = keys(kv), d = all, e = all }
    local k, v = load(t.K, places(t.K, place)):as "k", load(t.V, places(t.V, place)):as "v"
    if innermost(t.V, "kv") then v = v:t() end
    local s = dot(q, k:t()):as "s"
    if given "score_mod" then
      s = fused("score_mod", s * scale) * log2e
    else
      s = s * (scale * log2e)
    end
    return where(fused("mask_mod", true), s, -inf), v
  end
  local turns, o, most, sum = range(0, count, tile.kv), nil, 0, nil
  if near then
    o, sum = loop("kv", turns, { zeros(), rows(0) }, function(kv, o, sum)
      local s, v = turn(kv)
      local p = exp2_diff(s, 0)
      return dot(cast(p, dtype(t.V)), v, o):as "o", sum + row_sum(p)
    end)
  else
    o, most, sum = loop("kv", turns, { zeros(), rows(-inf), rows(0) }, function(kv, o, most, sum)
      local s, v = turn(kv)
      local m = max(most, row_max(s))
      local p, r = exp2_diff(s, fp8 and m - 8 or m), exp2_diff(most, m)
      return dot(cast(p, dtype(t.V)), v, o * r):as "o", m, sum * r + row_sum(p)
    end)
  end

  if given "sink" then
    local sink = t.sink[at.h] * log2e
    local m = max(most, sink)
    local r = exp2_diff(most, m)
    o, most, sum = o * r, m, sum * r + exp2_diff(sink, fp8 and m - 8 or m)
  end
  local result = given "v_scale" and where(eq(sum, 0), 0, o * (t.v_scale * (1 / sum))) or ratio(o, sum, 0)
  store(t.O, places(t.O, { b = at.b, h = at.h, q = queries, e = all }, result))
  if fp8 then most = most - 8 end
  if given "LSE" then
    store(t.LSE, places(t.LSE, { b = at.b, h = at.h, q = queries }, (most + log2(sum)) * ln2))
  end
end

-- Tiles that a kernel leaves out. What bounds them is a thread's registers: of 64 rows for each consumer, half of a
-- tile's columns as scores, a quarter as weights beside the next turn's scores, half of V's head size as sums; then
-- shared memory, two stages of K and V beside Q.
local function sizes(arch, said, extent)
  local d, e = extent.d or 128, extent.e or extent.d or 128
  local most = math.max(d, e)
  if arch and arch ~= "sm_90a" then
    return { q = 128, kv = most <= 64 and 64 or 32, why = "the fragments of a warp's rows fit its registers" }
  end
  local consumers = said.consumers or (said.q and said.q // 64) or (most > 64 and most <= 96 and 3 or 2)
  local q, kv, why = 64 * consumers, nil, nil
  if consumers == 3 then
    kv, why = e <= 64 and 112 or 96, "three consumers hide each other's softmax; scores and sums fill their registers"
  elseif most <= 128 then
    kv, why = 128, "two consumers, scores and sums in registers; two stages of K and V beside Q"
  elseif d <= 192 and e <= 128 then
    kv, why = 112, "two stages of K and V beside Q fill shared memory"
  else
    kv, why = most <= 192 and 96 or 64, "two stages of K and V beside Q fill shared memory"
  end
  return { q = q, kv = kv, why = why }
end

return {
  axes = "b h g q kv d e s",
  grid = "b h q",
  extents = "b q",
  tensors = {
    { "Q", axes = "b h q d" },
    { "K", axes = "b g kv d" },
    { "V", axes = "b g kv e" },
    { "O", axes = "b h q e", out = true },
    { "LSE", axes = "b h q", out = true, optional = true },
    { "sink", axes = "h", optional = true },
    { "starts_q", axes = "s", optional = true, shared = true },
    { "starts_kv", axes = "s", optional = true, shared = true },
  },
  scalars = { "scale", "v_scale" },
  functions = { "mask_mod", "score_mod" },
  program = program,
  sizes = sizes,
}
