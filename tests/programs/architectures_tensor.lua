-- Kernels for sm_100a, whose products are tcgen05's: each type, operands that lie either way, functions, sums of two
-- dots, operands that threads compute.
local M, N, K = dims "M N K"
local sizes = { { M = 72, N = 136, K = 272 }, { M = 41, N = 41, K = 144 }, { M = 8, N = 16, K = 0 } }
local arch = { sm_100a = {} }

local function gemm(name, a, b, d)
  local narrow = a:sub(1, 3) == "fp8" or a:sub(-4) == "int8"
  return kernel(name) {
    family = "gemm", A = tensor { M, K, dtype = a }, B = tensor { N, K, dtype = b }, D = tensor { M, N, dtype = d },
    tile = { m = 128, n = 128, k = narrow and 128 or a == "tf32" and 32 or 64 },
    pipeline = { stages = narrow and 2 or 3 }, arch = arch, run = sizes,
  }
end
local bf16 = gemm("tensor_bf16", "bf16", "bf16", "bf16")
gemm("tensor_fp16", "fp16", "fp16", "fp32")
gemm("tensor_tf32", "tf32", "tf32", "fp32")
gemm("tensor_fp8", "fp8_e5m2", "fp8_e4m3", "bf16")
gemm("tensor_int8", "int8", "int8", "int32")
gemm("tensor_uint8", "uint8", "uint8", "int32")
kernel "tensor_across" {
  like = bf16, A = tensor { K, M, dtype = "bf16", axes = "k m" }, B = tensor { K, N, dtype = "bf16", axes = "k n" },
}
kernel "tensor_gelu" {
  like = bf16, bias = tensor { N, axes = "n", dtype = "bf16" }, R = tensor { M, N, dtype = "bf16" },
  epilogue = function(acc, t) return gelu(acc + t.bias) + t.R end,
}
kernel "tensor_turns" { like = bf16, pipeline = { stages = 3, mode = "items" } } -- two blocks of 64 rows each

local function program_of(name, tensors, body)
  tensors.axes, tensors.grid, tensors.tile = "m n k", { m = M, n = N }, { m = 128, n = 128, k = 64 }
  tensors.pipeline = { stages = 2 }
  tensors.arch, tensors.run, tensors.D = arch, sizes, tensor { M, N, dtype = "fp32", out = true }
  tensors.program = body
  return kernel(name)(tensors)
end
local function operand(...) return tensor { ..., K, dtype = "bf16" } end

-- Two groups of products in a turn.
program_of("tensor_gated", { A = operand(M), G = operand(N), U = operand(N) }, function(t, at, tile)
  local m, n = span(at.m, tile.m), span(at.n, tile.n)
  local gate, up = loop("k", range(0, K, tile.k), { zeros(), zeros() }, function(k, gate, up)
    local a, along = load(t.A, m, span(k, tile.k)), span(k, tile.k)
    return dot(a, load(t.G, n, along):t(), gate), dot(a, load(t.U, n, along):t(), up)
  end)
  store(t.D, m, n, max(gate, 0) * up)
end)
-- Bytes that become bf16 in registers, and sums that threads go on with in each turn.
program_of("tensor_converted", { A = tensor { M, K, dtype = "int8" }, B = operand(N) }, function(t, at, tile)
  local m, n = span(at.m, tile.m), span(at.n, tile.n)
  local sum = loop("k", range(0, K, tile.k), { zeros() }, function(k, sum)
    local along = span(k, tile.k)
    return dot(cast(load(t.A, m, along), "bf16"), load(t.B, n, along):t(), sum * 0.5)
  end)
  store(t.D, m, n, sum)
end)
