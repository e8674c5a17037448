return {
  axes = "r c", grid = "r c", meaning = "c kv",
  tensors = { { "x", axes = "r c" }, { "y", axes = "r c", out = true } },
  program = function(t) return t end,
}
