local R, C = dims "R C"
local x, y = tensor { R, C, dtype = "bf16" }, tensor { R, C, dtype = "bf16" }
local function add(v, _, i) return v + i.r end

kernel "number" { family = "indices", x = x, y = y, number = scalar "fp32", epilogue = add }
kernel "stranger" { family = "indices", x = x, y = y, stranger = scalar "fp32", epilogue = add }
kernel "real" { family = "indices", x = x, y = y, real = scalar "fp32", epilogue = add }
