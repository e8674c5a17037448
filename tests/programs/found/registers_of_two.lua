-- Two consumers with as many registers as they can have: what 384 threads begin with is 168 each, and no more is there
-- to be shared out. A producer that takes items from a counter needs its part of it.
local M, H = dims "M H"

local p = kernel "registers_of_two" {
  axes = "m k h e", tile = { m = 256, h = 48 }, grid = { m = M }, arch = { sm_90a = {} },
  pipeline = { stages = 2, consumers = 2 },
  schedule = { dynamic = false, persistent = true },
  ahead = { x = { turns = 1, before = "o" } },
  via = { held = "resident" },
  X = tensor { M, 32, dtype = "fp16", axes = "m k" },
  W = tensor { H, 32, dtype = "fp16", axes = "h k" },
  U = tensor { H, 32, dtype = "fp16", axes = "h e" },
  Y = tensor { M, 32, dtype = "fp16", axes = "m e", out = true },
  T = tensor { 32, 32, dtype = "fp16" },
  G = tensor { M, 32, dtype = "fp16", axes = "m k" },
  Z = tensor { 32, 32, dtype = "fp16", axes = "e k" },
  program = function(t, at, tile)
    local here = span(at.m, tile.m)
    local held = load(t.X, here, all):as "held"
    local y = loop("h", range(0, H, tile.h), { zeros() }, function(h, y)
      local x = dot(held, load(t.W, span(h, tile.h), all):t()):as "x"
      local u = dot(cast(x, "fp16"), load(t.U, span(h, tile.h), all)):as "o" * 0.125
      return dot(cast(u, "fp16"), load(t.T, all, all), y)
    end)
    y = dot(load(t.G, here, all), load(t.Z, all, all):t(), y)
    store(t.Y, here, all, y)
  end,
  run = { { M = 505, H = 150 }, { M = 1280, H = 88 } },
}
kernel "registers_of_two_dynamic" { like = p, schedule = { dynamic = true, persistent = true } }
