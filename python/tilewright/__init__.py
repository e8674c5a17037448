"""Tilewright from Python: kernels of a spec as functions on tensors, compiled when they are first called.

    import tilewright
    gemm = tilewright.load("specs/gemm.lua").gemm_fp16
    d = gemm(a, b)                      # tensors of torch, CuPy, ... on a GPU

Without a GPU the emulator runs the same kernels on tensors of its own:

    kernels = tilewright.load("layer.lua", device="emu")
    a = tilewright.array(values, "bf16")    # of NumPy, or a list of numbers
    print(kernels.layer(a, b, bias).tolist())

It needs the program `tilewright`, whose path $TILEWRIGHT gives ($PATH else, else where pip put it), a C compiler ($CC, else cc) and this
Python's headers. NAME_python.c says what a function takes and raises; here what cannot be built is a BuildError.
"""
import hashlib
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading

from .emulator import Tensor, array, capsule, empty
from .maps import TensorMap

__all__ = ["BuildError", "Tensor", "TensorMap", "array", "empty", "explain", "load"]


class BuildError(Exception):
    """A spec that is wrong, with what `tilewright` says of it; or what is missing to build it."""


def _program():
    """$TILEWRIGHT's, else that of $PATH, else where pip puts it: among the environment's programs, or in bin beside the
    module, as --target does."""
    path = os.environ.get("TILEWRIGHT") or shutil.which("tilewright")
    beside = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin")
    path = path or shutil.which("tilewright", path=os.pathsep.join((sysconfig.get_path("scripts"), beside)))
    if not path:
        raise BuildError("there is no program tilewright: set TILEWRIGHT to its path")
    return path


def _run(*words, status=(0,), **more):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if done.returncode not in status:
        raise BuildError((done.stderr or done.stdout or "%s: status %d" % (words[0], done.returncode)).strip())
    return done.stdout


def explain(text):
    """What is wrong with a call of cuTensorMapEncodeTiled or its kin, and which call near it works: words
    ("dtype=bf16 dim=100,64 stride=200 box=64,64"), or the log that tells of it."""
    words = text.split()
    if not all("=" in word for word in words):
        words = []
    return _run(_program(), "tensormap", "explain", *words, input="" if words else text, status=(0, 1))


def _folder():
    """Where modules are kept; None: nowhere."""
    root = os.environ.get("TILEWRIGHT_CACHE")
    if root:
        return os.path.join(root, "python") if root != "off" else None
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(root, "tilewright", "python")


def _compiled(folder, name):
    """The module of the emitted files of a folder, by their content: a path, whole or not there."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    include = sysconfig.get_path("include")
    command = os.environ.get("CC", "cc").split() + ["-O2", "-w", "-fPIC", "-shared", "-I" + include, "-I" + folder]
    sources = [os.path.join(folder, name + end) for end in ("_python.c", ".c")]
    key = hashlib.sha256(repr((command[:-1], suffix, sys.version)).encode())
    for path in sources + [os.path.join(folder, name + ".h")]:
        with open(path, "rb") as file:
            key.update(file.read())
    place = os.path.join(_folder() or folder, key.hexdigest()[:32])
    path = os.path.join(place, name + suffix)
    if os.path.exists(path):
        return path
    if not os.path.exists(os.path.join(include, "Python.h")):
        raise BuildError("there is no Python.h in %s: install python3-dev" % include)
    os.makedirs(place, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as work:
        made = os.path.join(work, name + suffix)
        _run(*command, *sources, "-o", made, "-ldl", "-lm")
        os.replace(made, path)
    return path


def _import(path, name):
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, path, loader=loader))
    loader.exec_module(module)
    return module


class Kernel:
    """A kernel of a spec: a function, made when it is first called."""

    def __init__(self, spec, name, work, driver):
        self.spec, self.name = spec, name
        self._work = work  # the emitted files, which go with the last of a spec's kernels
        self._driver, self._function, self._lock = driver, None, threading.Lock()

    def build(self):
        """Compiles it now; the function itself, which `help` describes and whose calls cost least."""
        with self._lock:
            if self._function is None:
                module = _import(_compiled(self._work.name, self.name), self.name)
                if self._driver is not None:
                    module.load(self._driver)
                self._function = getattr(module, self.name)
        return self._function

    def __call__(self, *tensors, **words):
        return (self._function or self.build())(*tensors, **words)

    def __repr__(self):
        return "<kernel %s of %s>" % (self.name, self.spec)


class Spec:
    """The kernels of a spec, as attributes and by name: kernels.gemm, kernels["gemm"]."""

    def __init__(self, path, kernels):
        self.path, self._kernels = path, kernels

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._kernels:
            raise AttributeError("%s has no kernel %r; it has %s" % (self.path, name, ", ".join(self)))
        return self._kernels[name]

    def __getitem__(self, name):
        return self._kernels[name]

    def __iter__(self):
        return iter(sorted(self._kernels))

    def __dir__(self):
        return [*super().__dir__(), *self._kernels]


def load(path, kernel=None, arch=None, device="cuda"):
    """The kernels of a spec. Faults of the spec are a BuildError now; what is sound is compiled when it is called.

    kernel: this one alone. arch: "sm_90a,sm_80"; all by default. device: "cuda", or "emu" for tensors of this module.
    """
    if device not in ("cuda", "emu"):
        raise ValueError("device %r: write 'cuda' or 'emu'" % (device,))
    driver = capsule(arch) if device == "emu" else None
    work = tempfile.TemporaryDirectory(prefix="tilewright_")
    words = [_program(), "gen", os.fspath(path), "--python", "-o", work.name]
    for option, value in (("--kernel", kernel), ("--arch", arch)):
        if value:
            words += [option, value]
    _run(*words)
    names = sorted(file[:-len("_python.c")] for file in os.listdir(work.name) if file.endswith("_python.c"))
    return Spec(path, {name: Kernel(path, name, work, driver) for name in names})
