# Triton kernels of six kinds on small tensors, those named launched once and held against torch; tests/gpu/record.sh
# records the launches. Whole numbers where sums are to be the same to the last bit.
#   python3 triton_kernels.py add|softmax|norm|product|boxes|attention...
import sys

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def record_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


@triton.jit
def record_softmax(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, at < columns, -float("inf"))
    weights = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + at, weights / tl.sum(weights, 0), at < columns)


@triton.jit
def record_norm(x, scale, shift, out, means, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, inside, 0.0).to(tl.float32)
    mean = tl.sum(values, 0) / columns
    centred = tl.where(inside, values - mean, 0.0)
    rate = 1 / tl.sqrt(tl.sum(centred * centred, 0) / columns + 1e-5)
    result = centred * rate * tl.load(scale + at, inside, 0.0) + tl.load(shift + at, inside, 0.0)
    tl.store(out + row * columns + at, result.to(out.dtype.element_ty), inside)
    tl.store(means + row, mean)


@triton.jit
def record_product(a, b, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        inner = k + tl.arange(0, BK)
        left = tl.load(a + rows[:, None] * K + inner[None, :], (rows[:, None] < M) & (inner[None, :] < K), 0.0)
        right = tl.load(b + inner[:, None] * N + columns[None, :], (inner[:, None] < K) & (columns[None, :] < N), 0.0)
        sums = tl.dot(left, right, sums)
    tl.store(out + rows[:, None] * N + columns[None, :], sums.to(tl.bfloat16),
             (rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def record_boxes(a, b, out, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        sums = tl.dot(a.load([row, k]), b.load([column, k]).T, sums)
    out.store([row, column], sums.to(tl.bfloat16))


@triton.jit
def record_attention(q, k, v, out, S, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1) * S * D
    rows, inner = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    queries = tl.load(q + head + rows[:, None] * D + inner[None, :], rows[:, None] < S, 0.0)
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BM, BN):
        keys = start + tl.arange(0, BN)
        tile = tl.load(k + head + keys[None, :] * D + inner[:, None], keys[None, :] < S, 0.0)
        scores = tl.where(keys[None, :] <= rows[:, None], tl.dot(queries, tile) * scale, -float("inf"))
        now = tl.maximum(most, tl.max(scores, 1))
        weights, keep = tl.exp2(scores - now[:, None]), tl.exp2(most - now)
        values = tl.load(v + head + keys[:, None] * D + inner[None, :], keys[:, None] < S, 0.0)
        sums = tl.dot(weights.to(tl.bfloat16), values, sums * keep[:, None])
        total, most = total * keep + tl.sum(weights, 1), now
    tl.store(out + head + rows[:, None] * D + inner[None, :], (sums / total[:, None]).to(tl.bfloat16), rows[:, None] < S)


def held(name, found, right, allowed):
    error = (found.double() - right.double()).abs().max().item()
    print(name, "right" if error <= allowed else f"WRONG by {error}")


def whole(*shape):
    return torch.randint(-3, 4, shape, device="cuda").to(torch.bfloat16)


def unwritten(*shape, dtype=torch.float32):
    return torch.full(shape, float("nan"), device="cuda", dtype=dtype)


def add():
    x, y = torch.randn(2, 3000, device="cuda")
    out = unwritten(3000)
    record_add[(triton.cdiv(3000, 1024),)](x, y, out, 3000, BLOCK=1024)
    return out, x + y, 0


def softmax():
    x, out = torch.randn(9, 781, device="cuda"), unwritten(9, 781)
    record_softmax[(9,)](x, out, 781, BLOCK=1024)
    return out, torch.softmax(x.double(), 1), 1e-6


def norm():
    x = torch.randn(11, 1000, device="cuda").half()
    scale, shift = torch.randn(2, 1000, device="cuda")
    out, means = unwritten(11, 1000, dtype=torch.half), unwritten(11)
    record_norm[(11,)](x, scale, shift, out, means, 1000, BLOCK=1024)
    return out, torch.nn.functional.layer_norm(x.double(), (1000,), scale.double(), shift.double()), 0.02


def product():
    a, b, out = whole(200, 160), whole(160, 136), unwritten(200, 136, dtype=torch.bfloat16)
    record_product[(2, 2)](a, b, out, 200, 136, 160, BM=128, BN=128, BK=64)
    return out, a.float() @ b.float(), 2


def boxes():
    a, b, out = whole(256, 192), whole(128, 192), unwritten(256, 128, dtype=torch.bfloat16)
    tensors = [TensorDescriptor.from_tensor(t, [128, n]) for t, n in ((a, 64), (b, 64), (out, 128))]
    record_boxes[(2, 1)](*tensors, 192, BM=128, BN=128, BK=64, num_stages=3)
    return out, a.float() @ b.float().T, 2


def attention():
    q, k, v = torch.randn(3, 2, 150, 64, device="cuda").to(torch.bfloat16)
    out = unwritten(2, 150, 64, dtype=torch.bfloat16)
    record_attention[(triton.cdiv(150, 64), 2)](q, k, v, out, 150, 64 ** -0.5 * 1.4426950408889634, D=64, BM=64, BN=64)
    right = torch.nn.functional.scaled_dot_product_attention(*(t.double() for t in (q, k, v)), is_causal=True)
    return out, right, 0.03


torch.manual_seed(1)
for kind in sys.argv[1:]:
    held(kind, *globals()[kind]())
