-- Batches of complex Fourier transforms of fp16 numbers: the program of specs/lib/fft.lua.
local B = dims "B"

-- By hand: halves, even and odd, until one point is left.
local function halves(x, y, first, step, count)
  if count == 1 then return { [0] = x[first] }, { [0] = y[first] } end
  local half, re, im = count // 2, {}, {}
  local er, ei = halves(x, y, first, 2 * step, half)
  local pr, pi = halves(x, y, first + step, 2 * step, half)
  for f = 0, half - 1 do
    local c, s = math.cos(-2 * math.pi * f / count), math.sin(-2 * math.pi * f / count)
    local r, i = pr[f] * c - pi[f] * s, pr[f] * s + pi[f] * c
    re[f], im[f], re[f + half], im[f + half] = er[f] + r, ei[f] + i, er[f] - r, ei[f] - i
  end
  return re, im
end

local function by_hand(N1, N2)
  return function(t, n)
    for b = 0, n.B - 1 do
      local x, y = {}, {}
      for j = 0, N1 * N2 - 1 do x[j], y[j] = t.xr[b][j // N2][j % N2], t.xi[b][j // N2][j % N2] end
      local re, im = halves(x, y, 0, 1, N1 * N2)
      for f = 0, N1 * N2 - 1 do t.yr[b][f // N1][f % N1], t.yi[b][f // N1][f % N1] = re[f], im[f] end
    end
  end
end

for _, size in ipairs { { 64, 16 }, { 64, 32 } } do
  local N1, N2 = size[1], size[2]
  kernel("fft_" .. N1 * N2) {
    family = "fft",
    xr = tensor { B, N1, N2, dtype = "fp16" }, xi = tensor { B, N1, N2, dtype = "fp16" },
    ar = tensor { N1, N1, dtype = "fp16" }, ai = tensor { N1, N1, dtype = "fp16" },
    tr = tensor { N1, N2, dtype = "fp32" }, ti = tensor { N1, N2, dtype = "fp32" },
    br = tensor { N2, N2, dtype = "fp16" }, bi = tensor { N2, N2, dtype = "fp16" },
    yr = tensor { B, N2, N1, dtype = "fp16" }, yi = tensor { B, N2, N1, dtype = "fp16" },
    reference = by_hand(N1, N2),
    run = { { B = 9 }, { B = 1 } },
    bench = { { B = 65536 } },
  }
end
