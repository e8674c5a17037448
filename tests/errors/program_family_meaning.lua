-- A family says of an axis that it does not have that its tile has a meaning.
local R, C = dims "R C"

kernel "k" {
  family = "mismeant",
  x = tensor { R, C, dtype = "bf16" },
}
