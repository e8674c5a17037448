"""On which stream a call is, and which workspace is whose."""
import sys
import types

import fake_gpu
import py_conv
import py_gemm
import py_split
from lab import *

for module in (py_gemm, py_split):
    module.load(fake_gpu.driver())
fake_gpu.make(Tensor)


def stream():
    return fake_gpu.counts()[4]


# ---- whose stream ----

now = {"torch": 0x55, "cupy": 0x66}
torch, cupy = types.ModuleType("torch.cuda"), types.ModuleType("cupy.cuda")
torch.current_stream = lambda device=None: types.SimpleNamespace(cuda_stream=now["torch"])
cupy.get_current_stream = lambda: types.SimpleNamespace(ptr=now["cupy"])
for name, module in (("torch", torch), ("cupy", cupy)):
    sys.modules[name], sys.modules[name + ".cuda"] = types.ModuleType(name), module
    setattr(sys.modules[name], "cuda", module)
Torch = type("Tensor", (Plain,), {"__module__": "torch"})  # of a version without the exchange
Cupy = type("ndarray", (Plain,), {"__module__": "cupy"})


def call(a=Tensor, b=Tensor, c=Tensor, d=Tensor, **more):
    """Each is a kind of tensor, or the stream of an interface."""
    def make(kind, shape, code, bits):
        if isinstance(kind, type):
            return tensor(shape, code, bits, kind=kind)
        return Interface(0x7f0000000000, shape, "<V2" if bits == 16 else "<f4", stream=kind)

    return py_gemm.py_gemm(make(a, (40, 64), BFLOAT, 16), make(b, (48, 64), BFLOAT, 16), make(c, (48,), FLOAT, 32),
                           make(d, (40, 48), FLOAT, 32), alpha=1, **more)


fake_gpu.set_stream(0x77)
done("a tensor without an exchange first", lambda: call(a=Plain))
check(stream() == 0x77, "the stream is that of those which say one", stream())
check(Plain.asked[0] == 0x77, "and __dlpack__ is told of it", Plain.asked)
done("an interface without a stream first", lambda: call(a=None))
check(stream() == 0x77, "it says none", stream())
done("torch's alone", lambda: call(Torch, Torch, Torch, Torch))
check(stream() == 0x55 and Torch.asked[0] == 0x55, "torch's current stream", stream())
done("Cupy's behind one that says none", lambda: call(Plain, Cupy, None, Plain))
check(stream() == 0x66 and Plain.asked[0] == 0x66, "CuPy's current stream", stream())
done("the same stream twice", lambda: call(b=0x77))
refused("an exchange and torch", lambda: call(b=Torch), ValueError, "'A' and 'B'", "0x77 and 0x55", "stream=")
refused("torch and an exchange", lambda: call(a=Torch), ValueError, "'B' and 'A'", "0x77 and 0x55")
refused("torch and CuPy", lambda: call(Torch, Plain, Cupy, Plain), ValueError, "'A' and 'bias'", "0x55 and 0x66")
refused("two interfaces", lambda: call(6, 7, 6, 6), ValueError, "'A' and 'B'", "0x6 and 0x7")
done("a stream that is given wins", lambda: call(Torch, Tensor, Cupy, 6, stream=9))
check(stream() == 9 and Torch.asked[0] == Cupy.asked[0] == 9, "for all of them", stream())
fake_gpu.set_stream(0)
done("1 is the default stream, as 0 is", lambda: call(b=1))
check(stream() == 0, "which is one", stream())
refused("a freed tensor of torch's", lambda: py_gemm.py_gemm(
    tensor((40, 64), kind=Torch, flags=16), tensor((48, 64)), f32((48,)), alpha=1, stream=1), ValueError, "'A'",
        "freed")
elsewhere = tensor((40, 64), kind=Torch)
elsewhere.place = CPU, 0
refused("torch's on the CPU", lambda: py_gemm.py_gemm(elsewhere, tensor((48, 64)), f32((48,)), alpha=1), ValueError,
        "'A'", "on the CPU")

# ---- what interfaces say ----

words = (f32((48,)), f32((40, 48)))
refused("complex numbers", lambda: py_gemm.py_gemm(Interface(0x7f0000000000, (40, 64), "<c8"), tensor((48, 64)), *words,
                                                   alpha=1), TypeError, "'A'", "dtype complex64, must be bfloat16")
refused("truth", lambda: py_gemm.py_gemm(Interface(0x7f0000000000, (40, 64), "|b1"), tensor((48, 64)), *words, alpha=1),
        TypeError, "'A'", "dtype bool, must be bfloat16")
refused("a mask", lambda: py_gemm.py_gemm(
    Interface(0x7f0000000000, (40, 64), "<V2", mask=Interface(1, (40, 64), "|b1")), tensor((48, 64)), *words, alpha=1), ValueError, "'A'", "mask")
done("a mask of None", lambda: py_gemm.py_gemm(Interface(0x7f0000000000, (40, 64), "<V2", mask=None), tensor((48, 64)),
                                               *words, alpha=1))

# ---- workspaces ----


def split(m, number, **more):
    return py_split.py_split(tensor((m, 64)), tensor((64, 64)), tensor((m, 64)), stream=number, **more)


def rooms():
    return fake_gpu.counts()[3]


before = rooms()
done("a workspace of a stream", lambda: split(64, 0x10))
at, size = fake_gpu.filled(False)
check(at == 0x10, "it is zeroed on that stream", at)
check(rooms() == before + 1 and size & (size - 1) == 0, "once, by a power of two", size)
done("the same stream again", lambda: split(64, 0x10))
check(rooms() == before + 1, "they share it")
done("another stream", lambda: split(64, 0x20))
check(rooms() == before + 2 and fake_gpu.filled(False)[0] == 0x20, "has its own")
before = rooms()
for m in range(64, 64 * 129, 64):
    split(m, 0x30)
check(0 < rooms() - before <= 9, "sizes that grow leave few behind", rooms() - before)
refused("the default stream of each thread", lambda: split(64, 2), ValueError, "argument 'workspace'", "each thread")
given = tensor((1 << 20,), UINT, 8)
done("it takes one that is given", lambda: split(64, 2, workspace=given))
refused("streams of a workspace", lambda: py_split.py_split(
    tensor((64, 64)), tensor((64, 64)), tensor((64, 64)), workspace=tensor((1 << 20,), UINT, 8, kind=Torch)), ValueError,
        "'A' and 'workspace'", "0x0 and 0x55")
done("a workspace that says none", lambda: py_split.py_split(
    tensor((64, 64)), tensor((64, 64)), tensor((64, 64)), workspace=tensor((1 << 20,), UINT, 8, kind=Plain)))
fake_gpu.filled(True)
before = rooms()
refused("a graph is being captured", lambda: split(64, 0x40), RuntimeError, "captured", "workspace=")
check(rooms() == before, "and no memory is left")
fake_gpu.filled(False)
done("afterwards", lambda: split(64, 0x40))

# ---- windows ----

made = done("a kernel of windows", lambda: py_conv.load(fake_gpu.driver()) or py_conv.py_conv(
    tensor((2, 8, 8, 64)), tensor((32, 3, 3, 64))))
check(made and fake_gpu.read(made)[1] == (128, 32), "its output", made and fake_gpu.read(made))
end()
