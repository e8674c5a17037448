-- Rows of a tile that stays in shared memory, from ones that data decide, as second operands of dots.
local B, T = dims "B T"

-- Attention of single queries, `heads` rows each, to blocks of keys that a list of their own names: K and V lie whole
-- in shared memory, each warp takes its own query's blocks.
local function listed(own)
  local d, heads, block, keys, slots = own.d or 64, own.heads or 16, own.block or 32, own.keys or 96, own.slots or 4
  local dtype, queries = own.dtype or "fp16", own.queries or 4
  return {
    Q = tensor { B, T, heads, d, dtype = dtype },
    K = tensor { B, keys, d, dtype = dtype },
    V = tensor { B, keys, d, dtype = dtype },
    blocks = tensor { B, T, slots, dtype = "int32", fill = function(b, q, s)
      return (b * 5 + q * 7 + s * 3 + q // 3) % ((keys + block - 1) // block + 2) - 1
    end },
    O = tensor { B, T, heads, d, dtype = dtype, out = true },
    axes = "b q h d kv", grid = { b = B, q = T },
    tile = { q = queries },
    pipeline = own.pipeline or { instruction = "mma.sync" },
    arch = { sm_90a = {}, sm_80 = {} },
    program = function(t, at, tile)
      local q = load(t.Q, at.b, span(at.q, tile.q), span(0, heads), all)
      local k = load(t.K, at.b, span(0, own.whole or keys, own.limited and at.q + 40 or nil), all)
      local v = load(t.V, at.b, span(0, own.whole or keys, own.limited and at.q + 40 or nil), all)
      local many = (own.whole or keys) // block
      local o, most, sum = loop("slots", range(0, slots), { zeros(), rows(-inf), rows(0) },
        function(slot, o, most, sum)
          local number = t.blocks[at.b][min(at.q + row() // heads, T - 1)][slot]
          local first = clamp(number, 0, many - 1) * block
          local s = dot(q, slice(k, first, block):t()):as "s" * 0.125
          local last = select(ge(number, 0) & lt(number, many), keys, -1)
          if own.limited then last = min(last, at.q + 40) end
          s = where(lt(first + column(), last), s, -inf)
          local m = max(most, row_max(s))
          local p, r = exp2_diff(s, m), exp2_diff(most, m)
          return dot(cast(p, dtype), slice(v, first, block), o * r):as "o", m, sum * r + row_sum(p)
        end)
      store(t.O, at.b, span(at.q, tile.q), span(0, heads), all, ratio(o, sum, 0))
    end,
    reference = function(t, n)
      local rows, many = own.whole or keys, (own.whole or keys) // block
      for b = 0, n.B - 1 do
        for q = 0, n.T - 1 do
          for h = 0, heads - 1 do
            local scores, most = {}, -math.huge
            for s = 0, slots - 1 do
              local number = t.blocks[b][q][s]
              local last = number >= 0 and number < many and keys or -1
              for k = math.max(number * block, 0), math.min(number * block + block, last) - 1 do
                if not own.limited or k < q // queries * queries + 40 then
                  local sum = 0
                  for i = 0, d - 1 do sum = sum + t.Q[b][q][h][i] * t.K[b][k][i] end
                  scores[#scores + 1] = { sum * 0.125, k }
                  most = math.max(most, sum * 0.125)
                end
              end
            end
            for i = 0, d - 1 do
              local o, sum = 0, 0
              for _, one in ipairs(scores) do
                local p = 2.0 ^ (one[1] - most)
                o, sum = o + p * t.V[b][one[2]][i], sum + p
              end
              t.O[b][q][h][i] = sum > 0 and o / sum or 0
            end
          end
        end
      end
    end,
    run = { { B = 2, T = 11 }, { B = 1, T = 4 } },
  }
end
kernel "slices" (listed {})
kernel "slices_limited" (listed { limited = true })
-- Two boxes side by side; two warps of 32 rows.
kernel "slices_wide" (listed {
  d = 128, heads = 32, block = 16, keys = 80, queries = 2, dtype = "bf16",
  pipeline = { instruction = "mma.sync", warps_m = 2 },
})
-- Rows of 64 bytes, and more of them than a box takes: threads copy them.
kernel "slices_copied" (listed { d = 32, block = 48, keys = 288, queries = 3, limited = true })

-- Of bytes, for each warp of two its own; blocks take several items, and the next one's tile comes over this one's.
local function bytes(name, fields)
  kernel(name) {
    a = tensor { B, fields.k, dtype = "int8" }, b = tensor { 48, fields.k, dtype = "int8" },
    first = tensor { 2, 4, dtype = "int32", fill = function(i, j) return (i * 7 + j * 5) % 6 - 1 end },
    c = tensor { B, 16, dtype = "int32", out = true },
    axes = "m n k", tile = { m = 32 }, grid = { m = B },
    pipeline = { instruction = "mma.sync" }, schedule = { persistent = true, blocks = 1 },
    arch = { sm_90a = {}, sm_80 = {} },
    program = function(t, at, tile)
      local last = fields.copied and at.m + 40 or nil
      local a, b = load(t.a, span(at.m, tile.m), all), load(t.b, span(0, 48, last), all)
      local sum = loop("j", range(0, 4), { zeros() }, function(j, sum)
        local first = clamp(t.first[min(row() // 16, 1)][j], 0, 4) * 8
        return dot(a, slice(b, first, 16):t(), sum)
      end)
      store(t.c, span(at.m, tile.m), span(0, 16), sum)
    end,
    reference = function(t, n)
      for i = 0, n.B - 1 do
        for j = 0, 15 do
          local sum = 0
          for turn = 0, 3 do
            local row = math.max(math.min(t.first[i % 32 // 16][turn], 4), 0) * 8 + j
            local seen = not fields.copied or row < i - i % 32 + 40
            for k = 0, seen and fields.k - 1 or -1 do sum = sum + t.a[i][k] * t.b[row][k] end
          end
          t.c[i][j] = sum
        end
      end
    end,
    run = { { B = 150 }, { B = 8 } },
  }
end
bytes("slices_bytes", { k = 64, copied = true }) -- by threads: of fewer rows from item to item
bytes("slices_lines", { k = 128 })

-- A run of rows for all warps, from the loop's variable on: sums of 16 columns of a product, four turns of them.
local M, D = dims "M D"
kernel "slices_turns" {
  a = tensor { M, D, dtype = "bf16" }, b = tensor { 64, D, dtype = "bf16" },
  c = tensor { M, 16, dtype = "fp32", out = true },
  axes = "m n k", tile = { m = 32, k = 64 }, grid = { m = M },
  pipeline = { instruction = "mma.sync" }, arch = { sm_90a = {}, sm_80 = {} },
  program = function(t, at, tile)
    local a, b = load(t.a, span(at.m, tile.m), span(0, tile.k)), load(t.b, span(0, 64), span(0, tile.k))
    local sum = loop("j", range(0, 64, 16), { zeros() }, function(j, sum)
      return dot(a, slice(b, clamp(j, 0, 48), 16):t(), sum)
    end)
    store(t.c, span(at.m, tile.m), span(0, 16), sum)
  end,
  reference = function(t, n)
    for i = 0, n.M - 1 do
      for j = 0, 15 do
        local sum = 0
        for k = 0, n.D - 1 do
          for r = j, j + 48, 16 do sum = sum + t.a[i][k] * t.b[r][k] end
        end
        t.c[i][j] = sum
      end
    end
  end,
  run = { { M = 70, D = 64 }, { M = 1, D = 40 } },
}
