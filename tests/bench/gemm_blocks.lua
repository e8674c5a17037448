-- Candidates of products with block scales (specs/gemm_types.lua, gemm_fp8_blocks): `tilewright bench
-- tests/bench/gemm_blocks.lua` times them beside each other. `one_scale`: one a tensor, what the others are to come to
-- 0.90 of. `only_a`, `only_b`, `two_level` and `plain` leave parts out; `old_layout` has the rows' scales apart.
local M, N, K = dims "M N K"
local sizes = { { M = 4096, N = 4096, K = 4096 }, { M = 4096, N = 7168, K = 2048 }, { M = 4096, N = 24576, K = 1536 },
                { M = 4096, N = 2112, K = 7168 } }
local small = { { M = 200, N = 264, K = 400 } }

-- One scale of B for each 128 columns: a tile lies in one block of them, or, where it does not, in two, and so do as
-- many neighbouring columns as divide both.
local function of_columns(t, at, tile, block, row)
  if 128 % tile.n == 0 then return row * t.b_scale[at.n // 128][block] end
  local last, group = (at.n + tile.n - 1) // 128, 128
  while tile.n % group > 0 do group = group // 2 end
  local one, other = t.b_scale[at.n // 128][block], t.b_scale[min(last, (N - 1) // 128)][block]
  local first = lt(column() // group, (128 - at.n % 128) // group)
  if group == 128 then first = lt(column(), 128) end
  if tile.n < 192 then return row * where(first, one, other) end -- fewer registers
  return where(first, row * one, row * other)
end

-- how: what differs from both scales and two levels of sums. a, b: this scale; old: those of A lie with k innermost;
-- narrow: stores of 32 columns.
local function c(name, f, how)
  local a, b = how ~= "b" and how ~= "none" and how ~= "plain", how ~= "a" and how ~= "none" and how ~= "plain"
  local rows, plain = how ~= "old", how == "plain"
  f.axes, f.grid, f.arch = "m n k", { m = M, n = N }, { sm_90a = {} }
  f.tile = f.tile or { m = 128, n = 128, k = 128 }
  f.A, f.B = tensor { M, K, dtype = "fp8_e4m3" }, tensor { N, K, dtype = "fp8_e4m3" }
  local blocks = (K + 127) // 128
  if a then f.a_scale = rows and tensor { blocks, M, dtype = "fp32" } or tensor { M, blocks, dtype = "fp32" } end
  if b then f.b_scale = tensor { (N + 127) // 128, blocks, dtype = "fp32" } end
  f.D = tensor { M, N, dtype = "bf16", out = true, swizzle = how == "narrow" and "64B" or nil }
  f.program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local along, block = span(k, tile.k), k // 128
      local x, y = load(t.A, m, along), load(t.B, n, along):t()
      if plain then return dot(x, y, sum) end
      local part, row = dot(x, y), nil
      if a then row = rows and load(t.a_scale, block, m):t() or load(t.a_scale, m, block):t() end
      if a and b then return sum + part * of_columns(t, at, tile, block, row) end
      if a then return sum + part * row end
      if b then return sum + part * t.b_scale[at.n // 128][block] end
      return sum + part
    end)
    store(t.D, m, n, sum)
  end
  f.bench, f.run = sizes, small
  kernel(name) (f)
end
c("blocks", {})
c("blocks_n2", { cluster = { m = 1, n = 2 } })
c("blocks_alone", { cluster = { m = 1 } })
c("blocks_turns", { pipeline = { turns = true } })
c("blocks_stages4", { pipeline = { stages = 4 } })
c("blocks_late", { pipeline = { store = "late" } })
c("blocks_16", { schedule = { order = "grouped", group = 16 } })
c("blocks_hilbert", { schedule = { order = "hilbert" } })
c("blocks_column", { schedule = { order = "column" } })
-- Registers do not hold the products of 256 rows: the two blocks of a consumer are multiplied one after the other.
local function of(m, n)
  return function(more)
    local f = { tile = { m = m, n = n, k = 128 } }
    for name, value in pairs(more or {}) do f[name] = value end
    return f
  end
end
local tall, wide = of(256, 128), of(128, 256)
c("blocks_256", tall())
c("blocks_256_column", tall { schedule = { order = "column" } })
c("blocks_256_n2", tall { cluster = { m = 1, n = 2 } })
c("blocks_256_turns", tall { pipeline = { turns = true } })
c("blocks_256_whole", tall { pipeline = { store = "whole" } })
-- Less traffic of the L2: a pair of blocks shares the taller operand, which stays in it.
local columns, rows, stays = { order = "column" }, { order = "row" }, { A = "evict_last" }
local two = { m = 1, n = 2 }
c("blocks_256_n2_A", tall { pipeline = { store = "whole" }, cluster = two, schedule = columns, cache = stays })
c("blocks_192_n2_A", { tile = { m = 192, n = 128, k = 128 }, cluster = two, schedule = columns, cache = stays })
c("blocks_192_rows_B", { tile = { m = 192, n = 128, k = 128 }, schedule = rows, cache = { B = "evict_last" } })
c("blocks_256_narrow", tall(), "narrow") -- stores of 32 columns: a stage more, a buffer less
c("only_a_256", tall(), "a")
c("only_b_256", tall(), "b")
c("two_level_256", tall(), "none")
-- Two blocks a multiprocessor, each of one consumer: one's results go out while the other multiplies.
c("blocks_pair", { pipeline = { consumers = 1 }, schedule = { blocks = 2, order = "column" } }, "narrow")
c("blocks_192", { tile = { m = 192, n = 128, k = 128 } })
local three = { m = 192, n = 128, k = 128 }
c("blocks_192_n2", { tile = three, cluster = two })
c("blocks_192_whole", { tile = three, cluster = two, pipeline = { store = "whole" } })
c("blocks_n192", { tile = { m = 128, n = 192, k = 128 } })
c("blocks_n192_rows_B", { tile = { m = 128, n = 192, k = 128 }, schedule = rows, cache = { B = "evict_last" } })
c("blocks_136", { tile = { m = 256, n = 136, k = 128 } }) -- two waves of 2112 columns
c("blocks_64", { tile = { m = 128, n = 64, k = 128 } })
-- Nor do registers hold the products of 64 rows and 256 columns: one half of the columns after the other.
c("blocks_n256", wide())
c("blocks_n256_column", wide { schedule = { order = "column" } })
c("blocks_n256_16", wide { schedule = { order = "grouped", group = 16 } })
c("blocks_n256_n2", wide { cluster = { m = 1, n = 2 } })
c("blocks_n256_turns", wide { pipeline = { turns = true } })
c("blocks_n256_whole", wide { pipeline = { store = "whole" } })
c("blocks_n256_narrow", wide { schedule = { order = "column" } }, "narrow")
c("only_a", {}, "a")
c("only_b", {}, "b")
c("old_layout", {}, "old")
c("two_level", {}, "none")
c("two_level_turns", { pipeline = { turns = true } }, "none")
c("plain", {}, "plain")

kernel "one_scale" {
  family   = "gemm",
  A        = tensor { M, K, dtype = "fp8_e4m3" },
  B        = tensor { N, K, dtype = "fp8_e4m3" },
  D        = tensor { M, N, dtype = "bf16" },
  scale    = scalar "fp32",
  epilogue = function(acc, t) return acc * t.scale end,
  tile     = { m = 128, n = 256, k = 128 },
  cluster  = { m = 2 },
  arch     = { sm_90a = {} },
  run      = small,
  bench    = sizes,
}
