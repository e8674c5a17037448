-- Lists of blocks for native sparse attention, for the `fill` of specs. Each function gives, of (b, q, g, s, block, T,
-- S), what slot s of S holds for query q of T, where a block has so many keys. Behind a list's end stands T: no block.
local lists = {}

local function hash(a, b, c, d)
  local x = a * 0x9E3779B97F4A7C15 + b * 0x2545F4914F6CDD1D + c * 0x5851F42D4C957F2D + d * 0x14057B7EF767814F
  x = (x ~ x >> 31) * 0x9E3779B97F4A7C15
  return (x ~ x >> 29) >> 20
end

-- One of the numbers from first to last - 1 that are the share i of n; nil: it has none.
local function one(first, last, i, n, by)
  local from, to = first + i * (last - first) // n, first + (i + 1) * (last - first) // n
  return from < to and from + by % (to - from) or nil
end

-- Sizes at which kernels are compared; at others lists hold what they may.
function lists.measured(T) return T % 128 == 0 end

-- What lists may hold: no block (-1), the query's own, the one behind it, a block twice, T. Some neighbours see none.
function lists.mixed(b, q, g, s, block, T)
  local own, pick = q // block, hash(b, q, g, s) % 7
  if pick == 0 or q // 4 % 6 == 2 then return -1 end
  if pick == 1 then return own + 1 end
  if pick == 2 then return T end
  if pick == 3 then return own end
  return hash(q, s, b, g) % (own + 1)
end

-- Blocks before the query's own, each at most once, equally often.
function lists.uniform(b, q, g, s, block, T, S)
  local many = math.max(q // block, 1)
  if many <= S then return s < many and s or T end
  return one(0, many, s, S, hash(b, q, g, s))
end

-- The first block, the query's own and the two before it, and such as 16 neighbours draw together: each query has one
-- in four of those for itself.
function lists.near(b, q, g, s, block, T, S)
  local own = q // block
  if s == 0 then return 0 end
  if s < 4 then return own - s + 1 > 0 and own - s + 1 or T end
  local alone = hash(q, s, g, b) % 4 == 0
  return own > 3 and one(1, own - 2, s - 4, S - 4, hash(b, alone and q + T or q // 16, g, s)) or T
end

-- How many slots count: none, some, all, more than there are.
function lists.count(b, q, g, n)
  if lists.measured(n.T) then return n.S end
  local pick = hash(b, g, q, 5) % 5
  return pick == 0 and 0 or pick == 1 and -3 or pick == 2 and n.S + 2 or hash(q, b, g, 9) % (n.S + 1)
end

-- What family nsa_union makes of the lists of so many neighbours, which entry(b, q, g, s, n) holds: functions of
-- (b, u, g, s, n) for blocks and times, of (b, u, g, n) for counts.
function lists.union(entry, neighbours, slots, block)
  local last, found = {}, {}
  local function look(b, u, g, n)
    if last.b == b and last.u == u and last.g == g and last.T == n.T then return found end
    last, found = { b = b, u = u, g = g, T = n.T }, {}
    local times = {}
    for i = 0, neighbours - 1 do
      local q = u * neighbours + i
      for s = 0, (q < n.T and slots or 0) - 1 do
        local x = entry(b, q, g, s, n)
        if x >= 0 and x <= q // block then
          if not times[x] then found[#found + 1] = x end
          times[x] = (times[x] or 0) + (1 << 7 * i)
        end
      end
    end
    table.sort(found)
    found.times = times
    return found
  end
  return {
    blocks = function(b, u, g, s, n) return look(b, u, g, n)[s + 1] or 0 end,
    times = function(b, u, g, s, n)
      local of = look(b, u, g, n)
      return of[s + 1] and of.times[of[s + 1]] or 0
    end,
    counts = function(b, u, g, n) return #look(b, u, g, n) end,
  }
end

-- Lists of many(n) slots, of which some count: functions for a kernel's fill, and entries(t, n, b, q, g) for
-- references, a list from 1 on.
function lists.counted(block, many)
  local of = {}
  function of.length(b, q, g, n)
    local S = many(n)
    return lists.measured(n.T) and S or lists.count(b, q, g, { T = n.T, S = S })
  end
  function of.named(b, q, g, s, n)
    return lists[lists.measured(n.T) and "uniform" or "mixed"](b, q, g, s, block, n.T, many(n))
  end
  function of.entry(b, q, g, s, n) return s < of.length(b, q, g, n) and of.named(b, q, g, s, n) or -1 end
  function of.entries(_, n, b, q, g)
    local list = {}
    for s = 0, many(n) - 1 do list[s + 1] = of.entry(b, q, g, s, n) end
    return list
  end
  return of
end

-- What families nsa_places and nsa_queries make of the lists, `chunk` queries a turn: functions of
-- (b, g, c, u, n) for places, of (b, g, i, n) for queries and times; what lies between the lists is nil.
function lists.turned(entry, slots, block, chunk)
  local found = {}
  local function look(b, g, n)
    if found.b == b and found.g == g and found.T == n.T then return found end
    found = { b = b, g = g, T = n.T, places = {}, listed = {} }
    local places, listed, at, last, below = found.places, found.listed, {}, {}, 0
    local function each(to)
      for q = 0, n.T - 1 do
        if q % chunk == 0 then to(nil, q // chunk) end
        for s = 0, slots - 1 do
          local x = entry(b, q, g, s, n)
          if x >= 0 and x <= q // block then to(x, q) end
        end
      end
    end
    for c = 0, (n.T + block - 1) // block - 1 do at[c], places[c] = 0, {} end
    each(function(x) if x then at[x] = at[x] + 1 end end) -- how many places each has
    for c = 0, #at do at[c], below = below, below + at[c] end
    for i = 1, below do listed[i] = 0 end -- times and the query behind them, 7 bits and the rest; 0: none
    local function turn(u)
      for c = 0, #at do places[c][u] = at[c] end
    end
    each(function(x, q)
      if not x then return turn(q) end
      if last[x] ~= q then at[x], last[x], listed[at[x] + 1] = at[x] + 1, q, q << 7 end
      listed[at[x]] = listed[at[x]] + 1
    end)
    turn((n.T + chunk - 1) // chunk)
    return found
  end
  return {
    places = function(b, g, c, u, n) return look(b, g, n).places[c][u] end,
    queries = function(b, g, i, n)
      local one = look(b, g, n).listed[i + 1] or 0
      return one > 0 and one >> 7 or nil
    end,
    times = function(b, g, i, n)
      local one = look(b, g, n).listed[i + 1] or 0
      return one > 0 and one & 127 or nil
    end,
  }
end

return lists
