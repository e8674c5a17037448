-- The problem of a library beside a kernel: its name, its tensors, all of them.
local M, N, K = dims "M N K"
local function product(name, peer)
  kernel(name) {
    axes = "m n k", grid = { m = M, n = N }, tile = { m = 128, n = 128, k = 64 }, arch = { sm_90a = {} },
    A = tensor { M, K, dtype = "bf16" },
    B = tensor { N, K, dtype = "bf16" },
    D = tensor { M, N, dtype = "bf16", out = true },
    program = function(t, at, tile)
      local m, n = span(at.m, tile.m), span(at.n, tile.n)
      store(t.D, m, n, loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
        return dot(load(t.A, m, span(k, tile.k)), load(t.B, n, span(k, tile.k)):t(), sum)
      end))
    end,
    peer = peer,
  }
end
product("no_such_problem", { "gem", a = "A", b = "B", d = "D" })
product("no_problem", { a = "A", b = "B", d = "D" })
product("no_such_tensor", { "gemm", a = "A", b = "C", d = "D" })
product("no_name", { "gemm", a = "A", b = 3, d = "D" })
product("no_such_role", { "gemm", a = "A", b = "B", c = "D" })
product("no_role", { "gemm", "A", b = "B", d = "D" })
product("no_d", { "gemm", a = "A", b = "B" })
product("no_table", "gemm")
kernel "of_family" {
  family = "gemm",
  A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" },
  peer = { "gemm", a = "A", b = "B", d = "D" },
}
