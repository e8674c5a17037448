local R, C = dims "R C"
local x, y = tensor { R, C, dtype = "bf16" }, tensor { R, C, dtype = "bf16" }

kernel "missing" { family = "scale", x = x }
kernel "own_axes" { family = "scale", x = x, y = y, axes = "r c", grid = { r = R } }
kernel "unknown_function" { family = "scale", x = x, y = y, prologue = function(v) return v end }
kernel "unread" { family = "scale", x = x, y = y, w = tensor { C, dtype = "bf16" } }
kernel "compares" {
  family = "scale", x = x, y = y,
  epilogue = function(v)
    if v > 0 then return v end
    return 0
  end,
}
kernel "returns_nothing" { family = "scale", x = x, y = y, epilogue = function(v) end }
kernel "returns_a_stranger" { family = "scale", x = x, y = y, epilogue = function(v) return { z = v } end }
kernel "two_programs" { family = "scale", x = x, y = y, program = function() end }
kernel "unknown" { family = "scales", x = x, y = y }
