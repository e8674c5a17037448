#!/usr/bin/env python3
"""torch's products D = A B^T, timed as `tilewright bench` times its own, as the same JSON rows: matmul of bf16, fp16
and tf32, scaled_mm of fp8 (one scale a tensor, one a row), _int_mm of int8; and with --compile what torch.compile makes of
each by trying (max-autotune), with the seconds that takes.

    python3 tests/bench/peers_torch.py [--types bf16,fp8] [--mode burst] [--compile] M,N,K... >rows.json

What a version of torch or a GPU does not have is a line on stderr, and so is a result that is wrong; neither is timed.
"""
import argparse
import sys
import time

import measure

TYPES = {"bf16": "gemm_bf16", "fp16": "gemm_fp16", "tf32": "gemm_tf32", "fp8": "gemm_fp8", "fp8_rows": "gemm_fp8_rows",
         "int8": "gemm_int8"}


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", default="bf16", help=", ".join(TYPES))
    parser.add_argument("--mode", default="both", choices=["burst", "sustained", "both"])
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("sizes", nargs="+", metavar="M,N,K")
    options = parser.parse_args()
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
