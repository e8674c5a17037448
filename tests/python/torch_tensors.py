"""NAME_torch.cpp with PyTorch's own headers and tensors on a GPU: it compiles by the lines that it says, its views are
those of torch's exchange for tensors of all kinds, and calls end as they do without it.

usage: torch_tensors.py FOLDER [CALLS]       FOLDER: of gen --torch, where py_gemm is compiled
"""
import ctypes
import importlib.util
import os
import pathlib
import random
import shutil
import subprocess
import sys
import threading
import time

import torch

folder, calls = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3000
failed = 0


def check(truth, name, why=""):
    global failed
    failed += not truth
    print("ok" if truth else "not ok", name, "" if truth else "(%s)" % (why,), flush=True)


def load(path):
    spec = importlib.util.spec_from_file_location("py_gemm", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(file, pattern):
    """By the lines of the file's head; what was made."""
    lines = (line[7:] for line in (folder / file).read_text().split("*/")[0].splitlines() if line.startswith(" *     "))
    script = "\n".join(line for line in lines if not line.startswith(("from ", "import ")))
    config = pathlib.Path(sys.prefix, "bin", "python3-config")
    if subprocess.run("command -v python3-config", shell=True, stdout=subprocess.DEVNULL).returncode:
        import sysconfig  # an environment may have none: the same two answers
        config = folder / "python3-config"
        config.write_text("#!/bin/sh\ncase $1 in --includes) echo -I%s ;; *) echo %s ;; esac\n" % (
            sysconfig.get_path("include"), sysconfig.get_config_var("EXT_SUFFIX")))
        config.chmod(0o755)
    began = time.time()
    run = subprocess.run(["sh", "-e", "-c", script], cwd=folder, capture_output=True, text=True,
                         env=dict(os.environ, PATH="%s:%s" % (config.parent.resolve(), os.environ["PATH"])))
    found = sorted(folder.glob(pattern))
    check(run.returncode == 0 and found, "%s compiles by its own lines" % file, run.stderr[-2000:])
    print("# in %.0f s%s" % (time.time() - began, run.stderr and ": " + run.stderr.splitlines()[0]))
    return found[0]


plain = load(compiled("py_gemm_python.c", "py_gemm.abi3.so"))
path = compiled("py_gemm_torch.cpp", "py_gemm.c*.so")
ours = load(path)
check(ours.torch_in_place is True and plain.torch_in_place is False, "the modules say which they are")

other = folder / "other.so"
shutil.copy(path, other)
version, torch.__version__ = torch.__version__, "1" + torch.__version__
another = load(other)
torch.__version__ = version
check(another.torch_in_place is False, "for another torch its tensors are not read in place")
run = subprocess.run([sys.executable, "-c", "import py_gemm; print(py_gemm.torch_in_place)"], cwd=folder, text=True,
                     capture_output=True)
check(run.stdout == "True\n" or "ImportError: libtorch_python.so" in run.stderr, "before torch is imported",
      (run.returncode, run.stdout, run.stderr))

# ---- views ----


class Descriptor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("rank", ctypes.c_int32),
                ("type", ctypes.c_uint32), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("stride", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


View = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Descriptor))
pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
theirs = pointer(torch.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
library = ctypes.CDLL(str(path))
library.py_gemm_torch.restype, library.py_gemm_torch.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_void_p]
here = torch.__version__.encode()
for version in (b"", b"2", b"2.0.0", here.split(b"+")[0] + b"1", here.split(b"+")[0] + b"a0+git", b"9" + here):
    check(library.py_gemm_torch(version, theirs) is None, "no views for torch %s" % version.decode())
check(library.py_gemm_torch(here.split(b"+")[0], theirs) == library.py_gemm_torch(here, theirs) != theirs,
      "any build of the release is the same")
tables = [(ctypes.c_void_p * 7).from_address(table) for table in (theirs, library.py_gemm_torch(here, theirs))]
view_of = [View(table[5]) for table in tables]


def seen(view, tensor):
    out = Descriptor(type=77, rank=-9)
    try:
        status = view(tensor, out)
    except Exception as fault:
        return type(fault).__name__, str(fault).splitlines()[0]  # others are where PyTorch was
    if status:
        return "status", status
    return (out.data, tuple(out.device), out.type, tuple(out.shape[:out.rank]), tuple(out.stride[:out.rank]),
            out.rank and ctypes.addressof(out.shape.contents), out.offset)


class Sub(torch.Tensor):
    pass


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        raise RuntimeError("it dispatches")


def kinds():
    """Tensors of (64, 64) on the GPU or near it, by their names."""
    a = torch.randn(64, 64, device="cuda").bfloat16()
    yield "a dense one", a
    yield "a parameter", torch.nn.Parameter(a.clone())
    yield "one with a gradient", a.clone().requires_grad_()
    yield "one of a graph", a.clone().requires_grad_() * 2
    yield "one without", a.clone().requires_grad_().detach()
    yield "a subclass", a.clone().as_subclass(Sub)
    yield "a wrapper that dispatches", Wrapper(a)
    with torch.inference_mode():
        yield "one of inference", torch.randn(64, 64, device="cuda").bfloat16()
    yield "rows of another", torch.randn(200, 64, device="cuda").bfloat16()[7:71]
    yield "columns of another", torch.randn(64, 200, device="cuda").bfloat16()[:, 40:104]
    yield "every second row", torch.randn(128, 64, device="cuda").bfloat16()[::2]
    yield "transposed", a.T
    yield "expanded", torch.randn(64, device="cuda").bfloat16().expand(64, 64)
    yield "six dimensions", a.reshape(2, 4, 8, 4, 4, 4)
    yield "nine dimensions", a.reshape(1, 2, 4, 8, 4, 4, 4, 1, 1)
    yield "no dimension", a[0, 0]
    yield "empty", a[:0]
    yield "empty, with an offset", a[64:]
    yield "copied on a write", torch._lazy_clone(a)
    yield "negated", torch._neg_view(torch.randn(64, 64, device="cuda"))
    yield "complex", torch.randn(64, 64, device="cuda", dtype=torch.complex64)
    yield "conjugate", torch.randn(64, 64, device="cuda", dtype=torch.complex64).conj()
    yield "the imaginary part of a conjugate", torch.randn(64, 64, device="cuda", dtype=torch.complex64).conj().imag
    yield "sparse", a.float().to_sparse()
    yield "sparse by rows", a.float().to_sparse_csr()
    yield "on the CPU", a.cpu()
    yield "in pinned memory", a.cpu().pin_memory()
    yield "without memory", a.to("meta")
    yield "without storage", torch._efficientzerotensor((64, 64), device="cuda")
    yield "whose storage is freed", freed(a.clone())
    yield "quantized", torch.quantize_per_tensor(a.float().cpu(), 0.1, 0, torch.qint8)
    yield "nested", torch.nested.nested_tensor([a[:3], a[:5]])
    yield "a buffer", torch.nn.Buffer(a.clone())
    yield "of an array", torch.asarray(a)
    for name in sorted(n for n in dir(torch) if isinstance(getattr(torch, n), torch.dtype)):
        try:
            yield "of " + name, torch.empty(16, 16, dtype=getattr(torch, name), device="cuda")
        except Exception:
            pass  # no type that a GPU has


def freed(tensor):
    tensor.untyped_storage().resize_(0)
    return tensor


kept = []
for name, tensor in kinds():
    kept.append(tensor)
    one, other = (seen(view, tensor) for view in reversed(view_of))
    check(one == other, "the view of a tensor: " + name, (one, other))

Stream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
stream_of = [Stream(table[6]) for table in tables]


def said(stream, *device):
    out = ctypes.c_void_p(77)
    try:
        return stream(*device, out), out.value
    except Exception as fault:
        return type(fault).__name__, str(fault).splitlines()[0]


for name, current in (("the default one", torch.cuda.default_stream()), ("another", torch.cuda.Stream()),
                      ("an urgent one", torch.cuda.Stream(priority=-1)),
                      ("an external one", torch.cuda.ExternalStream(torch.cuda.Stream().cuda_stream))):
    with torch.cuda.stream(current):
        check(said(stream_of[1], 2, 0) == (0, current.cuda_stream or None), "the stream of a device: " + name)
        for device in ((2, -1), (2, 0), (2, 63), (2, 1000), (2, -2), (1, 0), (13, 0), (10, 0)):
            one, other = (said(stream, *device) for stream in stream_of)
            check(one == other, "%s is current: device %d, %d" % (name, *device), (one, other))

before = kept[0].clone()
clone = torch._lazy_clone(kept[0])
check(seen(view_of[1], clone)[0] != kept[0].data_ptr() and torch.equal(clone, before), "memory is copied for a write")

inside = []
torch.func.vmap(lambda t: (inside.append([seen(v, t) for v in view_of]), t)[1])(kept[0])
torch.func.grad(lambda t: (inside.append([seen(v, t) for v in view_of]), t.sum())[1])(kept[0].float())
torch.func.functionalize(lambda t: (inside.append([seen(v, t) for v in view_of]), t)[1])(kept[0])
check(len(inside) == 3 and all(a == b for a, b in inside), "tensors of transforms", inside)
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode() as mode:
    fake = mode.from_tensor(kept[0])
check(seen(view_of[0], fake) == seen(view_of[1], fake), "fake tensors", [seen(v, fake) for v in view_of])

pick = random.Random(5)
wrong, references = [], sys.getrefcount(kept[0])
for _ in range(calls):
    t = torch.empty(pick.choices((0, 1, 2, 3, 5), k=pick.randrange(8)), device="cuda",
                    dtype=pick.choice((torch.half, torch.bfloat16, torch.float, torch.int32, torch.uint8, torch.bool)))
    for _ in range(pick.randrange(4)):
        if t.dim() and pick.random() < 0.5:
            d = pick.randrange(t.dim())
            t = t.narrow(d, t.shape[d] // 2, t.shape[d] - t.shape[d] // 2)
        elif t.dim():
            t = t.permute(pick.sample(range(t.dim()), t.dim()))
    one, other = (seen(view, t) for view in view_of)
    if one != other:
        wrong.append((t.shape, one, other))
for _ in range(calls):
    seen(view_of[1], kept[0])
check(not wrong, "%d views" % calls, wrong[:3])
check(sys.getrefcount(kept[0]) == references, "which hold nothing")

# ---- calls ----


def ended(module, given):
    D = torch.full((64, 64), float("nan"), device="cuda")
    bias = torch.arange(64, device="cuda", dtype=torch.float)
    a, b, c, d = (x if y is None else y for x, y in zip((kept[0], kept[0], bias, D), given))
    try:
        out = module.py_gemm(a, b, c, d, alpha=0.5)
        torch.cuda.synchronize()
        return out.detach().clone(), out is d
    except Exception as fault:
        return type(fault).__name__, str(fault).splitlines()[0]


unlike, launched = [], 0
skipped = ("without storage", "whose storage is freed")  # a kernel would read what is not there
for name, tensor in kinds():
    for place in range(4):
        given = [None] * 4
        given[place] = tensor
        if name in skipped:
            continue
        one = ended(plain, given)
        launched += not isinstance(one[0], str)
        for other in ended(ours, given), ended(another, given):
            same = one == other if isinstance(one[0], str) or isinstance(other[0], str) else (
                one[1] == other[1] and torch.equal(one[0], other[0]))
            if not same:
                unlike.append((name, place, one, other))
check(not unlike and launched > 20, "calls end as they do without it, %d of them with a result" % launched, unlike[:3])
source = torch.zeros(64, 64, device="cuda")
lazy = torch._lazy_clone(source)
ours.py_gemm(kept[0], kept[0], torch.zeros(64, device="cuda"), lazy, alpha=1.0)
check(not source.any().item() and lazy.any().item(), "a result that is copied on a write leaves its source alone")

side = torch.cuda.Stream()
with torch.cuda.stream(side):
    torch.cuda._sleep(50_000_000)
    late = ours.py_gemm(kept[0], kept[0], torch.zeros(64, device="cuda"), alpha=1.0)
    check(not side.query(), "a call is on torch's current stream, and does not wait")
side.synchronize()
check(torch.equal(late, plain.py_gemm(kept[0], kept[0], torch.zeros(64, device="cuda"), alpha=1.0)), "with its result")

faults = []


def work():
    bias, result = torch.zeros(64, device="cuda"), torch.empty(64, 64, device="cuda")
    for turn in range(calls // 8):
        a = kept[0][turn % 8:]
        if ours.py_gemm(a, kept[0], bias, result[turn % 8:], alpha=1.0).shape != (64 - turn % 8, 64):
            faults.append(turn)


threads = [threading.Thread(target=work) for _ in range(8)]
for one in threads:
    one.start()
for one in threads:
    one.join()
torch.cuda.synchronize()
check(not faults, "eight threads")
sys.exit(1 if failed else 0)
