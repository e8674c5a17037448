#!/usr/bin/env python3
"""What a call of `gen --python` costs the host beside the same launch from C: gemm_fp16 of specs/gemm.lua at 512^3 with
torch's tensors, three descriptors included. In one process, batches of all cases in turn, in a new order each round,
the stream dry between them; a row is the median, the least and the most of the batches' means, in nanoseconds a call.

    python3 tests/bench/host_call.py [--program build/tilewright] [--rounds 101]        rows on stdout, words on stderr

Cases: C (gemm_fp16_launch in a loop), Python (gemm_fp16(a, b, d); a result that the framework makes; with a stream
that is given), the same with gemm_fp16_torch.cpp, which reads torch's tensors in place, torch (torch.mm into the same
result), Triton (a product of the same size) and an empty function of Python; and a tensor map of a, and its address
replaced, by the package tilewright, a map by its way through ctypes, and both by cuda.core, where that is. It needs a
GPU, torch with its headers, a compiler of C and of C++, Python's headers and ninja build/python-module. Maps without a
GPU: tests/bench/map_call.py. It ends with 1 where a launch from Python with tensors in place takes more than 400 ns
more than from C, or a map more than a tenth of cuda.core's time. What 400 ns are beside Triton's launch, which took 9 us
where they were asked for, and what a launch takes without tensors in place is told too.
"""
import argparse
import ctypes
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

import torch
from torch.utils import cpp_extension

import map_call

BATCH, SIZE = 200, 512
IN_PLACE = "Python, torch in place"
OURS, THEIRS = "a map, tilewright.TensorMap", "a map, cuda.core"
LOOP = """
#include <time.h>
#include "gemm_fp16.h"
static struct gemm_fp16 kernel;
int begin(void) { struct gemm_fp16_error error; return gemm_fp16_load(&kernel, 0, &error); }
double batch(int count, const void *a, const void *b, void *d, void *stream)
{
    struct timespec from, to;
    struct gemm_fp16_args args = {.A = a, .B = b, .D = d, .M = 512, .N = 512, .K = 512};
    struct gemm_fp16_error error;
    int status = 0;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < count; i++)
        status |= gemm_fp16_launch(&kernel, &args, stream, &error);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return status ? -1.0 : 1e9 * (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec);
}
"""


def build(program, folder):
    """The extension, the same with torch's tensors in place, and the loop of C over the same pair."""
    subprocess.run([program, "gen", "specs/gemm.lua", "--kernel", "gemm_fp16", "--torch", "-o", folder], check=True)
    (folder / "loop.c").write_text(LOOP)
    include = f"-I{sysconfig.get_path('include')}"
    cc, cxx = ([os.environ.get(name, name.lower().replace("x", "+")), "-O2", "-fPIC"] for name in ("CC", "CXX"))
    for out, source, *options in (("pair.o", "gemm_fp16.c"), ("plain.o", "gemm_fp16_python.c", include),
                                  ("quick.o", "gemm_fp16_python.c", include, "-DTILEWRIGHT_TORCH"),
                                  ("loop.o", "loop.c")):
        subprocess.run([*cc, "-c", folder / source, *options, f"-I{folder}", "-o", folder / out], check=True)
    headers = [f"-isystem{path}" for path in cpp_extension.include_paths()]
    libraries = [*(f"-L{path}" for path in cpp_extension.library_paths()), "-ltorch_python", "-lc10"]
    subprocess.run([*cxx, "-std=c++17", f"-DTILEWRIGHT_TORCH={torch.__version__}", "-c",
                    folder / "gemm_fp16_torch.cpp", include, *headers, "-o", folder / "torch.o"], check=True)
    for out, objects, more in (("plain.so", ("plain.o",), ()), ("loop.so", ("loop.o",), ()),
                               ("quick.so", ("torch.o", "quick.o"), libraries)):
        subprocess.run([*cxx, "-shared", *(folder / one for one in objects), folder / "pair.o", "-o", folder / out,
                        *more, "-ldl"], check=True)
    modules = []
    for name in ("plain.so", "quick.so"):
        spec = importlib.util.spec_from_file_location("gemm_fp16", folder / name)
        modules.append(importlib.util.module_from_spec(spec))
        spec.loader.exec_module(modules[-1])
    if not modules[1].torch_in_place:
        sys.exit("host_call: torch's tensors are not read in place")
    loop = ctypes.CDLL(str(folder / "loop.so"))
    loop.batch.restype = ctypes.c_double
    loop.batch.argtypes = [ctypes.c_int, *[ctypes.c_void_p] * 4]
    if loop.begin():
        sys.exit("host_call: the pair of C cannot be loaded")
    return *(module.gemm_fp16 for module in modules), loop


def triton_call(a, b, d):
    if importlib.util.find_spec("triton") is None:
        return None
    source = pathlib.Path(tempfile.mkdtemp()) / "product.py"
    source.write_text('''
import triton
import triton.language as tl

@triton.jit
def product(a, b, d, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        at = k + tl.arange(0, BK)
        sums = tl.dot(tl.load(a + m[:, None] * K + at[None, :]), tl.load(b + n[None, :] * K + at[:, None]), sums)
    tl.store(d + m[:, None] * N + n[None, :], sums.to(tl.float16))
''')
    spec = importlib.util.spec_from_file_location("product", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda: module.product[(4, 4)](a, b, d, SIZE, SIZE, SIZE, BM=128, BN=128, BK=64)


def maps_of(a):
    """Calls that make a map of 64 x 64 boxes, by the words of their rows."""
    calls = {}
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "python"))
    b = torch.empty_like(a)
    try:
        import tilewright
        from tilewright import by_ctypes, maps
        if maps.slow:
            sys.exit(f"host_call: {maps.slow}")
        own = tilewright.TensorMap(a, (64, 64), swizzle="128B", l2="128B")
        if bytes(by_ctypes.TensorMap(a, (64, 64), swizzle="128B", l2="128B")) != bytes(own):
            sys.exit("host_call: the extension's map is another than that by ctypes")
        calls[OURS] = lambda: tilewright.TensorMap(a, (64, 64), swizzle="128B", l2="128B")
        calls["an address, tilewright"] = lambda: own.replace_address(b)
        calls["a map, tilewright by ctypes"] = lambda: by_ctypes.TensorMap(a, (64, 64), swizzle="128B", l2="128B")
    except (ImportError, RuntimeError) as error:
        print(f"host_call: {error}", file=sys.stderr)
        calls.clear()
    try:
        from cuda.core import _tensor_map as words
        from cuda.core.utils import StridedMemoryView
        view, other = (getattr(StridedMemoryView, "from_any_interface", StridedMemoryView)(each, stream_ptr=-1)
                       for each in (a, b))
        options = {"box_dim": (64, 64), "swizzle": words.TensorMapSwizzle.SWIZZLE_128B,
                   "l2_promotion": words.TensorMapL2Promotion.L2_128B}
        theirs = view.as_tensor_map(**options)
        calls[THEIRS] = lambda: view.as_tensor_map(**options)
        theirs.replace_address(other)
        calls["an address, cuda.core"] = lambda: theirs.replace_address(other)
    except Exception as error:  # whatever a private interface may have become
        print(f"host_call: not all maps by cuda.core: {error}", file=sys.stderr)
    return calls


def timed(call):
    return map_call.timed(call, BATCH)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/tilewright")
    parser.add_argument("--rounds", type=int, default=101)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    torch.zeros(1, device="cuda")  # the context that the pair of C is loaded into
    call, quick, loop = build(options.program, folder)

    a, b = torch.randn(2, SIZE, SIZE, device="cuda").half()
    d = torch.full((SIZE, SIZE), float("nan"), device="cuda", dtype=torch.half)
    right = a.double() @ b.double().T
    stream = torch.cuda.current_stream().cuda_stream

    def direct(call):  # as a user's loop has it, without a function around the call
        def run():
            clock = time.perf_counter_ns
            from_ = clock()
            for _ in range(BATCH):
                call(a, b, d)
            return clock() - from_

        return run

    cases = {
        "C": lambda: loop.batch(BATCH, a.data_ptr(), b.data_ptr(), d.data_ptr(), stream),
        "Python": timed(lambda: call(a, b, d)),
        "Python, direct": direct(call),
        IN_PLACE: direct(quick),
        "Python, a result made": timed(lambda: call(a, b)),
        "Python, a stream given": timed(lambda: call(a, b, d, stream=stream)),
        "torch.mm": timed(lambda: torch.mm(a, b.T, out=d)),
        "an empty function": timed(lambda: None),
    }
    triton = triton_call(a, b, d)
    if triton:
        cases["Triton"] = timed(triton)
    maps = maps_of(a)
    for name, case in cases.items():
        d.fill_(float("nan"))
        case()
        torch.cuda.synchronize()
        if "empty" not in name and "made" not in name and not (d.double() - right).abs().max().item() < 0.1:
            sys.exit(f"host_call: the result of {name} is wrong")
    cases |= {name: timed(make) for name, make in maps.items()}
    times = {name: [] for name in cases}
    gc.disable()
    for _ in range(options.rounds):
        order = list(cases)
        random.shuffle(order)
        for name in order:
            torch.cuda.synchronize()
            took = cases[name]()
            if took < 0:
                sys.exit("host_call: a launch failed")
            times[name].append(took / BATCH)
    torch.cuda.synchronize()
    rows = [{"kernel": "gemm_fp16", "backend": "tilewright" if name[0] in "CP" or "tilewright" in name else name,
             "arch": "sm_90a", "gpu_model": torch.cuda.get_device_name(),
             "group": "one call from Python (gemm_fp16, 512^3)",
             "problem_size": "M=512,N=512,K=512", "what": name, "latency_ns": round(statistics.median(took), 2),
             "latency_min_ns": round(min(took), 2), "latency_max_ns": round(max(took), 2)}
            for name, took in times.items()]
    print("[\n " + ",\n ".join(json.dumps(row) for row in rows) + "\n]")
    for row in rows:
        least, most = row["latency_min_ns"], row["latency_max_ns"]
        print(f"{row['what']:30} {row['latency_ns']:9.1f} ns  ({least:.1f} to {most:.1f})", file=sys.stderr)
    c, plain, python = (statistics.median(times[name]) for name in ("C", "Python, direct", IN_PLACE))
    most = 400 * (statistics.median(times["Triton"]) / 9000 if triton else 1)
    print(f"Python beside C: {python - c:+.1f} ns with torch's tensors in place (at most 400 are wanted; of Triton's 9 us "
          f"that is {most:.0f} here), {plain - c:+.1f} without", file=sys.stderr)
    few = True
    if OURS in times and THEIRS in times:
        ours, theirs = (statistics.median(times[name]) for name in (OURS, THEIRS))
        few = 10 * ours <= theirs
        print(f"A map beside cuda.core's: {theirs / ours:.1f} times as fast (at least 10 are wanted)", file=sys.stderr)
    return 0 if python - c <= 400 and few else 1


if __name__ == "__main__":
    sys.exit(main())
