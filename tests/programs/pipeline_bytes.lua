-- A product in fp8 becomes the first operand of the next, on the way of which lanes exchange what they hold. The second
-- operand has another number in each row, so that none may stand in the place of another.
local M, N = dims "M N"
for _, type in ipairs { "fp8_e4m3", "fp8_e5m2" } do
  for _, depth in ipairs { 32, 96 } do
    kernel("bytes_" .. type .. "_" .. depth) {
      axes = "m n k", grid = { m = M }, tile = { m = 64 },
      arch = { sm_90a = {}, sm_89 = { pipeline = { warps_m = 4 } } },
      A = tensor { M, N, dtype = "fp8_e4m3", fill = function(i, k) return (i + k) % 3 - 1 end },
      B = tensor { depth, N, dtype = "fp8_e5m2", fill = function(i, k) return (i * 3 + k) % 13 < 3 and 1 or 0 end },
      C = tensor { 64, depth, dtype = type, fill = function(i, k) return (k * 5 + i) % 7 - 3 end },
      D = tensor { M, 64, dtype = "fp32", out = true },
      program = function(t, at, tile)
        local m = span(at.m, tile.m)
        local sum = loop("k", range(0, N, 32), { zeros() }, function(k, sum)
          return dot(load(t.A, m, span(k, 32)), load(t.B, all, span(k, 32)):t(), sum)
        end)
        store(t.D, m, all, dot(cast(sum, type), load(t.C, all, all):t()))
      end,
      reference = function(t, n)
        for i = 0, n.M - 1 do
          local sums = {}
          for k = 0, depth - 1 do
            sums[k] = 0
            for c = 0, n.N - 1 do sums[k] = sums[k] + t.A[i][c] * t.B[k][c] end
          end
          for j = 0, 63 do
            local d = 0
            for k = 0, depth - 1 do d = d + sums[k] * t.C[j][k] end
            t.D[i][j] = d
          end
        end
      end,
      run = { { M = 150, N = 48 }, { M = 1, N = 16 } },
    }
  end
end
