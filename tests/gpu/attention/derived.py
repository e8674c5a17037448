#!/usr/bin/env python3
"""Derived kernels of specs/attention.lua beside control.cu and cuDNN in one process, by compare.py's checks and timing.

Before, on any machine: build/tilewright build specs/attention.lua --arch sm_90a -o DIR; then, here:

usage: derived.py DIR [--sizes S,S] [--rounds N] [--seconds S] [--bursts N] [--json FILE]
Exit status: 0 all right, 1 a wrong result, 3 no GPU.
"""
import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile

import compare

KERNELS = {False: "attention_fwd", True: "attention_fwd_causal"}
CHECKS = [(2, 1024, 3, 1), (3, 777, 5, 1), (1, 1, 2, 1)]


class Derived:
    """One emitted kernel, compiled into a shared object with its own launcher."""

    def __init__(self, folder, work, causal):
        self.causal, name = causal, KERNELS[causal]
        path = os.path.join(work, name + ".so")
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", f"-DNAME={name}", f'-DHEADER="{name}.h"', "-I" + folder,
                        os.path.join(compare.HERE, "candidate.c"), os.path.join(folder, name + ".c"), "-o", path,
                        "-ldl"], check=True)
        library, text = ctypes.CDLL(path), ctypes.create_string_buffer(1000)
        if library.candidate_load(text):
            raise RuntimeError(f"{name}: {text.value.decode()}")
        self.launch = library.candidate_launch

    def __call__(self, q, k, v, o, lse):
        batch, sequence, heads, _ = q.shape
        stream = ctypes.c_void_p(compare.torch.cuda.current_stream().cuda_stream)
        status = self.launch(*(ctypes.c_void_p(t.data_ptr()) for t in (q, k, v, o, lse)), ctypes.c_int64(batch),
                             ctypes.c_int64(heads), ctypes.c_int64(sequence), stream)
        if status:
            raise RuntimeError(f"{KERNELS[self.causal]}: status {status}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--sizes", default="1024,2048,4096,8192,16384")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--bursts", type=int, default=15)
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
    compare.multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
    work, rows, status = tempfile.mkdtemp(), [], 0
    compare.compile_all(work)
    for causal in (False, True):
        derived = Derived(options.folder, work, causal)
        found = [compare.check(derived, sizes) for sizes in CHECKS]
        good = all(o < compare.BOUND and lse < compare.LSE_BOUND for o, lse in found)
        status |= not good
        print("verified" if good else "FAILED", KERNELS[causal], found, flush=True)
        control = compare.Kernel(work, "control", causal)
        for options.sequence in (int(s) for s in options.sizes.split(",")):
            candidates = {"cudnn": lambda t: compare.cudnn(t, causal), "control": lambda t: control(*t),
                          "derived": lambda t: derived(*t)}
            work_done = 4 * compare.TOKENS * options.sequence * compare.HEADS * compare.HEAD_SIZE / (2 if causal else 1)
            for mode, times in zip(("burst", "sustained"), compare.measure(candidates, options)):
                rate = {name: round(work_done / 1e9 / statistics.median(ms), 1) for name, ms in times.items()}
                rows.append({"s": options.sequence, "causal": causal, "mode": mode, "tflops": rate})
                print(f"{options.sequence:6d} {'causal' if causal else 'full':6s} {mode:9s}", *(
                    f"{name} {value:.0f} ({value / rate['cudnn']:.3f})" for name, value in rate.items()), flush=True)
            torch.cuda.empty_cache()
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"made_by": "tests/gpu/attention/derived.py", "rows": rows}, file, indent=1)
    return status


if __name__ == "__main__":
    sys.exit(main())
