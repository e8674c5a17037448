-- Several calls on one line, keys of odd names, tables on a line of their own: the caret stands at the one that is meant.
local M, N, K = dims "M N K"
local A, B, D = tensor { M, K, dtype = "bf16" }, tensor { N, K, dtype = "bf17" }, tensor { M, N, dtype = "bf16", foo = 1 }
kernel "a" { family = "gemm", A = A, B = B, D = D } kernel "b b" { family = "gemm", A = A, B = A }
kernel "c"
{
  family = "gemm", ["A"] = tensor { M, K, ["dtype"] = "bf17" }, B = tensor { N, K, dtype = "bf16", ["x.y"] = 1, ["."] = 2 }, D = A,
  ["tile"] = { ["m"] = 0, ["n.n"] = 3 }, [ [[tune]] ] = 3, ['run'] = { { ["M"] = -1, N = 1, K = 1, ["."] = 3 } },
  ["."] = scalar "fp32", ["]"] = 4, ["[1]"] = 5,
}
kernel "d" {
  A = tensor { M, K, dtype = "bf16" }, y = tensor { M, N, dtype = "fp32", out = true }, axes = "m n k", tile = { m = 64 }, grid = { m = M },
  program = function(t, at, tile)
    local a, b = load(t.A, span(at.m, tile.m), span(0, 64)), load(t.A, span(at.m, tile.m), span(0, 32))
    local c, d = dot(a, a:t()), dot(a:t(), dot(a, b))
    store(t.y, span(at.m, tile.m), span(0, 64), c)
  end,
}
kernel "e" {
  family = "gemm", A = A, B = A, D = tensor { M, K, dtype = "bf16" },
  epilogue = function(acc, t) return max(
    acc, 1
  )(3) end,
}
