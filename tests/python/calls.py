"""Calls, right ones and wrong ones: a wrong one says which argument is at fault, and launches nothing."""
import gc
import random
import struct
import sys

import fake_gpu
import py_gemm as module
from lab import *
from py_gemm import py_gemm

refused("no driver", lambda: py_gemm(tensor((40, 64)), tensor((48, 64)), f32((48,)), alpha=1), RuntimeError,
        "no CUDA driver")
refused("no driver that is none", lambda: module.load("driver"), ValueError)
module.load(fake_gpu.driver())
fake_gpu.make(Tensor)

A, B, bias, D = tensor((40, 64)), tensor((48, 64)), f32((48,)), f32((40, 48))


def call(a=A, b=B, c=bias, d=D, alpha=1.0, **more):
    return py_gemm(a, b, c, d, alpha=alpha, **more)


# ---- right ones ----

check(done("tensors by position", call) is D, "the output that is given is returned")
check(done("tensors by keyword", lambda: py_gemm(bias=bias, D=D, alpha=2, A=A, B=B)) is D, "and so by keyword")
made = done("an output that is made", lambda: py_gemm(A, B, bias, alpha=1))
check(type(made) is Tensor and fake_gpu.read(made)[1] == (40, 48), "it has the framework's type and the shape")
made = done("None is an output that is made", lambda: call(d=None))
check(type(made) is Tensor, "it is new")
for kind in (Owning, Later, Plain, Old):
    done("tensors of %s" % kind.__name__,
         lambda: call(*(tensor(s, c, b, kind=kind) for s, c, b in
                        (((40, 64), 4, 16), ((48, 64), 4, 16), ((48,), 2, 32), ((40, 48), 2, 32)))))
check(Plain.asked == (1, (1, 1)) and Old.asked == 1, "streams and versions as __dlpack__ has them", Plain.asked)
done("a subclass's", lambda: call(type("Parameter", (Tensor,), {})(0x7f0000000000, (40, 64), (64, 1))))
done("tensors of two frameworks", lambda: call(b=tensor((48, 64), kind=Plain)))
done("managed memory", lambda: call(tensor((40, 64), device_type=MANAGED)))
done("no strides are dense ones", lambda: call(Tensor(0x7f0000000000, (40, 64))))
done("an offset", lambda: call(tensor((40, 64), offset=4096)))
done("padded rows", lambda: call(tensor((40, 64), stride=(72, 1))))
done("strides of one row are nothing", lambda: call(tensor((1, 64), stride=(-5, 1)), d=f32((1, 48), stride=(0, 1))))
done("a stride of one column is nothing", lambda: call(tensor((40, 1), stride=(8, 7)), tensor((48, 1), stride=(8, 0))))
f = Interface(0x7f0000000000, (40, 48), "<f4")
done("by __cuda_array_interface__", lambda: py_gemm(Interface(0x7f0000000000, (40, 64), "<V2", (128, 2)),
                                                    Interface(0x7f0000000000, (48, 64), "|V2"),
                                                    Interface(0x7f0000000000, (48,), "<f4"), f, alpha=1))
done("with others", lambda: call(d=f))
for sizes in ((0, 48, 64), (40, 0, 64)):
    before = launches()
    m, n, k = sizes
    call(tensor((m, k), data=0), tensor((n, k), data=0), f32((n,), data=0), f32((m, n), data=0))
    check(launches() == before, "nothing to compute launches nothing: %s" % (sizes,))
done("a sum over nothing", lambda: call(tensor((40, 0), data=0), tensor((48, 0), data=0)))

# ---- streams and devices ----


class Stream:
    def __init__(self, **names):
        self.__dict__.update(names)


fake_gpu.set_stream(0x77)
call()
check(fake_gpu.counts()[4] == 0x77, "the framework's current stream")
for given, name in ((5, "a number"), (Stream(cuda_stream=5), "torch's"), (Stream(ptr=5), "CuPy's"),
                    (Stream(__cuda_stream__=lambda: (0, 5)), "cuda.core's")):
    call(stream=given)
    check(fake_gpu.counts()[4] == 5, "a stream that is given: " + name)
call(*(tensor(s, c, b, kind=Plain) for s, c, b in
       (((40, 64), 4, 16), ((48, 64), 4, 16), ((48,), 2, 32), ((40, 48), 2, 32))), stream=9)
check(Plain.asked[0] == 9 and fake_gpu.counts()[4] == 9, "which __dlpack__ is told of")
py_gemm(*(Interface(0x7f0000000000, s, t, stream=6) for s, t in
          (((40, 64), "<V2"), ((48, 64), "<V2"), ((48,), "<f4"), ((40, 48), "<f4"))), alpha=1)
check(fake_gpu.counts()[4] == 6, "the stream of an interface")
for current in (1, -1):
    fake_gpu.behave(current, 0)
    pushed = fake_gpu.counts()[1]
    done("another device is current: %d" % current, call)
    check(fake_gpu.counts()[1] == pushed + 1 == fake_gpu.counts()[2], "its context is entered and left")
fake_gpu.behave(0, 0)
done("on device 3", lambda: call(*(tensor(s, c, b, device=3) for s, c, b in
                                   (((40, 64), 4, 16), ((48, 64), 4, 16), ((48,), 2, 32), ((40, 48), 2, 32)))))
check([one["device"] for one in module.info()["loaded"]] == [0, 3], "info lists both devices")
fake_gpu.behave(0, 719)
try:
    call()
    check(False, "a launch that fails")
except RuntimeError as fault:
    check("CUresult 719" in str(fault), "a launch that fails is a RuntimeError", fault)
fake_gpu.behave(0, 0)

# ---- scalars ----

import py_rows as rows
rows.load(fake_gpu.driver())
fake_gpu.behave(0, -1)


def bits_of(a, b, n=0x12345678):
    """Of fp16 a and bf16 b, as the kernel gets them, which stand before n in its parameters."""
    rows.py_rows(f32((8, 4)), f32((4,)), R=3, f=1, a=a, b=b, n=n, u=0, big=0)
    data = fake_gpu.params()
    at = data.index(struct.pack("<i", n), 48)
    return struct.unpack("<HH", data[at - 4:at])


def fp16(x):
    try:
        return struct.unpack("<H", struct.pack("<e", x))[0]
    except OverflowError:
        return 0xfc00 if x < 0 else 0x7c00


def bf16(x):
    whole = struct.unpack("<I", struct.pack("<f", x))[0]
    return (whole + 0x7fff + (whole >> 16 & 1)) >> 16


generator = random.Random(1)
values = [0.0, -0.0, 1.0, -2.5, 65504.0, 65519.0, 65520.0, 2.0 ** -24, 2.0 ** -25, 3 * 2.0 ** -25, 2.0 ** -14, 1e300,
          -1e300, float("inf"), 2049.0, 2051.0, 1 - 2.0 ** -12]
values += [generator.uniform(-2, 2) * 2.0 ** generator.randint(-28, 17) for _ in range(300)]
wrong = [x for x in values if bits_of(x, 0)[0] != fp16(x)]
check(not wrong, "numbers become fp16", wrong[:4])
values = [struct.unpack("<f", struct.pack("<I", generator.getrandbits(32)))[0] for _ in range(300)]
values = [x for x in values if x == x] + [0.0, 257.0, 259.0, float("inf"), 2.0 ** -133, 3.4e38, 2.0 ** -149]
wrong = [x for x in values if bits_of(0, x)[1] != bf16(x)]
check(not wrong, "numbers become bf16", wrong[:4])
check(bits_of(1e300, float("nan")) == (0x7c00, 0x7fc0), "what is too large, and what is no number")
fake_gpu.behave(0, 0)

# ---- wrong tensors ----

here = "argument 'B' (position 2): "
for name, b, kind, words in (
        ("a number", 1, TypeError, (here, "int")),
        ("a text", "B", TypeError, (here, "str")),
        ("None", None, TypeError, ("lacks argument 'B' (position 2)",)),
        ("a type", Tensor, TypeError, (here,)),
        ("a list", [[1.0]], TypeError, (here, "list")),
        ("dtype", f32((48, 64)), TypeError, (here, "dtype float32, must be bfloat16")),
        ("dtype of the same size", tensor((48, 64), FLOAT, 16), TypeError, ("float16, must be bfloat16",)),
        ("dtype of vectors", tensor((48, 64), lanes=2), TypeError, ("bfloat16x2, must be bfloat16",)),
        ("dtype unknown", tensor((48, 64), 99, 16), TypeError, (here, "must be bfloat16")),
        ("dtype fp8", tensor((48, 64), 10, 8), TypeError, ("float8_e4m3fn, must be bfloat16",)),
        ("rank 1", tensor((48,)), ValueError, (here, "1 dimensions, must be 2, (N, K)")),
        ("rank 0", tensor(()), ValueError, (here, "0 dimensions, must be 2")),
        ("rank 12", tensor((1,) * 12), ValueError, (here, "12 dimensions, must be 2")),
        ("shape", tensor((48, 65)), ValueError, (here, "shape (48, 65), must be (48, 64), (N, K)", "K = 64 by 'A'")),
        ("zero columns", tensor((48, 0)), ValueError, (here, "must be (48, 64)")),
        ("a negative extent", tensor((48, -64), stride=(64, 1)), ValueError, (here, "dimension 1 has -64 elements")),
        ("an extent past counting", tensor((2 ** 62, 64), stride=(64, 1)), ValueError, (here, "64 bits")),
        ("an extent past the kernel's", tensor((2 ** 33, 64)), ValueError, ("N is 8589934592, past 2147482624",)),
        ("a negative stride", tensor((48, 64), stride=(-64, 1)), ValueError, (here, "dimension 0", "-64")),
        ("a stride of 0", tensor((48, 64), stride=(0, 1)), ValueError, (here, "dimension 0", "contiguous")),
        ("columns innermost", tensor((48, 64), stride=(1, 48)), ValueError, (here, "dimension 1", "48, must have 1")),
        ("rows reversed", tensor((48, 64), stride=(64, -1)), ValueError, (here, "dimension 1", "-1, must have 1")),
        ("the CPU", tensor((48, 64), device_type=CPU), ValueError, (here, "on the CPU", "CUDA device")),
        ("the CPU's __dlpack__", None, ValueError, (here, "on the CPU")),
        ("a device of another kind", tensor((48, 64), device_type=10), ValueError, (here, "another kind of device")),
        ("another device", tensor((48, 64), device=1), ValueError, (here, "on device 1, must be on device 0")),
        ("a freed tensor", tensor((48, 64), flags=16), ValueError, (here, "the tensor was freed")),
        ("a freed tensor's __dlpack__", tensor((48, 64), flags=16, kind=Plain), ValueError, (here, "was freed")),
        ("a freed tensor that is owned", tensor((48, 64), flags=16, kind=Owning), ValueError, (here, "was freed")),
        ("a storage that is gone", tensor((48, 64), data=0), ValueError, ("B is NULL",)),
        ("an address that is none", tensor((48, 64), data=2 ** 60), ValueError, ("B is 0x1000000000000000",)),
        ("an odd address", tensor((48, 64), data=0x7f0000000001), ValueError,
         ("B is 0x7f0000000001, no multiple of 16 bytes",)),
        ("no DLPack of this version", None, ValueError, (here, "DLPack 7.1")),
        ("a typestr of another order", Interface(0x7f0000000000, (48, 64), ">V2"), ValueError, (here, "typestr")),
        ("a typestr that is none", Interface(0x7f0000000000, (48, 64), "half"), ValueError, (here, "typestr")),
        ("a typestr of no text", Interface(0x7f0000000000, (48, 64), 7), ValueError, (here, "typestr")),
        ("strides that split elements", Interface(0x7f0000000000, (48, 64), "<V2", (127, 2)), ValueError,
         (here, "127")),
        ("too few strides", Interface(0x7f0000000000, (48, 64), "<V2", (2,)), ValueError, (here, "strides")),
        ("an interface of 20 dimensions", Interface(0x7f0000000000, (1,) * 20, "<V2"), ValueError, (here, "must be 2")),
        ("no address", Interface("here", (48, 64), "<V2"), ValueError, (here,)),
        ("no shape", Interface(0x7f0000000000, None, "<V2"), ValueError, (here,))):
    if name == "the CPU's __dlpack__":
        b = tensor((48, 64), kind=Plain)
        b.place = CPU, 0
    if name == "no DLPack of this version":
        b = tensor((48, 64), kind=Plain)
        b.kind = 7
    refused(name, lambda: call(b=b), kind, *words)
empty = Interface(0x7f0000000000, (48, 64), "<V2")
empty.__cuda_array_interface__ = {}
refused("an interface of nothing", lambda: call(b=empty), ValueError, here)
refused("a device that is not there", lambda: call(*(tensor(s, c, b, device=7) for s, c, b in (
    ((40, 64), 4, 16), ((48, 64), 4, 16), ((48,), 2, 32), ((40, 48), 2, 32)))), RuntimeError, "no context of device 7")
refused("a device past counting", lambda: call(*(tensor(s, c, b, device=2 ** 31 - 1) for s, c, b in (
    ((40, 64), 4, 16), ((48, 64), 4, 16), ((48,), 2, 32), ((40, 48), 2, 32)))), ValueError, "device 2147483647")
refused("a read-only output", lambda: call(d=f32((40, 48), kind=Plain, flags=1)), ValueError,
        "'D' (position 4): read only")
refused("a copy for an output", lambda: call(d=f32((40, 48), kind=Owning, flags=2)), ValueError, "'D'", "copy")
refused("a read-only interface", lambda: call(d=Interface(0x7f0000000000, (40, 48), "<f4", read_only=True)), ValueError,
        "'D'", "read only")
done("a read-only input", lambda: call(tensor((40, 64), kind=Plain, flags=1)))
refused("an output that overlaps itself", lambda: call(d=f32((40, 48), stride=(47, 1))), ValueError, "D_stride[0]")
refused("an output of another shape", lambda: call(d=f32((48, 40))), ValueError, "'D' (position 4): shape (48, 40)")
refused("memory that is not there", lambda: call(tensor((2 ** 30, 64)), tensor((2 ** 30, 64)), f32((2 ** 30,)), None),
        RuntimeError, "more than there is")
refused("nobody makes an output", lambda: py_gemm(*(tensor(s, c, b, kind=Plain) for s, c, b in (
    ((40, 64), 4, 16), ((48, 64), 4, 16), ((48,), 2, 32))), alpha=1), TypeError, "'D'", "must be given")

# ---- wrong calls ----

refused("no argument", lambda: py_gemm(), TypeError, "lacks argument 'A' (position 1)", "(A, B, bias, D=None")
refused("a scalar is missing", lambda: py_gemm(A, B, bias, D), TypeError, "lacks argument 'alpha'")
refused("too many", lambda: py_gemm(A, B, bias, D, D, alpha=1), TypeError, "at most 4", "5 are given")
refused("a keyword that is none", lambda: call(beta=1), TypeError, "takes no argument 'beta'")
refused("twice", lambda: py_gemm(A, B, bias, A=A, alpha=1), TypeError, "two values of argument 'A'")
refused("a scalar that is no number", lambda: call(alpha="1"), TypeError, "argument 'alpha': '1'")
refused("a stream that is none", lambda: call(stream="fast"), TypeError, "argument 'stream'")
refused("a negative stream", lambda: call(stream=-1), OverflowError)


class Wild:
    """Raises what it wants."""

    def __getattr__(self, name):
        raise KeyboardInterrupt(name)


try:
    call(b=Wild())
    check(False, "an interrupt")
except KeyboardInterrupt:
    check(True, "an interrupt stays one")

# ---- arrays of addresses ----

import py_pointers
py_pointers.load(fake_gpu.driver())
addresses = tensor((3,), INT, 64)


def pointers(a=addresses, b=addresses, d=addresses, **sizes):
    return py_pointers.py_pointers(a, b, d, **{"M": 20, "N": 24, "K": 72, **sizes})


check(done("three arrays of addresses", pointers) is addresses, "that of the results is returned")
done("of unsigned numbers", lambda: pointers(tensor((3,), UINT, 64)))
done("of results, read only", lambda: pointers(d=tensor((3,), INT, 64, flags=1)))
refused("a matrix in their place", lambda: pointers(tensor((3, 20, 72))), TypeError, "'A' (position 1)", "must be int64")
refused("of another length", lambda: pointers(b=tensor((2,), INT, 64)), ValueError, "'B' (position 2)", "(2,)", "(3,)")
refused("none", lambda: pointers(d=None), TypeError, "'D' (position 3)")
refused("at no multiple of 8", lambda: pointers(tensor((3,), INT, 64, data=0x7f0000000004)), ValueError,
        "no multiple of 8 bytes")
refused("a size that is not said", lambda: py_pointers.py_pointers(addresses, addresses, addresses, M=20, N=24),
        TypeError, "'K'")

# ---- references ----

gc.collect()
check(fake_gpu.alive() == 0, "no managed tensor is left", fake_gpu.alive())
counts = [sys.getrefcount(one) for one in (A, B, bias, D, Tensor, Plain)]
for _ in range(100):
    call()
    call(d=None)
    for wrong in (None, 1, f32((48, 64)), tensor((48, 65)), tensor((48, 64), flags=16, kind=Plain)):
        try:
            call(b=wrong)
        except (TypeError, ValueError):
            pass
del wrong
gc.collect()
after = [sys.getrefcount(one) for one in (A, B, bias, D, Tensor, Plain)]
check(after == counts, "no reference is lost or kept", (counts, after))
end()
