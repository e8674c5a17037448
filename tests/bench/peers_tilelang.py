#!/usr/bin/env python3
"""D = A B^T of bf16 in TileLang, as its users write it, over a list of tiles, timed as `tilewright bench` times its
own, as the same JSON rows, with the seconds that each kernel took to compile. Needs the packages tilelang, apache-tvm-ffi,
torch-c-dlpack-ext and z3-solver beside torch, and nvcc.

    python3 tests/bench/peers_tilelang.py [--mode burst] [--all] M,N,K... >rows.json

Every tile that compiles and is right is timed in bursts; the fastest is the row "tilelang". --all: each has a row of
its own, named by its tile.
"""
import argparse
import statistics
import sys
import time

import measure

# Rows, columns, depth, stages, threads.
TILES = [(128, 256, 64, 3, 384), (128, 256, 64, 3, 256), (128, 128, 64, 4, 256), (128, 128, 64, 3, 128),
         (256, 128, 64, 3, 256), (64, 128, 64, 4, 128), (64, 64, 64, 4, 128), (64, 256, 64, 3, 128)]


def make(m, n, k, rows, columns, depth, stages, threads):
    import tilelang
    import tilelang.language as T
    half, full = "bfloat16", "float32"

    @tilelang.jit
    def product():
        @T.prim_func
        def main(A: T.Tensor((m, k), half), B: T.Tensor((n, k), half), D: T.Tensor((m, n), half)):
            with T.Kernel(T.ceildiv(n, columns), T.ceildiv(m, rows), threads=threads) as (x, y):
                a, b = T.alloc_shared((rows, depth), half), T.alloc_shared((columns, depth), half)
                d, s = T.alloc_shared((rows, columns), half), T.alloc_fragment((rows, columns), full)
                T.use_swizzle(panel_size=10)
                T.clear(s)
                for turn in T.Pipelined(T.ceildiv(k, depth), num_stages=stages):
                    T.copy(A[y * rows, turn * depth], a)
                    T.copy(B[x * columns, turn * depth], b)
                    T.gemm(a, b, s, transpose_B=True)
                T.copy(s, d)
                T.copy(d, D[y * rows, x * columns])

        return main

    return product()


def right(kernel, a, b, d):
    d.fill_(float("nan"))
    kernel(a, b, d)
    want = a[:64].double() @ b.double().t()
    return bool(((d[:64].double() - want).norm() / want.norm()) <= 6e-3) and not bool(d.isnan().any())


def candidates(m, n, k, moved):
    import torch
    count = measure.count_sets(moved)
    inputs = [tuple(torch.randn(*shape, device="cuda", dtype=torch.bfloat16) for shape in ((m, k), (n, k), (m, n)))
              for _ in range(count)]
    for tile in TILES:
        name = "tilelang " + " ".join(map(str, tile))
        begin = time.monotonic()
        try:
            kernel = make(m, n, k, *tile)
            seconds = time.monotonic() - begin
            if not right(kernel, *inputs[0]):
                print("%s: wrong result" % name, file=sys.stderr)
                continue
            yield measure.Candidate(name, lambda s, kernel=kernel: kernel(*inputs[s]), count, compilation_time=seconds)
        except Exception as error:  # a tile that does not fit is no candidate
            print("%s: %s" % (name, (str(error).strip().splitlines() or [type(error)])[-1]), file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", default="both", choices=["burst", "sustained", "both"])
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("sizes", nargs="+", metavar="M,N,K")
    options = parser.parse_args()
    out = []
    for m, n, k in measure.sizes(options.sizes):
        moved = 2 * (m * k + n * k + m * n)
        found = list(candidates(m, n, k, moved))
        if found and not options.all:
            measure.measure(found, ["burst"], 3)
            best = min(found, key=lambda c: statistics.median(c.seconds["burst"]))
            print("%s is the fastest of %d" % (best.backend, len(found)), file=sys.stderr)
            best.backend, best.seconds["burst"], best.clocks["burst"] = "tilelang", [], []
            found = [best]
        measure.measure(found, [mode for mode in measure.ROUNDS if options.mode in (mode, "both")], options.rounds)
        out += measure.rows("gemm_bf16", {"M": m, "N": n, "K": k}, found, 2.0 * m * n * k, moved)
    measure.print_rows(out)
    return 0 if out else 1


if __name__ == "__main__":
    sys.exit(main())
