-- Batches of complex Fourier transforms of fp16 numbers: the program of specs/lib/fft.lua.
local B = dims "B"

-- The definition, as sums over all points of the inputs.
local function by_hand(N1, N2)
  local N, cos, sin = N1 * N2, {}, {}
  for j = 0, N - 1 do cos[j], sin[j] = math.cos(2 * math.pi * j / N), math.sin(2 * math.pi * j / N) end
  return function(t, n)
    for b = 0, n.B - 1 do
      local x, y = {}, {}
      for j = 0, N - 1 do x[j], y[j] = t.xr[b][j // N2][j % N2], t.xi[b][j // N2][j % N2] end
      for f = 0, N - 1 do
        local re, im, turn = 0, 0, 0
        for j = 0, N - 1 do
          local c, s = cos[turn], sin[turn]
          re, im = re + x[j] * c + y[j] * s, im + y[j] * c - x[j] * s
          turn = (turn + f) % N
        end
        t.yr[b][f // N1][f % N1], t.yi[b][f // N1][f % N1] = re, im
      end
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
    run = { { B = 5 }, { B = 1 } },
    bench = { { B = 65536 } },
  }
end
