return {
  axes = "r c",
  grid = "r",
  tensors = { { "x", axes = "r c" }, { "y", axes = "r c", out = true } },
  peer = { "copy", from = "x", to = "z" },
  program = function(t, at, tile) end,
}
