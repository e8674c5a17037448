-- Native sparse attention backward, dK and dV of the selected branch: from LSE and delta, as dQ (family nsa_bwd_dq),
-- and from the lists of queries that families nsa_places and nsa_queries left.
--
-- With P = exp(scale Q K^T - LSE) and dS = P * (dO V^T - delta), dV = P^T dO and dK = scale dS^T Q, summed over the
-- heads of Q that share a list and over the queries that see the block of keys; of one that names it n times n times.
-- An item is a block of keys: nothing is added atomically, and results are the same bits in each run. Q and dO are seen
-- as rows here, of all heads: row (q G + g) H + h of batch b is head h of query q, where H heads share one of K and V;
-- tile.q queries with tile.h heads each are rows of a turn's tile.
--
-- A block that nearly all queries see, as the first may be, is more than one item should take: grid = { p = 4 } has
-- four share it, item p every fourth turn from the p-th on, and dK and dV have an axis p then and receive what each
-- sums up; the gradients are the sums over p. grid = { p = 1 }: none is shared.

local log2e = 1.4426950408889634

local function program(t, at, tile)
  local first = at.c * tile.kv
  local block = span(first, tile.kv)
  if tile.kv < 64 then -- rows that fill no instruction are of keys behind the block's
    block = span(first, 64, first + tile.kv)
  end
  local keys = { b = at.b, p = at.p, g = at.g, kv = block, d = all }
  local k, v = load(t.K, places(t.K, keys)):as "k", load(t.V, places(t.V, keys)):as "v"
  local scale = given "scale" and t.scale or rsqrt(extent "d")
  local place = t.places[at.b][at.g][at.c]
  local begin = place[0]
  local count = place[extent "u" - 1] - begin

  local turns = range(at.p * tile.q, count, constant(extent "p") * tile.q)
  local dk, dv = loop("queries", turns, { zeros(), zeros() }, function(i, dk, dv)
    -- Behind the end of the list its last query stands again, and counts for nothing.
    local function entry(x, n) return x[at.b][at.g][begin + min(n, count - 1)] end
    local r = rows(span(i * tile.h, tile.q * tile.h))
    local number = (entry(t.queries, r // tile.h) * extent "g" + at.g) * tile.h + r % tile.h
    local q, o = gather(t.Q, at.b, number, all):as "q", gather(t.dO, at.b, number, all):as "o"
    local s, dp = dot(k, q:t()):as "s", dot(v, o:t()):as "dp"
    -- Real numbers of columns, so that each lane of a warp holds its own.
    local nth, head = i + column() // tile.h, column() % tile.h
    local query, times = entry(t.queries, nth), entry(t.times, nth)
    local lse = t.LSE[at.b][query][at.g][head] * log2e - log2(times)
    local delta = t.delta[at.b][query][at.g][head]
    local last = cast(query + min(count - 1 - nth, 0) * extent "q" - first, "fp32") -- behind the list none is seen
    local p = where(le(row(), last), exp2(s * (scale * log2e) - lse), 0)
    return dot(cast(p * (dp - delta), dtype(t.Q)), q, dk):as "dk", dot(cast(p, dtype(t.dO)), o, dv):as "dv"
  end)
  store(t.dK, places(t.dK, keys, dk * scale))
  store(t.dV, places(t.dV, keys, dv))
end

return {
  axes = "b h g q kv d c n u r p",
  grid = "b g c p",
  extents = "p",
  meaning = "kv h",
  tensors = {
    { "Q", axes = "b r d" },
    { "K", axes = "b kv g d" },
    { "V", axes = "b kv g d" },
    { "dO", axes = "b r d" },
    { "LSE", axes = "b q g h" },
    { "delta", axes = "b q g h" },
    { "places", axes = "b g c u", shared = true },
    { "queries", axes = "b g n", shared = true },
    { "times", axes = "b g n", shared = true },
    { "dK", axes = "b p kv g d", out = true },
    { "dV", axes = "b p kv g d", out = true },
  },
  scalars = { "scale" },
  program = program,
  sizes = function(arch, said, extent)
    local h, d = said.h or extent.h or 16, extent.d or 128
    local most = d <= 64 and 64 or 32
    return { h = h, q = math.max(most // h, 1), kv = 64, c = 1, why = "sums of dK and dV beside scores and gradients" }
  end,
}
