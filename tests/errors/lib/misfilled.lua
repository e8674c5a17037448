return { axes = "r c", grid = "r", tensors = { { "x", axes = "r c", fill = "iota" } }, program = function() end }
