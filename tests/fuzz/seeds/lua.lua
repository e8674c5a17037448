local M, N, K = dims "M N K%8"
local s, list = 'a\z
  b', { 1, [2] = 3; x = 4, ["y"] = 5 }
goto over
::over:: local a <const>, b <close> = 1, nil
local function f(...) return select('#', ...) == 1 and (...) or ... end
for i = 1, #list, 2 do if not (i == 2) then list[i], list.x = list[i + 1], f(i) end end
for k, v in pairs(list) do repeat local z = k until z ~= nil or k end
while list[1] and list[2] ~= list[1] // 1 do break end
kernel "k" { family = "gemm", A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" }, lut = tensor { 256, dtype = "fp32" }, alpha = scalar("fp32", 2),
  epilogue = function(acc, t, i) if #list > 1 then acc = acc * t.alpha end
    return where(lt(i.n % 256, 3) & gt(acc, 0), acc + t.lut[i.n % 256], gelu(acc)) end,
  run = { { M = 257, N = 512, K = 192 } } }
kernel "p" { x = tensor { M, N, dtype = "bf16" }, y = tensor { M, N, dtype = "fp32", out = true }, axes = "r c",
  tile = { r = 64, c = 128 }, grid = { r = M, c = N }, program = function(t, at, tile)
    local r, c = span(at.r, tile.r), span(at.c, tile.c)
    local m, n = loop("k", range(0, N, 128), { zeros(), 0 }, function(k, s, n)
      return s + row_sum(load(t.x, r, span(k, 128))), n + 1 end)
    store(t.y, r, c, load(t.x, r, c) * m + n) end }
