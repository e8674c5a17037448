-- Native sparse attention, the lists: for each query the S blocks of largest score, from the largest on.
--
-- score[b][r][g][c] is that of block c, which begins at token c * tile.kv, for query r. Blocks that begin behind the
-- query are out of the question; the first block, the query's own and the one before it come first, in any case. Of
-- equal scores that of the lower number is taken. blocks[b][q][g][s] receives block s of the list; behind its end -1.

local function program(t, at, tile)
  local own = at.q // tile.kv
  local function part(c)
    local score, block = load(t.score, at.b, at.q, at.g, span(c, tile.c)), c + column()
    local forced = eq(block, 0) | ge(block, own - 1)
    return where(le(block, own), where(forced, inf, score), -inf), block
  end
  local none = 1 << 30
  local function largest(last, which)
    local most = loop("most", range(0, extent "c", tile.c), { rows(-inf) }, function(c, most)
      local score, block = part(c)
      local left = lt(score, last) | (eq(score, last) & gt(block, which))
      return max(most, row_max(where(left, score, -inf)))
    end)
    local first = loop("first", range(0, extent "c", tile.c), { rows(none) }, function(c, first)
      local score, block = part(c)
      local there = eq(score, most) & (lt(score, last) | gt(block, which))
      return min(first, row_min(where(there, block, none)))
    end)
    return most, first
  end
  loop("slots", range(0, extent "s", 1), { rows(inf), rows(-1) }, function(slot, last, which)
    local most, first = largest(last, which)
    store(t.blocks, at.b, at.q, at.g, span(slot, 1), where(gt(most, -inf), first, -1))
    return most, where(gt(most, -inf), first, none)
  end)
end

return {
  axes = "b q g c s kv r",
  grid = "b g q",
  meaning = "kv",
  tensors = {
    { "score", axes = "b r g c" },
    { "blocks", axes = "b q g s", out = true },
  },
  program = program,
  sizes = function(arch, said, extent)
    return { q = 1, c = 1024, s = 1, kv = 64, why = "rows of a thousand blocks stay in registers" }
  end,
}
