return { axis = "r c", tensors = { { "x", axes = "r c" } }, program = function() end }
