load("kernel")()
