#!/usr/bin/env python3
"""Derived kernels of specs/attention.lua beside control.cu and cuDNN in one process, by compare.py's checks and timing.

Before, on any machine: build/tilewright build specs/attention.lua --arch sm_90a -o DIR; then, here:

usage: derived.py [NAME=]DIR .. [--sizes S,S] [--masks full,causal] [--rounds N] [--seconds S] [--bursts N]
                  [--tilelang] [--json FILE]
Several folders are candidates beside each other, under their NAMEs. --tilelang: tilelang_attention.py beside this file
is one more, where that package is found. Exit status: 0 all right, 1 a wrong result, 3 no GPU.
"""
import argparse
import ctypes
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import tempfile

import compare

KERNELS = {False: "attention_fwd", True: "attention_fwd_causal"}
CHECKS = [(2, 1024, 3, 1), (3, 777, 5, 1), (1, 1, 2, 1), (2, 513, 6, 1), (150, 130, 3, 1)]
REPEATS = [(3, 777, 5, 1), (150, 130, 3, 1), (4, 2048, 4, 1)]


class Derived:
    """One emitted kernel, compiled into a shared object with its own launcher."""

    def __init__(self, folder, work, causal):
        self.causal, name = causal, KERNELS[causal]
        path = os.path.join(work, f"{len(os.listdir(work))}_{name}.so")
        with open(os.path.join(folder, name + ".h"), encoding="ascii") as header:
            own = ["-DWORKSPACE"] if "void *workspace;" in header.read() else []
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", f"-DNAME={name}", f'-DHEADER="{name}.h"', "-I" + folder, *own,
                        os.path.join(compare.HERE, "candidate.c"), os.path.join(folder, name + ".c"), "-o", path,
                        "-ldl"], check=True)
        library, text = ctypes.CDLL(path), ctypes.create_string_buffer(1000)
        if library.candidate_load(text):
            raise RuntimeError(f"{name}: {text.value.decode()}")
        self.launch = library.candidate_launch
        self.workspace = compare.torch.zeros(64, dtype=compare.torch.int32, device="cuda")

    def __call__(self, q, k, v, o, lse):
        batch, sequence, heads, _ = q.shape
        stream = ctypes.c_void_p(compare.torch.cuda.current_stream().cuda_stream)
        status = self.launch(*(ctypes.c_void_p(t.data_ptr()) for t in (q, k, v, o, lse)), ctypes.c_int64(batch),
                             ctypes.c_int64(heads), ctypes.c_int64(sequence),
                             ctypes.c_void_p(self.workspace.data_ptr()), stream)
        if status:
            raise RuntimeError(f"{KERNELS[self.causal]}: status {status}")


def verified(name, kernel, repeat):
    """Right against double precision, the same bits in every run, and the workspace as it was."""
    found = [compare.check(kernel, sizes) for sizes in CHECKS]
    different = sum(compare.repeats(kernel, sizes, repeat) for sizes in REPEATS)
    good = all(o < compare.BOUND and lse < compare.LSE_BOUND for o, lse in found) and different == 0
    good = good and not kernel.workspace.any().item()
    print("verified" if good else "FAILED", name, KERNELS[kernel.causal], found, different, flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--sizes", default="1024,2048,4096,8192,16384")
    parser.add_argument("--masks", default="full,causal")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--bursts", type=int, default=15)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--tilelang", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    try:
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
        compare.torch, compare.sdpa_kernel, compare.SDPBackend = torch, sdpa_kernel, SDPBackend
        compare.driver = ctypes.CDLL("libcuda.so.1")
        torch.zeros(1, device="cuda")
    except (ImportError, OSError, RuntimeError) as error:
        return compare.fail(f"no GPU: {error}", 3)
    device = torch.cuda.get_device_properties(0)
    compare.multiprocessors = device.multi_processor_count
    work, libraries, rows, status = tempfile.mkdtemp(), tempfile.mkdtemp(), [], 0
    compare.compile_all(work)
    folders = dict(f.split("=", 1) if "=" in f else ("derived", f) for f in options.folder)
    shapes = [(int(s), mask == "causal") for mask in options.masks.split(",") for s in options.sizes.split(",")]
    tilelang, beside = {}, ""
    if options.tilelang:
        import tilelang_attention
        beside = (f"; TileLang {importlib.metadata.version('tilelang')}, "
                  "tests/gpu/attention/tilelang_attention.py, by tile of q, tile of keys, stages, threads")
        tilelang = tilelang_attention.kernels([(compare.TOKENS // s, s, compare.HEADS, compare.HEAD_SIZE, causal)
                                               for s, causal in shapes])
    kernels = {}
    for causal in sorted({causal for _, causal in shapes}):
        kernels["control", causal] = compare.Kernel(work, "control", causal)
        for name, folder in folders.items():
            kernels[name, causal] = Derived(folder, libraries, causal)
            status |= not verified(name, kernels[name, causal], options.repeat)
    for options.sequence, causal in shapes:
        candidates = {"cudnn": lambda t: compare.cudnn(t, causal)}
        for name in ("control", *folders):
            candidates[name] = lambda t, kernel=kernels[name, causal]: kernel(*t)
        for name, kernel in tilelang.get((options.sequence, causal), {}).items():
            candidates[name] = lambda t, kernel=kernel: kernel(*t[:4])
        work_done = 4 * compare.TOKENS * options.sequence * compare.HEADS * compare.HEAD_SIZE / (2 if causal else 1)
        for mode, times in zip(("burst", "sustained"), compare.measure(candidates, options)):
            rate = {name: round(work_done / 1e9 / statistics.median(ms), 1) for name, ms in times.items()}
            rows.append({"s": options.sequence, "causal": causal, "mode": mode, "tflops": rate})
            print(f"{options.sequence:6d} {'causal' if causal else 'full':6s} {mode:9s}", *(
                f"{name} {value:.0f} ({value / rate['control']:.3f})" for name, value in rate.items()), flush=True)
        torch.cuda.empty_cache()
    for causal in sorted({causal for _, causal in shapes}):
        for mode in ("burst", "sustained"):
            some = [r["tflops"] for r in rows if r["causal"] == causal and r["mode"] == mode]
            names = [name for name in some[0] if name != "control" and all(name in rate for rate in some)]
            print("of the control,", "causal" if causal else "full", mode, *(
                f"{name} {statistics.geometric_mean(rate[name] / rate['control'] for rate in some):.3f}"
                for name in names), flush=True)
    if options.json:
        with open(options.json, "w", encoding="ascii") as file:
            json.dump({"made_by": "tests/gpu/attention/derived.py", "gpu_model": device.name,
                       "what": "attention forward, bf16, head size 128, 16 heads, 16,384 tokens, [B,S,H,D]; derived: "
                               "specs/attention.lua; control: control.cu" + beside,
                       "rounds": options.rounds, "seconds": options.seconds, "bursts": options.bursts,
                       "rows": rows}, file, indent=1)
            file.write("\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
