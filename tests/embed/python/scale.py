"""y = factor x on the emulator: scale.lua's kernel, called from Python, without a GPU."""
import tilewright

kernels = tilewright.load("scale.lua", device="emu")
x = tilewright.array([[1000 * r + c for c in range(1000)] for r in range(5)], "fp32")
y = kernels.scale(x, factor=3)
assert y.tolist() == [[3 * value for value in row] for row in x.tolist()], y.tolist()
print("right on the emulator:", y.shape, y.dtype)
