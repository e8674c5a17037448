#!/usr/bin/env python3
"""torch's products D = A B^T, timed as `tilewright bench` times its own, as the same JSON rows: matmul of bf16, fp16
and tf32, scaled_mm of fp8 (one scale a tensor, one a row), _int_mm of int8; and with --compile what torch.compile makes
of each by trying (max-autotune), with the seconds that takes. With --conv cuDNN's convolutions, each the quickest of all
that cuDNN has (benchmark mode), of images with channels innermost, as specs/conv.lua has them.

    python3 tests/bench/peers_torch.py [--types bf16,fp8] [--mode burst] [--compile] M,N,K... >rows.json
    python3 tests/bench/peers_torch.py --conv conv_3x3 [--types fp16] [--mode burst] N,H,W,C,K... >rows.json

What a version of torch or a GPU does not have is a line on stderr, and so is a result that is wrong; neither is timed.
"""
import argparse
import sys
import time

import measure

TYPES = {"bf16": "gemm_bf16", "fp16": "gemm_fp16", "tf32": "gemm_tf32", "fp8": "gemm_fp8", "fp8_rows": "gemm_fp8_rows",
         "int8": "gemm_int8"}


# Kernels of specs/conv.lua: taps, stride, padding, dilation, groups.
CONVOLUTIONS = {"conv_3x3": (3, 1, 1, 1, 1), "conv_3x3_s2": (3, 2, 1, 1, 1), "conv_1x1": (1, 1, 0, 1, 1),
                "conv_1x1_s2": (1, 2, 0, 1, 1), "conv_7x7_s2": (7, 2, 3, 1, 1),
                "conv_3x3_dilated_fp16": (3, 1, 2, 2, 1), "conv_3x3_groups": (3, 1, 1, 1, 4)}


def operands(kind, m, n, k):
    """A set of inputs: A, B, and scales of both where there are any."""
    import torch
    a, b = torch.randn(m, k, device="cuda"), torch.randn(n, k, device="cuda")
    if kind in ("bf16", "fp16"):
        dtype = torch.bfloat16 if kind == "bf16" else torch.float16
        return a.to(dtype), b.to(dtype)
    if kind == "int8":
        return (a * 30).round().clamp(-127, 127).to(torch.int8), (b * 30).round().clamp(-127, 127).to(torch.int8)
    if kind == "tf32":
        return a, b
    one = torch.ones((), device="cuda")
    scale = (one, one) if kind == "fp8" else (torch.ones(m, 1, device="cuda"), torch.ones(1, n, device="cuda"))
    return a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn), *scale


def product(kind):
    """The function of a set of inputs that users call, into a tensor that is there where one is given."""
    import torch
    if kind in ("bf16", "fp16", "tf32"):
        return lambda a, b, out=None: torch.matmul(a, b.t(), out=out)
    if kind == "int8":
        return lambda a, b, out=None: torch._int_mm(a, b.t(), out=out)
    return lambda a, b, p, q, out=None: torch._scaled_mm(a, b.t(), scale_a=p, scale_b=q, out_dtype=torch.bfloat16,
                                                         use_fast_accum=True, out=out)


def right(kind, function, inputs):
    """The first rows against sums in double precision."""
    import torch
    d = function(*inputs)
    want = inputs[0][:64].double() @ inputs[1].double().t()
    away = ((d[:64].double() - want).norm() / want.norm()).item()
    return away <= (0 if kind == "int8" else 1e-3 if kind == "tf32" else 6e-3)


def candidate(kind, backend, function, inputs, outputs, **details):
    if not right(kind, function, inputs[0]):
        print("%s %s: wrong result" % (backend, kind), file=sys.stderr)
        return None
    if outputs:
        return measure.Candidate(backend, lambda s: function(*inputs[s], out=outputs[s]), len(inputs), **details)
    return measure.Candidate(backend, lambda s: function(*inputs[s]), len(inputs), **details)


def candidates(kind, m, n, k, compile_too):
    import torch
    width = {"bf16": 2, "fp16": 2, "tf32": 4}.get(kind, 1)
    out = 2 if kind not in ("tf32", "int8") else 4
    moved = (m * k + n * k) * width + m * n * out
    inputs = [operands(kind, m, n, k) for _ in range(measure.count_sets(moved))]
    outputs = [product(kind)(*one) for one in inputs]
    found = [candidate(kind, "torch", product(kind), inputs, outputs)]
    if compile_too:
        torch._dynamo.reset()
        begin = time.monotonic()
        compiled = torch.compile(product(kind), mode="max-autotune-no-cudagraphs", dynamic=False)
        compiled(*inputs[0])
        torch.cuda.synchronize()
        seconds = time.monotonic() - begin
        found.append(candidate(kind, "torch_compile", compiled, inputs, None, compilation_time=seconds))
    return [c for c in found if c], moved


def convolution(name, kind, n, h, w, c, k):
    """cuDNN's best of these sizes; None where it is wrong. Operations and bytes of one."""
    import torch
    taps, stride, padding, dilation, groups = CONVOLUTIONS[name]
    dtype = torch.bfloat16 if kind == "bf16" else torch.float16
    p, q = ((length + 2 * padding - dilation * (taps - 1) - 1) // stride + 1 for length in (h, w))
    flops = 2.0 * n * p * q * k * taps * taps * c // groups
    moved = 2 * (n * h * w * c + k * taps * taps * c // groups + n * p * q * k)

    def one():
        x = torch.randn(n, c, h, w, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)
        f = torch.randn(k, c // groups, taps, taps, device="cuda", dtype=dtype)
        return x, f.to(memory_format=torch.channels_last)

    def call(x, f):
        return torch.nn.functional.conv2d(x, f, None, stride, padding, dilation, groups)

    inputs = [one() for _ in range(measure.count_sets(moved))]
    x, f = inputs[0]
    got, want = call(x, f)[:1].double(), call(x[:1].double(), f.double())
    if not got.is_contiguous(memory_format=torch.channels_last) or ((got - want).norm() / want.norm()).item() > 6e-3:
        print("cudnn %s %s: wrong result, or channels are not innermost" % (name, kind), file=sys.stderr)
        return None, flops, moved
    return measure.Candidate("cudnn", lambda s: call(*inputs[s]), len(inputs)), flops, moved


def convolutions(options):
    import torch
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.benchmark_limit = 0  # all that there are
    torch.backends.cudnn.allow_tf32 = False
    out = []
    for name in options.conv.split(","):
        for n, h, w, c, k in measure.sizes(options.sizes):
            found, flops, moved = convolution(name, options.types.split(",")[0], n, h, w, c, k)
            if found:
                modes = [mode for mode in measure.ROUNDS if options.mode in (mode, "both")]
                measure.measure([found], modes, options.rounds)
                out += measure.rows(name, {"N": n, "H": h, "W": w, "C": c, "K": k}, [found], flops, moved)
            del found
            torch.cuda.empty_cache()
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", default="bf16", help=", ".join(TYPES))
    parser.add_argument("--mode", default="both", choices=["burst", "sustained", "both"])
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--conv", metavar="KERNEL,...", help=", ".join(CONVOLUTIONS))
    parser.add_argument("sizes", nargs="+", metavar="M,N,K")
    options = parser.parse_args()
    if options.conv:
        out = convolutions(options)
        measure.print_rows(out)
        return 0 if out else 1
    import torch
    torch.backends.cuda.matmul.allow_tf32 = True
    out = []
    for m, n, k in measure.sizes(options.sizes):
        for kind in options.types.split(","):
            try:
                found, moved = candidates(kind, m, n, k, options.compile)
            except (RuntimeError, AttributeError, NotImplementedError) as error:
                print("torch %s %d,%d,%d: %s" % (kind, m, n, k, str(error).splitlines()[0]), file=sys.stderr)
                continue
            measure.measure(found, [mode for mode in measure.ROUNDS if options.mode in (mode, "both")], options.rounds)
            out += measure.rows(TYPES[kind], {"M": m, "N": n, "K": k}, found, 2.0 * m * n * k, moved)
            del found
            torch.cuda.empty_cache()
    measure.print_rows(out)
    return 0 if out else 1


if __name__ == "__main__":
    sys.exit(main())
