-- The caret is under the call that is at fault, where its word stands several times on a line.
local R, C = dims "R C"
kernel "p1" {
  axes = "r c", tile = { r = 8, c = 128 }, grid = { r = R },
  x = tensor { R, C, dtype = "bf16" }, y = tensor { R, C, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local a = load(t.x, span(at.r, tile.r), span("c", 128))
    store(t.y, span(at.r, tile.r), span(0, 128), a)
  end,
}
kernel "p2" {
  axes = "r c", tile = { r = 8, c = 128 }, grid = { r = R },
  x = tensor { R, C, dtype = "bf16" }, y = tensor { R, C, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local a = load(t.x, span(at.r, tile.r), span(0, 128))
    store(t.y, span(at.r, tile.r), span(0, 128), cast(cast(a, "fp32"), "bf17"))
  end,
}
kernel "p3" {
  axes = "r c", tile = { r = 8, c = 128 }, grid = { r = R },
  x = tensor { R, C, dtype = "bf16" }, y = tensor { R, C, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local a = load(t.x, span(at.r, tile.r), span(0, 128))
    store(t.y, span(at.r, tile.r), span(0, 128), exp(a) + exp(nil))
  end,
}
kernel "p4" {
  axes = "r c", tile = { r = 8, c = 128 }, grid = { r = R },
  x = tensor { R, C, dtype = "bf16" }, y = tensor { R, C, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local a, b = load(t.x, span(at.r, tile.r), span(0, 128)), load(t.z, span(at.r, tile.r), span(0, 128))
    store(t.y, span(at.r, tile.r), span(0, 128), max(a, 1) + max(a))
  end,
}
kernel "p5" {
  axes = "r c", tile = { r = 8, c = 128 }, grid = { r = R },
  x = tensor { R, C, dtype = "bf16" }, y = tensor { R, C, dtype = "bf16", out = true },
  program = function(t, at, tile)
    local a = load(t.x, span(at.r, tile.r), span(0, 128))
    store(t.y, span(at.r, tile.r), span(0, 128), max(a, 1) + max(a))
  end,
}
local M, N, K = dims "M N K"
local function g(n, e) kernel(n) { family = "gemm", A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" }, D = tensor { M, N, dtype = "bf16" }, bias = tensor { N, dtype = "bf16", axes = "n" }, epilogue = e } end
g("e1", function(acc, t, i) return cast(cast(acc, "bf16"), "int9") + t.bias end)
g("e2", function(acc, t, i) return gelu(acc) + gelu(nil) + t.bias end)
g("e3", function(acc, t, i) return gelu(acc) + gelu({}) + max(1, 2, acc) + max(acc, "x") + t.bias end)
g("e4", function(acc, t, i) return select(lt(acc, 0), acc, select(1, acc, acc)) + t.bias end)
g("e5", function(acc, t, i) return min(acc, 1) + acc:min(2, 3) + t.bias end)
