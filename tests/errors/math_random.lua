local tile = math.random(64, 256)
