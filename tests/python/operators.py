"""NAME.pyi and NAME_torch.py say what NAME_python.c does. Where there is no PyTorch a stand-in has the few words that
the file takes of it: what it knows of shapes is tried, and not that PyTorch takes the file."""
import ast
import importlib
import inspect
import os
import sys
import types

import fake_gpu
from lab import *

try:
    import torch
except ImportError:
    torch = None
    print("# there is no PyTorch: NAME_torch.py is tried with a stand-in")


class Shape:
    """A tensor of the stand-in."""

    def __init__(self, *shape, dtype=None):
        self.shape, self.dtype = shape, dtype

    def new_empty(self, shape, dtype):
        return Shape(*shape, dtype=dtype)


def stand_in():
    fake = types.ModuleType("torch")
    fake.Tensor, fake.library = Shape, types.SimpleNamespace()
    fake.bfloat16, fake.float32 = "bfloat16", "float32"
    fake.operators = {}

    def custom_op(name, mutates_args):
        def wrap(function):
            function.mutates = tuple(mutates_args)
            function.register_fake = lambda fake_one: setattr(function, "fake", fake_one) or fake_one
            fake.operators[name] = function
            return function
        return wrap

    fake.library.custom_op = custom_op
    sys.modules["torch"] = fake
    return fake


def signature(folder, name):
    """Of the stub."""
    with open(os.path.join(folder, name + ".pyi")) as file:
        tree = ast.parse(file.read())
    function = next(one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == name)
    of = function.args
    return [a.arg for a in of.args], [a.arg for a in of.kwonlyargs], len(of.defaults)


folder = sys.argv[1]
for name, makes in (("py_gemm", True), ("py_rows", False)):
    with open(os.path.join(folder, name + "_torch.py")) as file:
        text = file.read()
    check((name + ".register_autograd" in text) == makes and "wrap %s_into" % name in text,
          "%s_torch.py says which operator may be given a gradient" % name)
sys.path.insert(0, folder)  # NAME_torch.py
for name in ("py_gemm", "py_split", "py_rows", "py_pair", "py_conv"):
    module = importlib.import_module(name)
    positional, words, defaults = signature(folder, name)
    said = inspect.signature(getattr(module, name)).parameters.values()
    check([p.name for p in said if p.kind == p.POSITIONAL_OR_KEYWORD] == positional and
          [p.name for p in said if p.kind == p.KEYWORD_ONLY] == words and
          sum(p.default is not p.empty for p in said if p.name in positional) == defaults,
          "%s.pyi has the parameters of the module" % name, (positional, words))
    module.load(fake_gpu.driver())

if torch:
    import py_gemm_torch
    import py_rows_torch
    made = torch.ops.tilewright.py_gemm(torch.empty(40, 64, dtype=torch.bfloat16, device="meta"),
                                        torch.empty(48, 64, dtype=torch.bfloat16, device="meta"),
                                        torch.empty(48, device="meta"), alpha=1.0)
    check(made.shape == (40, 48) and made.dtype == torch.float32, "PyTorch's operator knows its shape")

    @torch.compile(fullgraph=True, backend="eager")
    def layer(a, b, bias):
        return torch.ops.tilewright.py_gemm(a, b, bias, alpha=1.0) + 1

    made = layer(*(torch.empty(s, dtype=t, device="meta") for s, t in
                   (((40, 64), torch.bfloat16), ((48, 64), torch.bfloat16), ((48,), torch.float32))))
    check(made.shape == (40, 48), "torch.compile takes it whole")
else:
    fake = stand_in()
    import py_gemm_torch
    import py_rows_torch
    check(sorted(fake.operators) == ["tilewright::py_gemm", "tilewright::py_gemm_into", "tilewright::py_rows_into"],
          "operators: one that returns where outputs can be made, one that writes", sorted(fake.operators))
    made = py_gemm_torch.py_gemm.fake(Shape(40, 64), Shape(48, 64), Shape(48), alpha=1.0)
    check(made.shape == (40, 48) and made.dtype == "float32", "the fake implementation knows shape and type")
    check(py_gemm_torch.py_gemm_into.mutates == ("D",) and py_rows_torch.py_rows_into.mutates == ("total", "y"),
          "what an operator writes is said")
    import py_pair_torch
    first, other = py_pair_torch.py_pair.fake(Shape(40, 65, dtype="float32"))
    check(first.shape == other.shape == (40, 33), "and those of two outputs", first.shape)
    A, B, bias, D = tensor((40, 64)), tensor((48, 64)), f32((48,)), f32((40, 48))
    fake_gpu.make(Tensor)
    done("the operator launches", lambda: py_gemm_torch.py_gemm(A, B, bias, alpha=1.0))
    check(done("and so does that which writes", lambda: py_gemm_torch.py_gemm_into(D, A, B, bias, alpha=1.0)) is None,
          "it returns nothing")
end()
