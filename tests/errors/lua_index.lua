local x = nil
x.y = 1
