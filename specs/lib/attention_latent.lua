-- Attention over latent keys: O = softmax(scale Q K^T) V, where all heads of Q share one row of K, and V is the first
-- columns of it: the same memory, under a name and strides of its own (axes "b kv d" and "b kv e").
--
-- tile.q tokens with tile.h heads each are rows of one tile, token by token, so that each key is read once for all of
-- them. Sums of all of V's columns are more than a thread holds: items share them, tile.e each, and all of those
-- compute the scores; the second finds K and V in the L2. mask_mod(_, t, i) says which elements count, by i.b, i.q,
-- i.h and i.kv. The scale is 1 / sqrt(d) where the kernel has none; models whose d is not that of their heads give
-- their own. LSE receives the logarithm of each row's sum. Rows that see nothing are 0, and -inf in LSE.

local log2e, ln2 = 1.4426950408889634, 0.6931471805599453

local function program(t, at, tile)
  local rows_of = { b = at.b, q = span(at.q, tile.q), h = span(at.h, tile.h), d = all, e = span(at.e, tile.e) }
  local q = load(t.Q, places(t.Q, rows_of)):as "q"
  local scale = given "scale" and t.scale or rsqrt(extent "d")

  local o, most, sum = loop("kv", range(0, extent "kv", tile.kv), { zeros(), rows(-inf), rows(0) },
    function(kv, o, most, sum)
      local place = { b = at.b, kv = span(kv, tile.kv), d = all, e = span(at.e, tile.e) }
      local k, v = load(t.K, places(t.K, place)):as "k", load(t.V, places(t.V, place)):as "v"
      local s = where(fused("mask_mod", true), dot(q, k:t()):as "s" * (scale * log2e), -inf)
      local m = max(most, row_max(s))
      local p, r = exp2_diff(s, m), exp2_diff(most, m)
      return dot(cast(p, dtype(t.V)), v, o * r):as "o", m, sum * r + row_sum(p)
    end)
  store(t.O, places(t.O, rows_of, ratio(o, sum, 0)))
  if given "LSE" then -- by the items of the first columns
    rows_of.q = span(at.q, tile.q, select(eq(at.e, 0), extent "q", 0))
    store(t.LSE, places(t.LSE, rows_of, (most + log2(sum)) * ln2))
  end
end

return {
  axes = "b h q kv d e",
  grid = "b q h e",
  extents = "q",
  tensors = {
    { "Q", axes = "b q h d" },
    { "K", axes = "b kv d" },
    { "V", axes = "b kv e" },
    { "O", axes = "b q h e", out = true },
    { "LSE", axes = "b q h", out = true, optional = true },
  },
  scalars = { "scale" },
  functions = { "mask_mod" },
  program = program,
  -- 64 rows, of as many tokens as the heads leave, and 256 columns of sums: what a wgmma computes at most. Keys: two
  -- stages of 32 beside the rows' 576 columns fill shared memory.
  sizes = function(arch, said, extent)
    local h = said.h or 16
    return {
      h = h, q = math.max(64 // h, 1), kv = 32, e = math.min(extent.e or 256, 256),
      why = "64 rows of 256 sums for an instruction; two stages of K and V beside Q fill shared memory",
    }
  end,
}
