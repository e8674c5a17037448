-- Products whose second operand takes the rows of wgmma: however operands and results lie, with tiles of all widths that
-- differ in what stores them, with what is read beside the sum, two outputs, clusters along both axes.
local M, N, K = dims "M N K"
local base = kernel "s" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  tile = { m = 8, n = 64, k = 64 }, arch = { sm_90a = {} },
  run = { { M = 8, N = 72, K = 136 }, { M = 24, N = 264, K = 1032 }, { M = 16, N = 40, K = 0 } },
}
local a_columns = tensor { K, M, axes = "k m", dtype = "bf16" }
local b_columns = tensor { K, N, axes = "k n", dtype = "bf16" }
local d_columns = tensor { N, M, axes = "n m", dtype = "bf16" }

local function scaled(f)
  f.C = tensor { M, N, dtype = "bf16" }
  f.alpha, f.beta = scalar("fp32", 0.5), scalar("fp32", 2)
end
local function fused(f)
  f.bias = tensor { N, axes = "n", dtype = "bf16" }
  f.R = tensor { M, N, dtype = "bf16" }
  f.E = tensor { M, N, dtype = "fp32", out = true }
  f.epilogue = function(acc, t, i) return { D = gelu(acc + t.bias) + t.R + select(lt(i.m, 3), i.n, 0), E = acc * 2 } end
end

local function make(m, layout)
  local f = { like = base, tile = { m = m, n = m > 100 and 64 or 128 }, pipeline = { swap = true }, cluster = {} }
  if layout & 1 ~= 0 then f.A = a_columns end
  if layout & 2 ~= 0 then f.B = b_columns end
  if layout & 4 ~= 0 then f.D = d_columns end
  if layout == 2 then f.D = tensor { M, N, dtype = "fp32" } end
  if layout % 3 == 1 then scaled(f) end
  if layout % 3 == 2 then fused(f) end
  f.cluster.n = m % 16 == 0 and layout % 3 == 0 and 2 or 1 -- blocks share A's tile in slices of 8 rows
  f.cluster.m = layout == 6 and 2 or 1
  kernel("s_" .. m .. "_" .. layout) (f)
end
for layout = 0, 7 do
  make(8, layout)
  make(({ 16, 24, 40, 56, 64, 72, 200, 256 })[layout + 1], layout)
end

-- One number a column, which is one of each of the instruction's rows; what a turn computes of a product; integers.
kernel "s_column_sum" {
  axes = "m n k", grid = { m = M, n = N }, tile = { m = 24, n = 64, k = 64 }, arch = { sm_90a = {} },
  pipeline = { swap = true },
  A = tensor { M, K, dtype = "fp16" }, B = tensor { N, K, dtype = "fp16" },
  D = tensor { M, N, dtype = "fp16", out = true },
  S = tensor { M, N, dtype = "fp32", out = true },
  L = tensor { N, dtype = "fp32", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      return sum * 0.5 + dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t())
    end)
    store(t.D, m, n, sum)
    store(t.S, m, n, sum - column_max(sum))
    store_add(t.L, n, column_sum(sum * sum))
  end,
  run = { { M = 24, N = 72, K = 136 }, { M = 17, N = 264, K = 1032 } },
}
kernel "s_int8" {
  like = base,
  A = tensor { M, K, dtype = "int8" }, B = tensor { N, K, dtype = "int8" }, D = tensor { M, N, dtype = "int32" },
  tile = { m = 24, n = 128, k = 128 },
  run = { { M = 24, N = 72, K = 144 }, { M = 17, N = 264, K = 2064 } },
}

-- Rows that are constants: the family chooses the tile, and what is swapped follows from that.
local rows = {}
for _, count in ipairs { 1, 7, 17, 50, 64 } do
  rows[count] = kernel("rows_" .. count) {
    family = "gemm",
    A = tensor { count, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { count, N, dtype = "bf16" },
    arch = { sm_90a = {} },
    run = { { N = 72, K = 136 }, { N = 264, K = 2056 } },
  }
end
kernel "rows_7_not" { like = rows[7], pipeline = { swap = false } }
