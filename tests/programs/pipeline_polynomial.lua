-- Exponentials by a polynomial (pipeline.polynomial): row i sums 2^(s - r) over 16 columns, of which s is -inf in all but
-- one, which is by turns of one sort and the other. What 2^x is of goes from far below the least float to beyond the
-- largest, most of it near 0, where a bound is as small as the polynomial's own.
local M = dims "M"
local inf = math.huge
local special = { inf, -inf, inf - inf, 150, -150, 127.75, -126.25, -127.5, 0, 1, -1, 128 }

-- What column c of row i holds, of multiples of 1/8.
local function value(i, c)
  if c ~= (i * 7 + i // 16) % 16 then return -inf end
  if i < 96 then return special[i % #special + 1] end -- in even and in odd columns
  return i % 8 == 0 and (i * 37 % 2200 - 1100) / 8 or (i * 5 % 17 - 8) / 8
end
local function less(i) return i < 96 and 0 or (i * 13 % 127) / 4096 end

for _, every in ipairs { 2, 3, 4 } do
  kernel("polynomial_" .. every) {
    axes = "m n k", grid = { m = M }, tile = { m = 64 },
    pipeline = { polynomial = every },
    arch = { sm_90a = {}, sm_80 = { pipeline = { warps_m = 4 } } },
    A = tensor { M, 16, dtype = "fp16", fill = function(i, k) return k == (i * 7 + i // 16) % 16 and 1 or 0 end },
    B = tensor { 16, 16, dtype = "fp16", fill = function(i, k) return i == k and 1 or 0 end },
    S = tensor { M, 16, dtype = "fp32", fill = value },
    r = tensor { M, dtype = "fp32", fill = less },
    D = tensor { M, dtype = "fp32", out = true },
    program = function(t, at, tile)
      local m = span(at.m, tile.m)
      local sum = dot(load(t.A, m, all), load(t.B, all, all):t())
      store(t.D, m, row_sum(exp2_diff(where(eq(sum, 1), load(t.S, m, all), -inf), t.r[at.m + row()])))
    end,
    reference = function(t, n)
      for i = 0, n.M - 1 do
        local d = 0
        for c = 0, 15 do
          local product = 0
          for k = 0, 15 do product = product + t.A[i][k] * t.B[c][k] end
          if product == 1 then d = d + 2 ^ (t.S[i][c] - t.r[i]) end
        end
        t.D[i] = d
      end
    end,
    run = { { M = 2000 }, { M = 1 } },
  }
end
