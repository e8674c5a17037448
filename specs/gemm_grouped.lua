-- A product for each group of rows, D = A B[group]^T, in one launch: the rows that a router gave each expert. How many
-- rows a group has stands on the device and nowhere else, so that no host waits for it. Groups lie in three ways:
-- contiguous, padded to tiles; masked, each with room of its own; offset, one right behind the other.
--
-- Rows of which nothing is stored are those from a `limit` on that data decide. Items that have no others are not
-- taken: blocks walk along the groups as they look for their next item, and deal out what there is (`plan --why`:
-- grid.m). So room for 8,192 rows of which 1,024 are there costs what 1,024 do, and no block has more than its share.
--
-- The two blocks of a cluster load half of B's tile each and multicast it, and so are of one group: contiguous groups
-- are padded to the 256 rows that both have together, the others have items of their own. The main loop is that of
-- gemm_bf16 (specs/gemm.lua); what a group adds stands where the next item is found.
--
-- A group's number, count or offset out of range is the caller's affair: nothing looks at them. B's tile of a group
-- that there is not is zeros, rows behind A's last are none, and groups that overlap store rows twice.
local E, M, N, K = dims "E M N K"
local pair = 256 -- rows of a cluster

-- One item's product: rows of A, given by their coordinates, by rows n of B's group, over k.
local function product(t, a, group, n, step)
  local sum = loop("k", range(0, K, step), { zeros() }, function(k, sum)
    local along = span(k, step)
    a[#a] = along
    return dot(load(t.A, table.unpack(a)), load(t.B, group, n, along):t(), sum)
  end)
  return given "scale" and sum * t.scale or sum
end

-- References by hand: each, of one layout, is given what a row of D is computed by.
local function row(t, n, a, group, d, scale)
  for j = 0, n.N - 1 do
    local sum = 0
    for k = 0, n.K - 1 do sum = sum + a[k] * t.B[group][j][k] end
    d[j] = sum * (scale or 1)
  end
end
local function scaled_row(t, n, a, group, d) row(t, n, a, group, d, t.scale) end
local function contiguous_rows(row)
  return function(t, n)
    for i = 0, n.M - 1 do
      local group = t.group[i // pair]
      if group >= 0 then row(t, n, t.A[i], group, t.D[i]) end
    end
  end
end
local function masked_rows(row)
  return function(t, n)
    for e = 0, n.E - 1 do
      for i = 0, math.min(n.M, t.count[e]) - 1 do row(t, n, t.A[e][i], e, t.D[e][i]) end
    end
  end
end
local function offset_rows(row)
  return function(t, n)
    for e = 0, n.E - 1 do
      for i = t.first[e], t.first[e + 1] - 1 do row(t, n, t.A[i], e, t.D[i]) end
    end
  end
end

-- DeepGEMM's contiguous layout: the rows of all groups one behind the other, those of each padded to a multiple of 256,
-- so that a number for each 256 rows says whose they are. The padding is multiplied too, whatever it holds. -1: these
-- rows are nobody's; nothing is loaded or multiplied, and D is left as it was there.
local contiguous = kernel "gemm_grouped_contiguous" {
  axes = "m n k", grid = { m = M, n = N }, tile = { m = 128, n = 256, k = 64 }, cluster = { m = 2 },
  arch = { sm_90a = {}, sm_80 = { tile = { n = 128 }, cluster = { m = 1 }, pipeline = { stages = 3 } } },
  peer = { "gemm", a = "A", b = "B", d = "D" }, -- `bench`: one product of all groups' rows
  A = tensor { M, K, dtype = "bf16" },
  B = tensor { E, N, K, dtype = "bf16" },
  group = tensor {
    (M + pair - 1) // pair, dtype = "int32",
    fill = function(i, n) return n.M < 2048 and i % 3 == 1 and -1 or i * pair * n.E // (n.M + pair) end,
  },
  D = tensor { M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local group = t.group[at.m // pair]
    local m, n = span(at.m, tile.m, where(ge(group, 0), M, 0)), span(at.n, tile.n)
    store(t.D, m, n, product(t, { m, true }, max(group, 0), n, tile.k))
  end,
  reference = contiguous_rows(row),
  run = {
    { E = 3, M = 1316, N = 264, K = 136 }, { E = 2, M = 300, N = 41, K = 40 }, { E = 1, M = 41, N = 41, K = 328 },
    { E = 1, M = 64, N = 40, K = 0 },
  },
  bench = { { E = 4, M = 32768, N = 4096, K = 7168 }, { E = 4, M = 32768, N = 7168, K = 2048 } },
}

-- DeepGEMM's masked layout: room for M rows in each group, of which `count` are there. D's others are left as they
-- were.
local masked = kernel "gemm_grouped_masked" {
  like = contiguous, group = false,
  axes = "e m n k", grid = { e = E, m = M, n = N },
  A = tensor { E, M, K, dtype = "bf16" },
  count = tensor {
    E, dtype = "int32", -- small groups: none, one, all, more than there is room for
    fill = function(e, n) return n.M < 1024 and ({ 0, 1, n.M, n.M + 9, n.M // 2 })[e % 5 + 1] or 1024 end,
  },
  D = tensor { E, M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m, t.count[at.e]), span(at.n, tile.n)
    store(t.D, at.e, m, n, product(t, { at.e, m, true }, at.e, n, tile.k))
  end,
  reference = masked_rows(row),
  run = {
    { E = 5, M = 300, N = 264, K = 136 }, { E = 4, M = 100, N = 41, K = 40 }, { E = 4, M = 41, N = 41, K = 328 },
    { E = 3, M = 64, N = 40, K = 0 },
  },
  bench = {
    { E = 6, M = 1024, N = 4096, K = 7168 }, { E = 6, M = 1024, N = 7168, K = 2048 },
    { E = 6, M = 8192, N = 4096, K = 7168 }, { E = 6, M = 8192, N = 7168, K = 2048 },
  },
}

-- Groups that begin anywhere: rows `first[e]` to before `first[e + 1]` of A and D. Up to 255 rows of a group's last
-- item are multiplied for nothing; they are the next group's, and not stored.
kernel "gemm_grouped_offset" {
  like = contiguous, group = false,
  axes = "e m n k", grid = { e = E, m = M, n = N },
  first = tensor {
    E + 1, dtype = "int32",
    fill = function(e, n) return n.M < 2048 and ({ 0, 100, 100, 101 })[e + 1] or e * n.M // n.E end,
  },
  program = function(t, at, tile)
    local from = t.first[at.e]
    local m, n = span(from + at.m, tile.m, t.first[at.e + 1]), span(at.n, tile.n)
    store(t.D, m, n, product(t, { m, true }, at.e, n, tile.k))
  end,
  reference = offset_rows(row),
  run = {
    { E = 4, M = 540, N = 264, K = 136 }, { E = 3, M = 120, N = 41, K = 40 }, { E = 1, M = 104, N = 41, K = 328 },
    { E = 1, M = 100, N = 40, K = 0 },
  },
}

-- fp8 with one scale for A times B.
local function fp8(fields)
  fields.B = tensor { E, N, K, dtype = "fp8_e4m3" }
  fields.scale = scalar "fp32"
  fields.tile = { k = 128 }
  fields.arch = { sm_90a = {}, sm_80 = false }
  return fields
end
kernel "gemm_grouped_contiguous_fp8" (fp8 {
  like = contiguous, A = tensor { M, K, dtype = "fp8_e4m3" }, reference = contiguous_rows(scaled_row),
})
kernel "gemm_grouped_masked_fp8" (fp8 {
  like = masked, A = tensor { E, M, K, dtype = "fp8_e4m3" }, reference = masked_rows(scaled_row),
})
