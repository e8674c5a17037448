-- What arithmetic behind the product costs, beside the plain kernel: `tilewright bench tests/bench/gemm_epilogues.lua`.
local M, N, K = dims "M N K"
local plain = kernel "plain" {
  family   = "gemm",
  A        = tensor { M, K, dtype = "bf16" },
  B        = tensor { N, K, dtype = "bf16" },
  D        = tensor { M, N, dtype = "bf16" },
  tile     = { m = 128, n = 256, k = 64 },
  cluster  = { m = 2 },
  pipeline = { stages = 4, store = "chunks" },
  arch     = { sm_90a = {} },
  run      = { { M = 264, N = 512, K = 136 } },
  bench    = { { M = 4096, N = 4096, K = 4096 } },
}
local bias, R = tensor { N, axes = "n", dtype = "bf16" }, tensor { M, N, dtype = "bf16" }
local value = {
  bias             = function(acc, t) return acc + t.bias end,
  tanh             = function(acc) return gelu_tanh(acc) end,
  approx           = function(acc) return gelu_tanh_approx(acc) end,
  bias_tanh        = function(acc, t) return gelu_tanh(acc + t.bias) end,
  bias_approx      = function(acc, t) return gelu_tanh_approx(acc + t.bias) end,
  residual         = function(acc, t) return acc + t.R end,
  bias_tanh_R      = function(acc, t) return gelu_tanh(acc + t.bias) + t.R end,
  bias_approx_R    = function(acc, t) return gelu_tanh_approx(acc + t.bias) + t.R end,
}
for name, epilogue in pairs(value) do
  local fields = { like = plain, epilogue = epilogue }
  if name:sub(1, 4) == "bias" then fields.bias = bias end
  if name == "residual" or name:sub(-2) == "_R" then fields.R = R end
  kernel("with_" .. name) (fields)
end
kernel "late" { like = plain, pipeline = { store = "late" } }
kernel "plain_first" { like = plain, cache = { D = "evict_first" } }
kernel "late_first" { like = plain, pipeline = { store = "late" }, cache = { D = "evict_first" } }
kernel "late_bias_tanh" { like = plain, pipeline = { store = "late" }, bias = bias, epilogue = value.bias_tanh }
for name, cache in pairs { late_bias_approx = {}, late_bias_approx_first = { D = "evict_first" } } do
  kernel(name) { like = plain, pipeline = { store = "late" }, cache = cache, bias = bias, epilogue = value.bias_approx }
end
-- R by bulk copies into the buffers that D leaves by, all of an item's chunks: a stage less.
for _, name in ipairs { "residual", "bias_tanh_R", "bias_approx_R" } do
  local fields = { like = plain, pipeline = { stages = 3 }, R = R, via = { R = "bulk" }, epilogue = value[name] }
  if name ~= "residual" then fields.bias = bias end
  kernel("bulk_" .. name) (fields)
  fields.cache = { R = "evict_first", D = "evict_first" }
  kernel("bulk_" .. name .. "_first") (fields)
end
-- gemm_gated of specs/gemm_fused.lua, here to be timed beside plain: both products have as many columns as its D, so it
-- is twice the work.
kernel "gated" {
  axes = "m n k", grid = { m = M, n = N }, tile = { m = 128, n = 128, k = 64 }, arch = { sm_90a = {} },
  A = tensor { M, K, dtype = "bf16" }, G = tensor { N, K, dtype = "bf16" }, U = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16", out = true },
  run = { { M = 264, N = 264, K = 136 } }, bench = { { M = 4096, N = 4096, K = 4096 } },
  program = function(t, at, tile)
    local m, n = span(at.m, tile.m), span(at.n, tile.n)
    local gate, up = loop("k", range(0, K, tile.k), { zeros(), zeros() }, function(k, gate, up)
      local along = span(k, tile.k)
      local a = load(t.A, m, along)
      return dot(a, load(t.G, n, along):t(), gate), dot(a, load(t.U, n, along):t(), up)
    end)
    store(t.D, m, n, silu(gate) * up)
  end,
}
kernel "plain_whole" { like = plain, pipeline = { stages = 3, store = "whole" } }
