"""Tensor maps of any framework's tensors, encoded here, without a driver: TensorMap.

It is a type in C, _maps.abi3.so (python/maps.c), where that was built, and else by_ctypes.TensorMap, which says the same
and takes twenty times as long or more; but what has DLPack's C exchange alone is a tensor to the first only, which holds
the tensor, not its storage, where the exchange lends views. Packages have the first always: they are built where
Python's headers are, and one file serves every Python from 3.10 on but the free-threaded ones. `slow` says why it is
the second; None: it is not.
"""
import importlib.machinery
import importlib.util
import os
import sys
import sysconfig

from . import by_ctypes


def _file():
    """Its name: a free-threaded Python has one of its own, and crashes with the other."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "_maps.%d.%dt.so" % sys.version_info[:2]
    return "_maps.abi3.so"


def _load(places):
    """The type, or None; and a sentence that says why."""
    if sys.implementation.name != "cpython" or sys.version_info < (3, 10):
        return None, "tensor maps go through ctypes: this is not CPython of 3.10 or newer"
    for path in (os.path.join(place, _file()) for place in places if place):
        if not os.path.exists(path):
            continue
        name = __package__ + "._maps"
        try:
            loader = importlib.machinery.ExtensionFileLoader(name, path)
            module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, path, loader=loader))
            loader.exec_module(module)
            return module.TensorMap, None
        except ImportError as error:
            return None, "tensor maps go through ctypes: %s" % error
    return None, ("tensor maps go through ctypes: there is no %s; where Python.h is (python3-dev), ./configure and "
                  "ninja build/python-module make it" % _file())


_here = os.path.dirname(os.path.abspath(__file__))
TensorMap, slow = _load((os.path.dirname(os.environ.get("TILEWRIGHT_LIBRARY", "")), _here,
                         os.path.join(_here, "..", "..", "build")))
TensorMap = TensorMap or by_ctypes.TensorMap
