-- Quotients of the row in the numbers of a gather: rows of what is gathered, which any thread copies, and not of a warp.
local M, N = dims "M N"
local function product(name, fields)
  kernel(name) {
    a = tensor { M, 64, dtype = "bf16" }, b = tensor { N, 64, dtype = "bf16" },
    of = tensor { 4, dtype = "int32", fill = function(i) return (i * 3 + 1) % 4 end },
    c = tensor { M, 64, dtype = "fp32", out = true },
    axes = "m n k", tile = { m = fields.m }, grid = { m = M },
    pipeline = { instruction = "mma.sync" }, arch = { sm_90a = {}, sm_80 = {} },
    program = function(t, at, tile)
      local row = rows(span(0, 64))
      local number = t.of[row // fields.by] * fields.by + row % fields.by
      local m, whole = span(at.m, tile.m), span(0, 64)
      local a = fields.of_a and gather(t.a, min(at.m + number, M - 1), whole) or load(t.a, m, whole)
      local b = fields.of_a and load(t.b, whole, whole) or gather(t.b, number, whole)
      store(t.c, m, whole, dot(a, b:t()))
    end,
    reference = function(t, n)
      local function of(row) return t.of[row // fields.by] * fields.by + row % fields.by end
      for i = 0, n.M - 1 do
        local from = fields.of_a and math.min(i - i % 64 + of(i % 64), n.M - 1) or i
        for j = 0, 63 do
          local sum, row = 0, fields.of_a and j or of(j)
          for k = 0, row < n.N and 63 or -1 do sum = sum + t.a[from][k] * t.b[row][k] end
          t.c[i][j] = sum
        end
      end
    end,
    run = { { M = 100, N = 64 }, { M = 40, N = 64 } },
  }
end
product("pages", { m = 16, by = 16 })
product("rows_of_a", { m = 64, by = 16, of_a = true })
