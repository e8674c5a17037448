#!/usr/bin/env python3
"""control.cu beside cuDNN's attention forward (torch's scaled_dot_product_attention with that backend), in one process.

First every kernel is checked: O and LSE, poisoned, against fp64 on random inputs, at ragged sizes, with shared heads of
K and V, and as many times over as --repeat says on sizes with many short items, where every run must give the same
bits. Then they are timed on 16,384 tokens, 16 heads of 128, two sets of inputs (each larger than the L2) in turn:

burst      graphs of one launch a set, candidates in random order, a pause before each, median
sustained  each candidate alone for --seconds, the last half timed, random order, median of --rounds

Candidates: cudnn; control, without turns; control_turns, with them. Kernels are compiled by nvcc, or before, by
--compile, into --cubins.

usage: compare.py [--compile] [--cubins DIR] [--rounds N] [--seconds S] [--bursts N] [--repeat N] [--sizes S,S]
                  [--json FILE]
Exit status: 0 all right, 1 a wrong result or a kernel that spills or is serialised, 3 no GPU or no nvcc.
"""
import argparse
import ctypes
import faulthandler
import json
import math
import os
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HEADS, HEAD_SIZE, TOKENS = 16, 128, 16384
SHARED, THREADS, ROWS = 196752, 384, 128
GROUP_BYTES = 32 << 20  # K and V of the heads whose items are mixed, of an L2 of 50 MB
KERNELS = {"control": 0, "control_turns": 1}
BOUND, LSE_BOUND = 4e-3, 1e-4  # relative Frobenius error of O in bf16; absolute error of LSE
# Batch, sequence, heads, heads that share one of K and V.
CHECKS = [(2, 1024, 3, 1), (3, 777, 5, 1), (1, 64, 4, 1), (1, 1, 2, 1), (2, 513, 6, 3), (150, 130, 3, 1)]
REPEATS = [(3, 777, 5, 1), (150, 130, 3, 1), (20, 640, 4, 2), (4, 2048, 4, 1)]


def compile_all(folder):
    """Cubins of all kernels; returns what ptxas said, or raises SystemExit where it is not what it should be."""
    said = {}
    for name, turns in KERNELS.items():
        for causal in (0, 1):
            command = ["nvcc", "-cubin", "-gencode=arch=compute_90a,code=sm_90a", "-Xptxas", "-v", f"-DTURNS={turns}",
                       f"-DCAUSAL={causal}", "-o", os.path.join(folder, f"{name}.{causal}.cubin"),
                       os.path.join(HERE, "control.cu")]
            try:
                run = subprocess.run(command, capture_output=True, text=True)
            except FileNotFoundError:
                sys.exit(fail("no nvcc", 3))
            text = run.stdout + run.stderr
            registers, spills = re.search(r"Used (\d+) registers", text), re.search(r"(\d+) bytes spill stores", text)
            warned = sorted(set(re.findall(r"C7\d{3}", text)))
            if run.returncode or not registers or int(spills[1]) or warned:
                sys.exit(fail(f"{name}.{causal}: {text}", 1))
            said[f"{name}.{causal}"] = {"registers": int(registers[1]), "spills": 0}
    return said


def fail(message, status):
    print(f"compare.py: {message}", file=sys.stderr)
    return status


def ok(result, call):
    if result:
        raise RuntimeError(f"{call}: CUresult {result}")


class Kernel:
    """One kernel of control.cu, launched through the driver on torch's current stream."""

    def __init__(self, folder, name, causal):
        self.causal, self.launches = causal, {}
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        with open(os.path.join(folder, f"{name}.{int(causal)}.cubin"), "rb") as file:
            ok(driver.cuModuleLoadData(ctypes.byref(module), file.read()), "cuModuleLoadData")
        ok(driver.cuModuleGetFunction(ctypes.byref(self.function), module, b"attention"), "cuModuleGetFunction")
        ok(driver.cuFuncSetAttribute(self.function, 8, SHARED), "cuFuncSetAttribute")  # dynamic shared memory
        self.counter = torch.zeros(2, dtype=torch.int32, device="cuda")

    def parameters(self, q, k, v, o, lse):
        batch, sequence, heads, size = q.shape
        group = min(batch * heads, max(1, GROUP_BYTES // (sequence * size * 4))) if self.causal else 1
        packed = tensor_map(q, ROWS) + tensor_map(k, ROWS) + tensor_map(v, ROWS) + tensor_map(o, 16)
        packed += struct.pack("<QQiiiiif", lse.data_ptr(), self.counter.data_ptr(), batch, sequence, heads,
                              heads // k.shape[2], group, math.log2(math.e) / math.sqrt(size))
        packed += b"\0" * (-len(packed) % 64)
        raw = ctypes.create_string_buffer(packed, len(packed))
        return raw, (ctypes.c_void_p * 1)(ctypes.addressof(raw)), -(-sequence // ROWS) * batch * heads

    def __call__(self, *tensors):
        key = tuple((t.data_ptr(), t.shape) for t in tensors)
        if key not in self.launches:
            self.launches[key] = self.parameters(*tensors)
        _, parameters, items = self.launches[key]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        ok(driver.cuLaunchKernel(self.function, min(items, multiprocessors), 1, 1, THREADS, 1, 1, SHARED, stream,
                                 parameters, None), "cuLaunchKernel")


def tensor_map(tensor, rows):
    """A [batch, sequence, heads, size] bf16 tensor in boxes of 64 columns and `rows` of the sequence."""
    space = (ctypes.c_uint64 * 24)()
    at = (ctypes.addressof(space) + 63) // 64 * 64
    batch, sequence, heads, size = tensor.shape
    dims = (ctypes.c_uint64 * 4)(size, heads, sequence, batch)
    strides = (ctypes.c_uint64 * 3)(*(tensor.stride(i) * 2 for i in (2, 1, 0)))
    box, steps = (ctypes.c_uint32 * 4)(64, 1, rows, 1), (ctypes.c_uint32 * 4)(1, 1, 1, 1)
    ok(driver.cuTensorMapEncodeTiled(ctypes.c_void_p(at), 9, 4, ctypes.c_void_p(tensor.data_ptr()), dims, strides, box,
                                     steps, 0, 3, 2, 0), "cuTensorMapEncodeTiled")  # bf16, 128-byte swizzle, L2 128
    return ctypes.string_at(at, 128)


def inputs(batch, sequence, heads, shared=1):
    def one(count):
        return torch.randn(batch, sequence, count, HEAD_SIZE, device="cuda", dtype=torch.bfloat16)

    q = one(heads)
    return q, one(heads // shared), one(heads // shared), torch.empty_like(q), torch.empty(batch, heads, sequence,
                                                                                          device="cuda")


def reference(q, k, v, causal):
    batch, sequence, heads, size = q.shape
    o, lse = torch.empty_like(q, dtype=torch.float64), torch.empty(batch, heads, sequence, device="cuda",
                                                                   dtype=torch.float64)
    hidden = torch.ones(sequence, sequence, device="cuda", dtype=torch.bool).triu(1)
    for b in range(batch):
        for h in range(heads):
            kv = h * k.shape[2] // heads
            s = q[b, :, h].double() @ k[b, :, kv].double().T / math.sqrt(size)
            if causal:
                s.masked_fill_(hidden, -math.inf)
            lse[b, h], o[b, :, h] = torch.logsumexp(s, -1), torch.softmax(s, -1) @ v[b, :, kv].double()
    return o, lse


def poison(o, lse):
    o.fill_(math.nan)
    lse.fill_(math.nan)


def check(kernel, sizes):
    """Largest errors of O and LSE; NaN where anything was left unwritten."""
    q, k, v, o, lse = inputs(*sizes)
    q *= 2
    want_o, want_lse = reference(q, k, v, kernel.causal)
    poison(o, lse)
    kernel(q, k, v, o, lse)
    return ((o.double() - want_o).norm() / want_o.norm()).item(), (lse.double() - want_lse).abs().max().item()


def repeats(kernel, sizes, count):
    """How many of `count` runs differ from the first in any bit."""
    tensors = inputs(*sizes)
    o, lse = tensors[3:]
    poison(o, lse)
    kernel(*tensors)
    first, different = (o.clone(), lse.clone()), 0
    for _ in range(count):
        poison(o, lse)
        kernel(*tensors)
        different += not (torch.equal(o, first[0]) and torch.equal(lse, first[1]))
    return different


def cudnn(tensors, causal):
    q, k, v = (t.transpose(1, 2) for t in tensors[:3])
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


def timed(graph, replays):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(replays):
        graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / replays


def measure(candidates, options):
    """Milliseconds a launch of each candidate, burst and sustained: all the numbers."""
    sets = [inputs(TOKENS // options.sequence, options.sequence, HEADS) for _ in range(2)]
    stream, graphs = torch.cuda.Stream(), {}
    torch.cuda.synchronize()
    for name, call in candidates.items():
        with torch.cuda.stream(stream):
            for tensors in sets:
                call(tensors)
        torch.cuda.synchronize()
        graphs[name] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[name], stream=stream):
            for tensors in sets:
                call(tensors)
    burst, sustained = {name: [] for name in graphs}, {name: [] for name in graphs}
    for _ in range(options.bursts):
        for name in random.sample(list(graphs), len(graphs)):
            torch.cuda.synchronize()
            time.sleep(0.004)
            burst[name].append(timed(graphs[name], 1) / len(sets))
    for _ in range(options.rounds):
        for name in random.sample(list(graphs), len(graphs)):
            half = max(2, int(options.seconds * 500 / (statistics.median(burst[name]) * len(sets) * 1.1)))
            timed(graphs[name], half)
            sustained[name].append(timed(graphs[name], half) / len(sets))
    return burst, sustained


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--cubins")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--bursts", type=int, default=15)
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument("--sizes", default="1024,2048,4096,8192,16384")
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.compile:
        os.makedirs(options.cubins, exist_ok=True)
        print(json.dumps(compile_all(options.cubins)))
        return 0
    global torch, sdpa_kernel, SDPBackend, driver, multiprocessors
    try:
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
        driver = ctypes.CDLL("libcuda.so.1")
        torch.zeros(1, device="cuda")
    except (ImportError, OSError, RuntimeError) as error:
        return fail(f"no GPU: {error}", 3)
    device = torch.cuda.get_device_properties(0)
    multiprocessors = device.multi_processor_count
    folder = options.cubins or tempfile.mkdtemp()
    if not options.cubins:
        compile_all(folder)
    kernels, errors, status = {}, {}, 0
    for name in KERNELS:
        for causal in (False, True):
            faulthandler.dump_traceback_later(60, exit=True)  # a kernel that hangs
            kernel = kernels[name, causal] = Kernel(folder, name, causal)
            found = [check(kernel, sizes) for sizes in CHECKS]
            different = sum(repeats(kernel, sizes, options.repeat) for sizes in REPEATS)
            good = all(o < BOUND and lse < LSE_BOUND for o, lse in found) and different == 0
            status |= not good
            errors[f"{name}.{int(causal)}"] = {"O": max(f[0] for f in found), "LSE": max(f[1] for f in found),
                                               "runs": options.repeat * len(REPEATS), "runs that differ": different}
            print("verified" if good else "FAILED", name, "causal" if causal else "full", found, different, flush=True)
    rows = []
    for options.sequence in (int(s) for s in options.sizes.split(",")):
        for causal in (False, True):
            faulthandler.dump_traceback_later(120, exit=True)
            candidates = {"cudnn": lambda tensors: cudnn(tensors, causal)}
            for name in KERNELS:
                candidates[name] = lambda tensors, kernel=kernels[name, causal]: kernel(*tensors)
            burst, sustained = measure(candidates, options)
            work = 4 * TOKENS * options.sequence * HEADS * HEAD_SIZE / (2 if causal else 1) / 1e9
            row = {"sequence": options.sequence, "causal": causal}
            for mode, all_of in (("burst", burst), ("sustained", sustained)):
                rate = {name: work / statistics.median(ms) for name, ms in all_of.items()}
                row[mode] = {name: {"tflops": round(rate[name], 1), "ratio": round(rate[name] / rate["cudnn"], 4),
                                    "least": round(work / max(ms), 1), "most": round(work / min(ms), 1)}
                             for name, ms in all_of.items()}
                print(f"{options.sequence:6d} {'causal' if causal else 'full':6s} {mode:9s}", *(
                    f"{name} {rate[name]:.0f} ({rate[name] / rate['cudnn']:.3f})" for name in rate), flush=True)
            rows.append(row)
            torch.cuda.empty_cache()
    means = {f"{name} {'causal' if causal else 'full'} {mode}": round(statistics.geometric_mean(
        row[mode][name]["ratio"] for row in rows if row["causal"] == causal), 4)
        for name in KERNELS for causal in (False, True) for mode in ("burst", "sustained")}
    print(json.dumps(means))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"made_by": "tests/gpu/attention/compare.py", "gpu_model": device.name,
                       "torch": torch.__version__,
                       "cudnn": torch.backends.cudnn.version(), "heads": HEADS, "head_size": HEAD_SIZE,
                       "tokens": TOKENS, "rounds": options.rounds, "seconds": options.seconds,
                       "bursts": options.bursts, "run": int(time.time()), "errors": errors, "ratio_to_cudnn": means,
                       "rows": rows}, file, indent=1)
            file.write("\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
