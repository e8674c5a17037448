"""The package tilewright: a spec's kernels on the emulator, its tensors, tensor maps and what explains them."""
import gc
import os
import sys
import tempfile

import fake_gpu
import tilewright
from lab import *
from tilewright.library import library


def says(name, call, kind, *words):
    try:
        result = call()
        check(False, name, "it returned %r" % (result,))
    except kind as fault:
        check(all(word in str(fault) for word in words), name, fault)


# ---- maps and words ----

text = tilewright.explain("dtype=bf16 dim=100,64 stride=200 box=64,64 swizzle=128B")
check("TMA-STR16" in text and "stride=208" in text, "explain says what is wrong and what would do", text)
one = tensor((512, 512), FLOAT, 16, kind=Plain)
first = tilewright.TensorMap(one, (64, 64), swizzle="128B")
check(first.pointer % 64 == 0 and int.from_bytes(bytes(first)[:8], "little") == 0x7f0000000000, "a tiled map")
check(first.source[0] is one and first.device == 0, "it keeps its tensor, and knows its device")
same = tilewright.TensorMap(Interface(0x7f0000000000, (512, 512), "<f2"), (64, 64), swizzle="128B")
check(bytes(same) == bytes(first) and same.device is None, "the same by __cuda_array_interface__")
old = tilewright.TensorMap(tensor((512, 512), FLOAT, 16, kind=Old), (64, 64), swizzle="128B")
check(bytes(old) == bytes(first), "and by DLPack without versions")
two = tensor((512, 512), FLOAT, 16, data=0x7f0000400000, kind=Plain)
first.replace_address(two)
check(bytes(first) == bytes(tilewright.TensorMap(two, (64, 64), swizzle="128B")) and first.source[0] is two,
      "replace_address is another map of the other tensor")
says("replace_address of another shape", lambda: first.replace_address(tensor((512, 256), FLOAT, 16, kind=Plain)),
     ValueError, "another shape")
says("a rule is broken", lambda: tilewright.TensorMap(one, (64, 128), swizzle="128B"), ValueError,
     "TMA-SPAN", "write 64")
says("rows that are no multiple of 16 bytes", lambda: tilewright.TensorMap(
    tensor((512, 500), FLOAT, 16, kind=Plain), (64, 64)), ValueError, "TMA-STR16", "1008")
for name, more in (("box", {"box": (1, 64, 64)}), ("step", {"box": (64, 64), "step": (1, 1, 1)})):
    says("%s of another rank" % name, lambda: tilewright.TensorMap(one, **more), ValueError,
         "%s has 3 entries" % name, "2 dimensions")
says("corners of another rank", lambda: tilewright.TensorMap(
    tensor((2, 16, 64), FLOAT, 16, kind=Plain), lower=(0, 0), upper=(0,), channels=64, pixels=8), ValueError,
    "lower has 2 entries")
says("a mask", lambda: tilewright.TensorMap(Interface(0x7f0000000000, (512, 512), "<f2", mask=one), (64, 64)),
     ValueError, "mask")
says("a transposed tensor", lambda: tilewright.TensorMap(
    tensor((64, 64), FLOAT, 16, stride=(1, 64), kind=Plain), (8, 8)), ValueError)
says("a swizzle that is none", lambda: tilewright.TensorMap(one, (64, 64), swizzle="96B"), ValueError,
     "write one of none")
says("a tensor that is none", lambda: tilewright.TensorMap(3, (64, 64)), TypeError, "no tensor")
says("a tensor that is freed", lambda: tilewright.TensorMap(tensor((8, 8), kind=Plain, flags=16), (8, 8)), RuntimeError,
     "freed")
image = tensor((2, 16, 16, 64), FLOAT, 16, kind=Plain)
window = tilewright.TensorMap(image, lower=(-1, -1), upper=(-1, -1), channels=64, pixels=64, swizzle="128B")
check(bytes(window) != bytes(tilewright.TensorMap(image, (1, 1, 1, 64), swizzle="128B")), "a map for im2col")
says("im2col of a matrix", lambda: tilewright.TensorMap(one, lower=(0,), upper=(0,), channels=64, pixels=64),
     ValueError)
del one, two, old, same, first, window, image
gc.collect()
check(fake_gpu.alive() == 0, "no managed tensor is left", fake_gpu.alive())

# ---- tensors of the emulator ----

check(tilewright.array([[1, 2, 3], [4, 5, 6]], "int32").tolist() == [[1, 2, 3], [4, 5, 6]], "numbers there and back")
check(tilewright.array([1.0, 257.0, float("inf")], "bf16").tolist() == [1.0, 256.0, float("inf")],
      "bf16, rounded to even")
check(tilewright.array([], "fp32").tolist() == [] and tilewright.empty((0, 3)).tolist() == [], "nothing")
near = [0.0, -2.5, 1e39, -1e39, 3.3961775292304605e38, 3.39e38, 1 + 2.0 ** -8, 1 + 2.0 ** -8 + 2.0 ** -40,
        2.0 ** -133, 2.0 ** -134, 1.5 * 2.0 ** -134, 5e-324, 2.0 ** -126 - 2.0 ** -135]
inf = float("inf")
check(tilewright.array(near, "bf16").tolist() == [0.0, -2.5, inf, -inf, inf, 255 * 2.0 ** 120, 1.0,
                                                  1 + 2.0 ** -7, 2.0 ** -133, 0.0, 2.0 ** -133, 0.0, 2.0 ** -126], "bf16, rounded once")
check(tilewright.empty((2, 3, 0)).tolist() == [[[], [], []], [[], [], []]] and
      tilewright.empty((2, 0, 3)).tolist() == [[], []] and tilewright.array([[[1], [2]]]).tolist() == [[[1.0], [2.0]]],
      "lists as the shape says")
says("a dtype that is none", lambda: tilewright.empty((2,), "half"), ValueError, "write one of bf16")
says("rows of two lengths", lambda: tilewright.array([[1, 2], [3]]), ValueError, "rows of 2 and of 1")

# ---- a spec ----

says("a spec that is wrong", lambda: tilewright.load("tests/errors/arch_listed.lua"), tilewright.BuildError,
     "arch_listed.lua:", "error:")
says("a device that is none", lambda: tilewright.load("tests/python/kernels.lua", device="tpu"), ValueError, "'emu'")
kernels = tilewright.load("tests/python/kernels.lua", kernel="py_gemm", device="emu")
check(list(kernels) == ["py_gemm"] and "py_gemm" in dir(kernels), "its kernels by name")
says("a kernel that it has not", lambda: kernels.gemm, AttributeError, "no kernel 'gemm'; it has py_gemm")
if sys.argv[1] == "run":
    M, N, K = 5, 8, 16
    a = [[(7 * m + 3 * k) % 11 - 5 for k in range(K)] for m in range(M)]
    b = [[(5 * n + k) % 9 - 4 for k in range(K)] for n in range(N)]
    bias = [float(n) for n in range(N)]
    expected = [[2 * sum(a[m][k] * b[n][k] for k in range(K)) + bias[n] for n in range(N)] for m in range(M)]
    A, B, given = tilewright.array(a, "bf16"), tilewright.array(b, "bf16"), tilewright.array(bias)
    made = kernels.py_gemm(A, B, given, alpha=2)
    check(type(made) is tilewright.Tensor and made.dtype == "fp32", "an output is made by this module", made)
    check(made.tolist() == expected, "every element of the product")
    D = tilewright.empty((M, N))
    check(kernels["py_gemm"](A, B, given, D, alpha=2) is D and D.tolist() == expected, "and into one that is given")
    # A kernel that outlives its spec, without a cache.
    cache, home = os.environ["TILEWRIGHT_CACHE"], os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TILEWRIGHT_CACHE"], os.environ["XDG_CACHE_HOME"] = "off", folder
        alone = tilewright.load("tests/python/kernels.lua", device="emu").py_gemm
        gc.collect()
        check(alone(A, B, given, alpha=2).tolist() == expected, "a kernel whose spec is gone")
        check(not os.listdir(folder), "without a cache nothing is kept", os.listdir(folder))
    os.environ["TILEWRIGHT_CACHE"] = cache
    os.environ.pop("XDG_CACHE_HOME") if home is None else os.environ.update(XDG_CACHE_HOME=home)
    says("a wrong call", lambda: kernels.py_gemm(A, given, B, alpha=1), TypeError,
         "argument 'B' (position 2): dtype float32")
    try:
        import numpy
        check(tilewright.array(numpy.ones((2, 3)), "fp16").numpy().tolist() == [[1.0] * 3] * 2, "arrays of NumPy's")
    except ImportError:
        print("# there is no NumPy: its arrays are not tried")
end()
