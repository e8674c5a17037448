#!/usr/bin/env python3
"""What a tensor map from Python costs the host, without a GPU: by the extension (python/maps.c) and by ctypes, of
tensors that are but descriptions (tests/python/fake_gpu.c) and say that they lie on a GPU. In one process, batches of
all cases in turn, in a new order each round; a row is the median, the least and the most of the batches' means, in
nanoseconds a call, the call of an empty function among them.

    python3 tests/bench/map_call.py [--rounds 101]        rows on stdout, words on stderr

Cases: a tensor whose framework has the C exchange of DLPack, with views and without; __dlpack__; an array of NumPy's,
where NumPy is, by the words of its own interface; a tensor of torch's, where torch and a GPU are. It needs a C
compiler, Python's headers and ninja build/python-module build/libtilewright-emu.a. Beside cuda.core:
tests/bench/host_call.py.
"""
import argparse
import gc
import importlib.util
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time

BATCH, TOP = 500, pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "python"), str(TOP / "tests/python")]


def build(folder):
    """fake_gpu, where lab.py finds it."""
    archives = [TOP / "build/libtilewright-emu.a", TOP / "build/libtilewright.a"]
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared",
                    "-I" + sysconfig.get_path("include"), f"-I{TOP / 'runtime'}", f"-I{TOP / 'tests'}",
                    TOP / "tests/python/fake_gpu.c", TOP / "tests/embed/mock_driver.c", "-Wl,--exclude-libs,ALL",
                    *archives, "-l:libxxhash.a", "-lm", "-ldl", "-o", folder / "fake_gpu.abi3.so"], check=True)
    sys.path.insert(0, str(folder))


def tensors():
    """By the words of their rows."""
    from lab import FLOAT, Owning, Plain, tensor
    found = {"C exchange": tensor((512, 512), FLOAT, 16), "C exchange without views": tensor(
        (512, 512), FLOAT, 16, kind=Owning), "__dlpack__": tensor((512, 512), FLOAT, 16, kind=Plain)}
    if importlib.util.find_spec("numpy"):
        import numpy

        class Array:
            """An array whose memory is said to be a GPU's."""

            def __init__(self, array):
                self.array = array

            @property
            def __cuda_array_interface__(self):
                return self.array.__array_interface__

        found["array of NumPy's"] = Array(numpy.zeros((512, 512), "<f2"))
    if importlib.util.find_spec("torch"):
        import torch
        if torch.cuda.is_available():
            found["tensor of torch's"] = torch.zeros((512, 512), dtype=torch.half, device="cuda")
    return found


def timed(call, count):
    """A function of no arguments: nanoseconds of a batch of `count` calls."""
    def batch():
        clock = time.perf_counter_ns
        from_ = clock()
        for _ in range(count):
            call()
        return clock() - from_
    return batch


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=101)
    options = parser.parse_args()
    build(pathlib.Path(tempfile.mkdtemp()))
    from tilewright import by_ctypes, maps
    if maps.slow:
        sys.exit(f"map_call: {maps.slow}")
    words = {"swizzle": "128B", "l2": "128B"}
    cases = {"an empty function": lambda: None}
    for name, one in tensors().items():
        own = maps.TensorMap(one, (64, 64), **words)
        cases[f"{name}: extension"] = lambda one=one: maps.TensorMap(one, (64, 64), swizzle="128B", l2="128B")
        cases[f"{name}: replace_address"] = lambda one=one, own=own: own.replace_address(one)
        if "exchange" not in name:  # which ctypes does not know
            if bytes(by_ctypes.TensorMap(one, (64, 64), **words)) != bytes(own):
                sys.exit(f"map_call: {name}: another map by ctypes")
            cases[f"{name}: ctypes"] = lambda one=one: by_ctypes.TensorMap(one, (64, 64), swizzle="128B", l2="128B")
    batches = {name: timed(call, BATCH) for name, call in cases.items()}
    times = {name: [] for name in cases}
    gc.disable()
    for _ in range(options.rounds):
        order = list(cases)
        random.shuffle(order)
        for name in order:
            times[name].append(batches[name]() / BATCH)
    rows = [{"group": "one tensor map from Python", "what": name, "latency_ns": round(statistics.median(took), 1),
             "latency_min_ns": round(min(took), 1), "latency_max_ns": round(max(took), 1)}
            for name, took in times.items()]
    print("[\n " + ",\n ".join(json.dumps(row) for row in rows) + "\n]")
    for row in rows:
        print(f"{row['what']:42} {row['latency_ns']:9.1f} ns  ({row['latency_min_ns']:.1f} to "
              f"{row['latency_max_ns']:.1f})", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
