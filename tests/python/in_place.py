"""A module that is compiled with TILEWRIGHT_TORCH: whose exchange it takes, and when it keeps to torch's. The stand-in
for NAME_torch.cpp is tests/python/fake_torch.c, of torch in_place/torch.py.

usage: in_place.py PLAIN       PLAIN: the same module without it
"""
import ctypes
import importlib.util
import pathlib
import shutil
import sys
import tempfile
import types

import fake_gpu
import py_gemm as module
from lab import *

own = pathlib.Path(module.__file__)
folder = pathlib.Path(tempfile.mkdtemp())
copies = 0


def loaded(path, **torch):
    """The module once more, with a torch of these names, and its counters."""
    global copies
    copies += 1
    copy = folder / ("copy%d.so" % copies)
    shutil.copy(path, copy)
    fake = types.ModuleType("torch")
    fake.__dict__.update(torch)
    sys.modules["torch"] = fake if torch else None
    spec = importlib.util.spec_from_file_location("py_gemm", copy)
    one = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(one)
    one.load(fake_gpu.driver())
    return one, ctypes.CDLL(str(copy))


def count(library):
    return tuple(ctypes.c_int.in_dll(library, "py_gemm_" + what).value for what in ("views", "streams"))


def given(kind, **more):
    return [tensor(s, c, b, kind=kind, **more) for s, c, b in
            (((40, 64), 4, 16), ((48, 64), 4, 16), ((48,), 2, 32), ((40, 48), 2, 32))]


def viewed(kind):
    """What a call with such tensors asks of the exchange that is preferred."""
    before = count(library)
    done("tensors of %s" % kind.__name__, lambda: module.py_gemm(*given(kind), alpha=1))
    return tuple(now - then for now, then in zip(count(library), before))


module.load(fake_gpu.driver())
fake_gpu.make(Tensor)
library = ctypes.CDLL(str(own))
check(module.torch_in_place is True, "the torch that is here is that of the stand-in")
check(viewed(Tensor) == (4, 1), "torch's tensors, and its stream, by that exchange", count(library))
check(viewed(type("Parameter", (Tensor,), {})) == (4, 1), "and those of a subclass", count(library))
check(viewed(Later) == (4, 1), "and of a type whose exchange has torch's behind it", count(library))
for kind in (Owning, Plain, Old):
    check(viewed(kind) == (0, 0), "others have their own", (kind, count(library)))
before = count(library)
made = done("an output that is made", lambda: module.py_gemm(*given(Tensor)[:3], alpha=1))
check(type(made) is Tensor and count(library)[0] == before[0] + 4, "is one of torch's, and taken so")
done("two exchanges", lambda: module.py_gemm(*given(Tensor)[:2], *given(Later)[2:], alpha=1))
refused("a freed tensor", lambda: module.py_gemm(*given(Tensor, flags=16), alpha=1), ValueError,
        "argument 'A' (position 1): its tensor cannot be taken: the tensor was freed")

exchange = Tensor.__dlpack_c_exchange_api__
for what, torch in (("another torch", {"Tensor": Tensor, "__version__": "2.11.1"}),
                    ("a version that is no text", {"Tensor": Tensor, "__version__": 2}),
                    ("one of other letters", {"Tensor": Tensor, "__version__": "2.11.0\u00b2"}),
                    ("a torch without a version", {"Tensor": Tensor}),
                    ("a torch without tensors", {"__version__": "2.11.0+cu130"}),
                    ("tensors that are no type", {"Tensor": 1, "__version__": "2.11.0+cu130"}),
                    ("an older torch, without an exchange", {"Tensor": Plain, "__version__": "2.11.0+cu130"}),
                    ("no torch", {})):
    module, library = loaded(own, **torch)
    check(module.torch_in_place is False, what + ": its own exchange is taken")
    check(viewed(Tensor) == (0, 0), what + ": and works", count(library))
module, library = loaded(own, Tensor=Tensor, __version__="2.11.0+cu130")
check(module.torch_in_place is True and viewed(Tensor) == (4, 1), "a second copy, with the right one", count(library))
module, library = loaded(sys.argv[1], Tensor=Tensor, __version__="2.11.0+cu130")
check(module.torch_in_place is False, "compiled without it, it says so")
done("and works", lambda: module.py_gemm(*given(Tensor), alpha=1))
check(exchange is Tensor.__dlpack_c_exchange_api__ and fake_gpu.alive() == 0, "no managed tensor is left")
shutil.rmtree(folder)
end()
