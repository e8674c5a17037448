-- Discrete Fourier transforms as matrix products (Cooley and Tukey's two factors): N = N1 N2 complex numbers an item.
--
-- Element N2 n + m of the input stands at row n and column m of x; element N1 l + k of the result at row l and column k
-- of y. With A the transform of N1 along n, T the twiddle factors and B the transform of N2 along m:
--   y^T = (T * (A x)) B
-- Real and imaginary parts are tensors of their own: xr and xi, yr and yi. So are the tables: ar, ai (A), tr, ti (T),
-- br, bi (B), which `run` fills as below; with the sign of the angle changed they give the inverse transform, unscaled.

-- One part of exp(-2 pi i (a b) / N); the product of both indices is reduced first, so that the angle is exact.
local function unit(part, count)
  return function(a, b, n)
    local turn = a * b % count(n)
    return part(-2 * math.pi * turn / count(n))
  end
end

local function square(n) return n[1] end
local function all_points(n) return n[1] * n[2] end

local function program(t, at, tile)
  local xr, xi = load(t.xr, at.b, all, all), load(t.xi, at.b, all, all)
  local ar, ai = load(t.ar, all, all), load(t.ai, all, all)
  local re = dot(ar, xr) - dot(ai, xi)
  local im = dot(ar, xi) + dot(ai, xr)

  local tr, ti = load(t.tr, all, all), load(t.ti, all, all)
  local kept = dtype(t.br)
  local ur, ui = cast(re * tr - im * ti, kept), cast(re * ti + im * tr, kept)

  local br, bi = load(t.br, all, all), load(t.bi, all, all)
  store(t.yr, at.b, all, all, (dot(ur, br) - dot(ui, bi)):t())
  store(t.yi, at.b, all, all, (dot(ur, bi) + dot(ui, br)):t())
end

return {
  axes = "b n m k l",
  grid = "b",
  tensors = {
    { "xr", axes = "b n m" },
    { "xi", axes = "b n m" },
    { "ar", axes = "k n", fill = unit(math.cos, square) },
    { "ai", axes = "k n", fill = unit(math.sin, square) },
    { "tr", axes = "k m", fill = unit(math.cos, all_points) },
    { "ti", axes = "k m", fill = unit(math.sin, all_points) },
    { "br", axes = "m l", fill = unit(math.cos, square) },
    { "bi", axes = "m l", fill = unit(math.sin, square) },
    { "yr", axes = "b l k", out = true },
    { "yi", axes = "b l k", out = true },
  },
  program = program,
}
