"""Attention forward in TileLang, as its users write it: tiles, copies, gemms and reductions in order, a loop that
T.Pipelined makes stages of. derived.py --tilelang times it. Needs the packages tilelang, apache-tvm-ffi,
torch-c-dlpack-ext and z3-solver, and nvcc."""
import concurrent.futures
import multiprocessing
import os
import sys

TILES = [(128, 128, 2, 256), (128, 128, 1, 256), (128, 64, 3, 256), (192, 128, 2, 384)]  # rows of Q, of K, stages, threads


def make(batch, sequence, heads, size, causal, rows, columns, stages, threads):
    import tilelang
    import tilelang.language as T
    scale, shape, half, full = size ** -0.5 * 1.4426950408889634, [batch, sequence, heads, size], "bfloat16", "float32"

    @tilelang.jit(pass_configs={tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: True})
    def attention():
        @T.prim_func
        def main(Q: T.Tensor(shape, half), K: T.Tensor(shape, half), V: T.Tensor(shape, half), O: T.Tensor(shape, half)):
            with T.Kernel(T.ceildiv(sequence, rows), heads, batch, threads=threads) as (item, head, b):
                q, k = T.alloc_shared([rows, size], half), T.alloc_shared([columns, size], half)
                v, out = T.alloc_shared([columns, size], half), T.alloc_shared([rows, size], half)
                s, p = T.alloc_fragment([rows, columns], full), T.alloc_fragment([rows, columns], half)
                o = T.alloc_fragment([rows, size], full)
                most, before = T.alloc_fragment([rows], full), T.alloc_fragment([rows], full)
                factor, part = T.alloc_fragment([rows], full), T.alloc_fragment([rows], full)
                total = T.alloc_fragment([rows], full)
                # The longest items first.
                at = (T.ceildiv(sequence, rows) - 1 - item) if causal else item
                T.copy(Q[b, at * rows:(at + 1) * rows, head, :], q)
                T.fill(o, 0)
                T.fill(total, 0)
                T.fill(most, -T.infinity(full))
                turns = (T.min(T.ceildiv(sequence, columns), T.ceildiv((at + 1) * rows, columns)) if causal
                         else T.ceildiv(sequence, columns))
                for turn in T.Pipelined(turns, num_stages=stages):
                    T.copy(K[b, turn * columns:(turn + 1) * columns, head, :], k)
                    if causal:
                        for i, j in T.Parallel(rows, columns):
                            s[i, j] = T.if_then_else(at * rows + i >= turn * columns + j, 0, -T.infinity(full))
                    else:
                        T.clear(s)
                    T.gemm(q, k, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                    T.copy(most, before)
                    T.fill(most, -T.infinity(full))
                    T.reduce_max(s, most, dim=1, clear=False)
                    for i in T.Parallel(rows):
                        most[i] = T.max(most[i], before[i])
                    for i in T.Parallel(rows):
                        factor[i] = T.exp2(before[i] * scale - most[i] * scale)
                    for i, j in T.Parallel(rows, columns):
                        s[i, j] = T.exp2(s[i, j] * scale - most[i] * scale)
                    T.reduce_sum(s, part, dim=1)
                    for i in T.Parallel(rows):
                        total[i] = total[i] * factor[i] + part[i]
                    T.copy(s, p)
                    for i, j in T.Parallel(rows, size):
                        o[i, j] *= factor[i]
                    T.copy(V[b, turn * columns:(turn + 1) * columns, head, :], v)
                    T.gemm(p, v, o, policy=T.GemmWarpPolicy.FullRow)
                for i, j in T.Parallel(rows, size):
                    o[i, j] /= total[i]
                T.copy(o, out)
                T.copy(out, O[b, at * rows:(at + 1) * rows, head, :])

        return main

    return attention()


def right(kernel, batch, sequence, heads, size, causal):
    """Largest difference from torch's of a launch, over the largest value: bf16 leaves some thousandths."""
    import torch
    q, k, v = (torch.randn(batch, sequence, heads, size, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    o = torch.full_like(q, float("nan"))
    kernel(q, k, v, o)
    want = torch.nn.functional.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), is_causal=causal)
    return ((o - want.transpose(1, 2)).norm() / want.norm()).item() < 8e-3


def compiled(task):
    shape, tile = task
    try:
        make(*shape, *tile)
        return None
    except Exception as error:  # a tile that does not fit is no candidate
        return f"{shape} {tile}: {str(error).strip().splitlines()[-1][:200] if str(error).strip() else type(error)}"


def kernels(shapes):
    """By (sequence, causal): candidates by name, those that are right. Shapes: batch, sequence, heads, size, causal."""
    tasks = [(shape, tile) for shape in shapes for tile in TILES]
    workers = min(len(tasks), max(1, (os.cpu_count() or 2) - 2))
    found = {}
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, spawn) as pool:  # into TileLang's cache on disk
        for said in pool.map(compiled, tasks):
            if said:
                print("tilelang:", said, file=sys.stderr)
    for shape, tile in tasks:
        try:
            kernel = make(*shape, *tile)
            good = right(kernel, *shape)
        except Exception as error:
            print(f"tilelang: {shape} {tile}: {type(error).__name__}", file=sys.stderr)
            continue
        if good:
            found.setdefault((shape[1], shape[4]), {})["tilelang " + " ".join(map(str, tile))] = kernel
        else:
            print(f"tilelang: {shape} {tile}: wrong result", file=sys.stderr)
    return found
