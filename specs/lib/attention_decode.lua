-- Attention of the newest tokens of each request over its cache: O = softmax(scale Q K^T) V for q rows a request.
--
-- lengths[b] says on the device how many tokens request b has, its newest, which are the rows of Q, among them: row
-- i.q of Q is token i.q + lengths[b] - R of R rows, and sees those before it and itself. mask_mod(_, t, i), if given,
-- says instead which of the request's tokens count, score_mod(score, t, i) changes scaled scores before their softmax;
-- both see i.b, i.h, the row i.q and the key's token i.kv, whatever page it is in. sink, if wanted, is a logit by head
-- that joins a row's sum, and no value with it.
--
-- Heads of Q (h) share those of K and V (g) as H // G says; those of one g are rows of one tile, tile.h of them, which
-- divides H // G, token by token, so that each key is read once for all. LSE receives the logarithm of each row's sum.
-- Rows that see nothing are 0, and -inf in LSE.
--
-- K and V without axis b are a pool of pages for all requests, tile.l tokens each: pages[b][i] is the number of the
-- page that has request b's tokens from i times so many on. What pages hold behind a request's tokens may be anything.
-- split = { kv = { parts = N, over = "blocks" } }: N blocks have every N-th tile of keys each.

local log2e, ln2 = 1.4426950408889634, 0.6931471805599453

local function program(t, at, tile)
  local length = t.lengths[at.b]
  local rows_of = { b = at.b, q = span(at.q, tile.q), h = span(at.h, tile.h), d = all }
  local q = load(t.Q, places(t.Q, rows_of)):as "q"
  local scale = given "scale" and t.scale or rsqrt(extent "d")
  local heads = extent "h" // extent "g"

  local o, most, sum = loop("kv", range(0, length, tile.kv), { zeros(), rows(-inf), rows(0) },
    function(kv, o, most, sum)
      local keys, bring = span(kv, tile.kv, length), load
      if given "pages" then
        local token = rows(keys)
        keys, bring = t.pages[at.b][token // tile.l] * tile.l + token % tile.l, gather
      end
      local place = { b = at.b, g = at.h // heads, kv = keys, d = all }
      local k, v = bring(t.K, places(t.K, place)):as "k", bring(t.V, places(t.V, place)):as "v"
      local s, token = dot(q, k:t()):as "s", { kv = kv + column() }
      if given "score_mod" then
        s = fused("score_mod", s * scale, token) * log2e
      else
        s = s * (scale * log2e)
      end
      if given "mask_mod" then
        s = where(fused("mask_mod", true, token), s, -inf)
      else
        s = where(le(token.kv, index().q + length - extent "q"), s, -inf)
      end
      local m = max(most, row_max(s))
      local p, r = exp2_diff(s, m), exp2_diff(most, m)
      return dot(cast(p, dtype(t.V)), v, o * r):as "o", m, sum * r + row_sum(p)
    end, { combine = function(a, b)
      local m = max(a[2], b[2])
      local of_a, of_b = exp2_diff(a[2], m), exp2_diff(b[2], m)
      return { a[1] * of_a + b[1] * of_b, m, a[3] * of_a + b[3] * of_b }
    end })
  if given "sink" then
    local sink = t.sink[index().h] * log2e
    local m = max(most, sink)
    local r = exp2_diff(most, m)
    o, most, sum = o * r, m, sum * r + exp2_diff(sink, m)
  end
  store(t.O, places(t.O, rows_of, ratio(o, sum, 0)))
  if given "LSE" then store(t.LSE, places(t.LSE, rows_of, (most + log2(sum)) * ln2)) end
end

return {
  axes = "b h g q kv d l",
  grid = "b h q",
  meaning = "l h",
  tensors = {
    { "Q", axes = "b q h d" },
    { "K", axes = "b kv g d" },
    { "V", axes = "b kv g d" },
    { "O", axes = "b q h d", out = true },
    { "LSE", axes = "b q h", out = true, optional = true },
    { "sink", axes = "h", optional = true },
    { "lengths", axes = "b", shared = true },
    { "pages", axes = "b l", optional = true, shared = true },
  },
  scalars = { "scale" },
  functions = { "mask_mod", "score_mod" },
  program = program,
  -- 64 rows, of as many tokens as the heads leave: the instruction's least. Keys in tiles of 128.
  sizes = function(arch, said, extent)
    local h = said.h or 1
    return { h = h, q = math.max(64 // h, 1), kv = 128, why = "the 64 rows of one instruction; the rest is for keys" }
  end,
}
