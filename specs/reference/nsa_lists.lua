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
  if n.T >= 1024 then return n.S end
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

return lists
