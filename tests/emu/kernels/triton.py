"""The kernels of triton_*.ptx: python3 triton.py FOLDER, with Triton 3.5.0; needs no GPU."""
import sys

import triton
import triton.language as tl
from triton.compiler import ASTSource
from triton.backends.compiler import GPUTarget

@triton.jit
def softmax_rows(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + at, mask=at < columns, other=-float('inf'))
    v = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * columns + at, v / tl.sum(v, axis=0), mask=at < columns)

@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for t in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (t + k)[None, :], mask=(m < M)[:, None], other=0.0)
        y = tl.load(b + (t + k)[:, None] * N + n[None, :], mask=(n < N)[None, :], other=0.0)
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])

@triton.jit
def histogram_scan(x, bins, sums, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.store(sums + at, tl.cumsum(v, axis=0), mask=at < n)
    tl.atomic_add(bins + (v & 7), 1, mask=at < n)


def make(fn, sig, const, name, warps, cap):
    src = ASTSource(fn=fn, signature=sig, constexprs=const)
    k = triton.compile(src, target=GPUTarget('cuda', cap, 32), options={'num_warps': warps, 'num_stages': 2})
    with open('%s/triton_%s.ptx' % (sys.argv[1], name), 'w') as out:
        out.write(k.asm['ptx'])


make(softmax_rows, {'x': '*fp32', 'y': '*fp32', 'columns': 'i32', 'BLOCK': 'constexpr'}, {'BLOCK': 256}, 'softmax', 4, 90)
make(matmul, {'a': '*fp16', 'b': '*fp16', 'c': '*fp32', 'M': 'i32', 'N': 'i32', 'K': 'i32', 'BM': 'constexpr', 'BN': 'constexpr', 'BK': 'constexpr'}, {'BM': 64, 'BN': 32, 'BK': 32}, 'matmul', 4, 90)
make(matmul, {'a': '*fp16', 'b': '*fp16', 'c': '*fp32', 'M': 'i32', 'N': 'i32', 'K': 'i32', 'BM': 'constexpr', 'BN': 'constexpr', 'BK': 'constexpr'}, {'BM': 32, 'BN': 32, 'BK': 32}, 'matmul80', 2, 80)
make(histogram_scan, {'x': '*i32', 'bins': '*i32', 'sums': '*i32', 'n': 'i32', 'BLOCK': 'constexpr'}, {'BLOCK': 256}, 'scan', 4, 90)
