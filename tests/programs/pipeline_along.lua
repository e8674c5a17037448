-- What a turn takes beside its dots comes in the stage of the tiles that they read: a number for each row, of any of
-- three types, and one for all rows; with one to three consumers, clusters, consumers in turns and items in turn,
-- groups of rows, choices, conversions. And what looks like it and is read by threads as ever.
local M, N, K, G = dims "M N K G"
local sizes = { { M = 264, N = 264, K = 336 }, { M = 200, N = 328, K = 72 }, { M = 72, N = 40, K = 0 } }
local function blocks() return (K + 63) // 64 end

-- part: what the turn adds to its sum; of(t, k, m): its tile, of a load of the rows' numbers.
local function along(name, fields)
  local own = {
    axes = "m n k", grid = { m = M, n = N }, tile = { m = 128, n = 64, k = 64 }, arch = { sm_90a = {} }, run = sizes,
    A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
    rows = tensor { blocks(), M, dtype = "fp32" },
    D = tensor { M, N, dtype = "bf16", out = true },
  }
  local part = fields.part or function(t, dot, row) return dot * row end
  fields.part = nil
  for key, value in pairs(own) do if fields[key] == nil then fields[key] = value end end
  fields.rows = fields.rows or nil
  fields.program = fields.program or function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local s, block = span(k, tile.k), k // 64
      local row = given "rows" and load(t.rows, block, m):t() or 1
      return sum + part(t, dot(load(t.A, m, s), load(t.B, n, s):t()), row, at, block)
    end)
    store(t.D, m, n, sum)
  end
  return kernel(name)(fields)
end

local one = tensor { (N + 63) // 64, blocks(), dtype = "fp32" }
local function both(t, dot, row, at, block) return dot * (row * t.one[at.n // 64][block]) end
along("along_plain", {})
along("along_both", { one = one, part = both, cluster = { m = 2 } })
along("along_bf16", { rows = tensor { blocks(), M, dtype = "bf16" }, part = both, one = one,
  cluster = { m = 1, n = 2 } })
along("along_fp16", { rows = tensor { blocks(), M, dtype = "fp16" }, cluster = { m = 2, n = 2 } })
along("along_element", { rows = false, one = one, cluster = { m = 2 },
  part = function(t, dot, _, at, block) return dot * t.one[at.n // 64][block] end })
along("along_one_consumer", { tile = { m = 64, n = 64, k = 64 }, one = one, part = both })
along("along_two_blocks", { tile = { m = 256, n = 64, k = 64 }, one = one, part = both })
along("along_three", { tile = { m = 192, n = 64, k = 64 }, one = one, part = both })
along("along_turns", { pipeline = { turns = true }, one = one, part = both })
along("along_items", { tile = { m = 64, n = 64, k = 64 }, pipeline = { mode = "items" }, cluster = { m = 1 }, one = one,
  part = both })
along("along_two_stages", { pipeline = { stages = 2 }, cluster = { m = 1 }, one = one, part = both })
along("along_sent", { pipeline = { stages = 2 }, cluster = { m = 2 }, one = one, part = both })
along("along_counter", { schedule = { dynamic = true }, cluster = { m = 1 }, one = one, part = both })
-- A choice that needs a row's number is made in its turn; one by what a launch says leaves nothing unread.
along("along_choice", { one = one, cluster = { m = 2 }, limit = scalar("fp32", 0.25), part = function(t, dot, row, at, block)
  return dot * where(gt(row, t.limit), row, t.one[at.n // 64][block])
end })
along("along_asked", { weight = scalar("fp32", 1), part = function(t, dot, row)
  return dot * where(ne(t.weight, 0), row, 1)
end })
-- A number of rows for both of two sums.
along("along_two_sums", {
  C = tensor { N, K, dtype = "bf16" }, E = tensor { M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local first, second = loop("k", range(0, K, tile.k), { zeros(), zeros() }, function(k, first, second)
      local s, row = span(k, tile.k), load(t.rows, k // 64, m):t()
      local a = load(t.A, m, s)
      return first + dot(a, load(t.B, n, s):t()) * row, second + dot(a, load(t.C, n, s):t()) * row
    end)
    store(t.D, m, n, first)
    store(t.E, m, n, second)
  end,
})
-- Two elements of a tensor; three are read by threads, as ever.
along("along_twice", { one = one, part = function(t, dot, row, at, block)
  return dot * (row * t.one[at.n // 64][block] + t.one[0][block])
end })
-- Numbers of one turn after the other lie apart.
along("along_across", { one = tensor { blocks(), (N + 63) // 64, dtype = "fp32" }, cluster = { m = 2 },
  part = function(t, dot, row, at, block) return dot * (row * t.one[block][at.n // 64]) end })
-- Memory says which numbers a turn takes.
local function which(fill) return tensor { blocks(), dtype = "int32", fill = fill } end
along("along_told", { one = one, cluster = { m = 2 }, up = which(function(i) return i end),
  even = which(function(i) return i % 2 end), part = function(t, dot, row, at, block)
  local last = blocks() - 1
  local up, even = max(min(t.up[block], last), 0), max(min(t.even[block], last), 0)
  return dot * (row * t.one[at.n // 64][up] + t.one[at.n // 64][even])
end })
-- Two tensors, one of which is called as a number of the other would be.
along("along_names", { one = one, one_element = one, cluster = { m = 2 }, part = function(t, dot, row, at, block)
  return dot * (row * t.one[at.n // 64][block] + t.one_element[at.n // 64][block])
end })
-- Keys behind the last make turns of their own, which take their numbers, too.
local H, R, S = dims "H R S"
local head = 64
kernel "along_split" {
  axes = "h q s d", grid = { h = H, q = R }, tile = { q = 128, s = 64 }, cluster = { q = 2 }, arch = { sm_90a = {} },
  run = { { H = 2, R = 300, S = 200 } },
  Q = tensor { H, R, head, dtype = "bf16", axes = "h q d" },
  O = tensor { H, R, head, dtype = "bf16", axes = "h q d", out = true },
  L = tensor { H, S, head, dtype = "bf16", axes = "h s d" }, V = tensor { H, S, head, dtype = "bf16", axes = "h s d" },
  one = tensor { H, (S + 63) // 64, dtype = "fp32" },
  program = function(t, at, tile)
    local q = load(t.Q, at.h, span(at.q, tile.q), all)
    local o, most, sum = loop("k", range(0, S, tile.s), { zeros(), rows(-inf), rows(0) }, function(k, o, most, sum)
      local keys = span(k, tile.s)
      local s = dot(q, load(t.L, at.h, keys, all):t()) * t.one[at.h][k // 64]
      local m = max(most, row_max(s))
      local p, r = exp2_diff(s, m), exp2_diff(most, m)
      return dot(cast(p, "bf16"), load(t.V, at.h, keys, all), o * r), m, sum * r + row_sum(p)
    end)
    store(t.O, at.h, span(at.q, tile.q), all, ratio(o, sum, 0))
  end,
}
along("along_not_thrice", { one = one, part = function(t, dot, row, at, block)
  return dot * (row * t.one[at.n // 64][block] + t.one[0][block] * t.one[at.n // 128][block])
end })
-- Registers do not hold the product of all of a consumer's rows beside its sum: block by block, of two and of three;
-- with one of two scales for each half of the columns; masks; two sums, and consumers in turns.
local tall = { m = 256, n = 128, k = 64 }
along("by_block", { tile = tall, one = one, part = both, cluster = { m = 2 } })
along("by_block_twice", {
  tile = { m = 256, n = 112, k = 64 }, one = one, cluster = { m = 2 }, part = function(t, dot, row, at, block)
  local other = t.one[min(at.n // 64 + 1, (N - 1) // 64)][block]
  return dot * (row * where(lt(column(), 64), t.one[at.n // 64][block], other))
end })
along("by_block_three", {
  tile = { m = 192, n = 96, k = 64 }, pipeline = { consumers = 1 }, cluster = { m = 1, n = 2 },
})
-- Both of a consumer's blocks go out whole, each from a buffer of its own; of columns all boxes at once.
along("by_block_whole", { tile = tall, one = one, part = both, pipeline = { store = "whole" } })
along("by_block_turns", { tile = tall, pipeline = { turns = true, stages = 2 } })
along("by_block_pair", { tile = { m = 128, n = 128, k = 64 }, pipeline = { consumers = 1 }, schedule = { blocks = 2 } })
along("by_block_masks", { tile = tall, part = function(_, dot, row) local i = index()
  return where(le(i.n, i.m), dot * row, 0)
end })
-- Of one block of rows registers do not hold the product of all columns beside its sum: half of them after half. Which
-- of two scales a half has is known where they meet in the middle, however it is asked; not in between.
local wide = { m = 128, n = 256, k = 64 }
local function halves(t, at, block, choose)
  return choose(t.one[at.n // 64][block], t.one[min(at.n // 64 + 2, (N - 1) // 64)][block])
end
local function chosen(choose)
  return function(t, dot, row, at, block) return dot * (row * halves(t, at, block, choose)) end
end
along("by_columns", { tile = wide, one = one, part = both, cluster = { m = 2 } })
along("by_columns_whole", { tile = wide, one = one, part = both, pipeline = { store = "whole" } })
along("by_columns_choice", { tile = wide, one = one, cluster = { m = 2 }, part = chosen(function(low, high)
  return where(lt(column(), 128), low, high)
end) })
along("by_columns_choices", { tile = wide, one = one, cluster = { m = 1, n = 2 }, part = chosen(function(low, high)
  return where(ge(column(), 128), high, low) + where(gt(column(), 127), low, high) * 0.5
    + where(le(column(), 127), low, -high) * 0.25 + where(gt(128, column()), high, -low) * 0.125
    + where(le(128, column()), low, 1)
end) })
along("by_columns_between", {
  tile = { m = 128, n = 224, k = 64 }, one = one, cluster = { m = 2 },
  part = chosen(function(low, high) return where(lt(column(), 64), low, high) end),
})
along("by_columns_turns", { tile = wide, pipeline = { turns = true, stages = 2 } })
along("by_columns_one", { tile = { m = 64, n = 256, k = 64 }, pipeline = { consumers = 1 }, cluster = { m = 1 },
  schedule = { dynamic = true } })
along("by_columns_three", { tile = { m = 64, n = 128, k = 64 }, pipeline = { consumers = 1 }, schedule = { blocks = 3 } })
along("by_columns_items", { tile = { m = 64, n = 256, k = 64 }, pipeline = { mode = "items" } })
along("by_columns_masks", { tile = wide, part = function(_, dot, row) local i = index()
  return where(le(i.n, i.m), dot * row, 0)
end })
-- Operands of two spans along k; B with columns innermost; fp8.
along("by_columns_deep", { tile = { m = 128, n = 256, k = 128 }, cluster = { m = 2 } })
along("by_columns_lying", {
  tile = wide, B = tensor { K, N, dtype = "bf16" }, cluster = { m = 2 },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local s = span(k, tile.k)
      return sum + dot(load(t.A, m, s), load(t.B, s, n)) * load(t.rows, k // 64, m):t()
    end)
    store(t.D, m, n, sum)
  end,
})
along("by_columns_fp8", {
  tile = { m = 128, n = 256, k = 128 }, A = tensor { M, K, dtype = "fp8_e4m3" }, B = tensor { N, K, dtype = "fp8_e5m2" },
  one = one, part = both, cluster = { m = 2 }, run = { { M = 264, N = 264, K = 912 }, { M = 72, N = 40, K = 0 } },
})
local function two_sums(m, n)
  return {
    tile = { m = m, n = n, k = 64 }, rows = false, C = tensor { N, K, dtype = "bf16" },
    E = tensor { M, N, dtype = "bf16", out = true },
    program = function(t, at, tile)
      local m, n = span(at.m, tile.m), span(at.n, tile.n)
      local first, second = loop("k", range(0, K, tile.k), { zeros(), zeros() }, function(k, first, second)
        local s = span(k, tile.k)
        local a = load(t.A, m, s)
        return first + dot(a, load(t.B, n, s):t()) * 0.5, second - dot(a, load(t.C, n, s):t())
      end)
      store(t.D, m, n, first)
      store(t.E, m, n, second)
    end,
  }
end
along("by_columns_two_sums", two_sums(128, 128))
-- A is read again in each turn, and the next item's comes meanwhile.
along("by_block_resident", {
  tile = { m = 256, n = 128 }, A = tensor { M, 64, dtype = "bf16" }, B = tensor { K, N, 64, dtype = "bf16" },
  rows = tensor { K, dtype = "fp32" }, run = { { M = 520, N = 264, K = 17 } },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local a = load(t.A, m, span(0, 64))
    store(t.D, m, n, loop("k", range(0, K, 1), { zeros() }, function(k, sum)
      return sum + dot(a, load(t.B, k, n, span(0, 64)):t()) * t.rows[k]
    end))
  end,
})
along("by_block_two_sums", two_sums(256, 64))
-- With columns, or of a tensor whose rows no second variant has: by threads, as ever.
along("along_not_columns", { rows = tensor { blocks(), N, dtype = "fp32" }, program = function(t, at, tile)
  local m, n = span(at.m, tile.m), span(at.n, tile.n)
  local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
    local s = span(k, tile.k)
    return sum + dot(load(t.A, m, s), load(t.B, n, s):t()) * load(t.rows, k // 64, n)
  end)
  store(t.D, m, n, sum)
end })
along("along_not_aligned", { D = tensor { M, 64, dtype = "bf16", out = true }, B = tensor { 64, K, dtype = "bf16" },
  grid = { m = M, n = 64 }, run = { { M = 264, K = 336 }, { M = 41, K = 72 } } })
-- Groups of rows, each with its own matrix and its own numbers.
along("along_groups", {
  axes = "g m n k", grid = { g = G, m = M, n = N }, cluster = { m = 2 },
  A = tensor { G, M, K, dtype = "bf16" }, B = tensor { G, N, K, dtype = "bf16" },
  rows = tensor { G, blocks(), M, dtype = "fp32" }, one = tensor { G, blocks(), dtype = "fp32" },
  D = tensor { G, M, N, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local s = span(k, tile.k)
      local part = dot(load(t.A, at.g, m, s), load(t.B, at.g, n, s):t())
      return sum + part * (load(t.rows, at.g, k // 64, m):t() * t.one[at.g][k // 64])
    end)
    store(t.D, at.g, m, n, sum)
  end,
  run = { { G = 3, M = 136, N = 72, K = 200 } },
})
-- Weights of 8 bits, converted in registers, with a number for each row and 64 of them.
along("along_weights", {
  A = tensor { M, K, dtype = "int8" },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local s = span(k, tile.k)
      local part = dot(cast(load(t.A, m, s), "bf16"), load(t.B, n, s):t())
      return sum + part * load(t.rows, k // 64, m):t()
    end)
    store(t.D, m, n, sum)
  end,
})
-- Few columns: the second operand takes the instruction's rows, whose numbers come along.
along("along_swapped", {
  tile = { m = 16, n = 128, k = 64 }, rows = tensor { blocks(), N, dtype = "fp32" },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
      local s = span(k, tile.k)
      return sum + dot(load(t.A, m, s), load(t.B, n, s):t()) * load(t.rows, k // 64, n)
    end)
    store(t.D, m, n, sum)
  end,
})
