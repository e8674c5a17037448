local R = dims "R"
-- A family's choice is a value that the field takes.
kernel "copy" { family = "mischosen", x = tensor { R, 64, dtype = "fp32" }, y = tensor { R, 64, dtype = "fp32" } }
