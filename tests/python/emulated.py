"""Kernels through their modules on the emulator, exactly: whole numbers in all that is summed."""
import array
import sys

import fake_gpu
from lab import *

driver = fake_gpu.emulator(sys.argv[1])


def bf16(values):
    """Whole numbers below 256 in size, whose upper 16 bits of fp32 are all of them."""
    words = array.array("f", values).tobytes()
    return b"".join(words[i + 2:i + 4] for i in range(0, len(words), 4))


def on_device(shape, data, code=FLOAT, bits=32):
    return tensor(shape, code, bits, data=fake_gpu.upload(data))


def floats(one, count):
    values = array.array("f")
    values.frombytes(fake_gpu.download(fake_gpu.read(one)[0], 4 * count))
    return list(values)


poison = b"\xff"
if sys.argv[1] == "sm_90a":
    import py_gemm
    import py_split
    py_gemm.load(driver)
    py_split.load(driver)
    M, N, K = 40, 48, 136
    a = [(7 * i) % 11 - 5 for i in range(M * K)]
    b = [(5 * i) % 9 - 4 for i in range(N * K)]
    bias = [n % 4 for n in range(N)]
    product = [sum(a[m * K + k] * b[n * K + k] for k in range(K)) for m in range(M) for n in range(N)]
    A, B = on_device((M, K), bf16(a), BFLOAT, 16), on_device((N, K), bf16(b), BFLOAT, 16)
    D = on_device((M, N), poison * (4 * M * N))
    py_gemm.py_gemm(A, B, on_device((N,), array.array("f", bias).tobytes()), D, alpha=0.5)
    expected = [0.5 * product[i] + bias[i % N] for i in range(M * N)]
    check(floats(D, M * N) == expected, "py_gemm: every element of the product")

    # Sums of 2 blocks that meet in a workspace: the stream's own, and one that is given, twice each.
    narrow = [float(x) for x in product]
    for name, workspace in (("the emulator's", None), ("a given one", on_device((1 << 18,), bytes(1 << 18), UINT, 8))):
        for turn in range(2):
            D = on_device((M, N), poison * (2 * M * N), BFLOAT, 16)
            py_split.py_split(A, B, D, workspace=workspace)
            got = array.array("f", b"".join(b"\0\0" + fake_gpu.download(fake_gpu.read(D)[0], 2 * M * N)[i:i + 2]
                                            for i in range(0, 2 * M * N, 2)))
            worst = max(abs(x - y) / max(abs(y), 1) for x, y in zip(got, narrow))
            check(worst <= 2 ** -8, "py_split with %s workspace, turn %d" % (name, turn), worst)
    # Windows of 3 by 3 with a border of 1.
    import py_conv
    py_conv.load(driver)
    H, W, C, F = 4, 5, 64, 8
    x = [(5 * i) % 7 - 3 for i in range(H * W * C)]
    f = [(3 * i) % 5 - 2 for i in range(F * 9 * C)]
    Y = on_device((H * W, F), poison * (2 * H * W * F), BFLOAT, 16)
    py_conv.py_conv(on_device((1, H, W, C), bf16(x), BFLOAT, 16), on_device((F, 3, 3, C), bf16(f), BFLOAT, 16), Y)
    sums = [float(sum(x[((p + r - 1) * W + q + s - 1) * C + c] * f[((k * 3 + r) * 3 + s) * C + c]
                      for r in range(3) for s in range(3) for c in range(C)
                      if 0 <= p + r - 1 < H and 0 <= q + s - 1 < W))
            for p in range(H) for q in range(W) for k in range(F)]
    got = array.array("f", b"".join(b"\0\0" + fake_gpu.download(fake_gpu.read(Y)[0], 2 * H * W * F)[i:i + 2]
                                    for i in range(0, 2 * H * W * F, 2)))
    worst = max(abs(a - b) / max(abs(b), 1) for a, b in zip(got, sums))
    check(worst <= 2 ** -8, "py_conv: every pixel", worst)

    small = on_device((64,), bytes(64), UINT, 8)
    try:
        py_split.py_split(A, B, D, workspace=small)
        check(False, "a workspace that is too small")
    except ValueError as fault:
        check("argument 'workspace': 64 bytes" in str(fault), "a workspace that is too small", fault)

    # Three products of matrices that lie here and there.
    import py_pointers
    py_pointers.load(driver)
    P, M, N, K = 3, 20, 24, 72
    values = [[[(7 * i + 3 * p + of) % 11 - 5 for i in range(rows * K)] for p in range(P)]
              for of, rows in ((0, M), (1, N))]
    places = [[fake_gpu.upload(bf16(one)) for one in reversed(of)][::-1] for of in values]
    places.append([fake_gpu.upload(poison * (4 * M * N)) for _ in range(P)])
    A, B, D = (on_device((P,), array.array("q", of).tobytes(), code, 64)
               for of, code in zip(places, (INT, UINT, INT)))
    py_pointers.py_pointers(A, B, D, M=M, N=N, K=K)
    for p in range(P):
        got = array.array("f", fake_gpu.download(places[2][p], 4 * M * N))
        a, b = values[0][p], values[1][p]
        check(list(got) == [float(sum(a[m * K + k] * b[n * K + k] for k in range(K)))
                            for m in range(M) for n in range(N)], "py_pointers: every element of product %d" % p)
else:
    import py_rows
    py_rows.load(driver)
    P, C, R = 3, 70, 9
    x = [(3 * i) % 13 for i in range(4 * P * C)]
    X = on_device((4 * P, C), array.array("f", x).tobytes())
    Y = on_device((4 * P, C), array.array("f", [-1.0] * (4 * P * C)).tobytes())
    total = on_device((C,), array.array("f", [1000.0] * C).tobytes())
    got = py_rows.py_rows(X, total, Y, f=0.5, a=0, b=0, n=-7, u=255, big=2 ** 20, R=R)
    check(got == (total, Y), "py_rows: it returns what it writes")
    y = floats(Y, 4 * P * C)
    check(y[:R * C] == [0.5 * x[i] - 7 + 255 + 2 ** 20 for i in range(R * C)], "py_rows: rows, with scalars", y[:4])
    check(all(v == -1.0 for v in y[R * C:]), "py_rows: rows that a size leaves out")
    check(floats(total, C) == [1000.0 + sum(x[r * C + c] for r in range(R)) for c in range(C)],
          "py_rows: what is added to")
    words = dict(f=1, a=0, b=0, n=1, u=1, big=1, R=R)
    for name, value, text in (("n", 2 ** 31, "-2147483648 to 2147483647"), ("u", -1, "0 to 255"),
                              ("u", 256, "0 to 255"), ("n", 1.5, "whole number"),
                              ("big", 2 ** 63, "9223372036854775807"),
                              ("R", -1, "0 to"),
                              ("R", 2 ** 40, "R is 1099511627776"), ("u", "x", "'x'")):
        try:
            py_rows.py_rows(X, total, Y, **dict(words, **{name: value}))
            check(False, "py_rows: %s of %r" % (name, value))
        except ValueError as fault:
            check(text in str(fault), "py_rows: %s of %r" % (name, value), fault)
    try:
        py_rows.py_rows(tensor((7, 70), FLOAT, 32), total, **words)
        check(False, "py_rows: an extent that is no multiple")
    except ValueError as fault:
        check("argument 'x' (position 1): dimension 0 has 7 elements, no multiple of 4" in str(fault),
              "py_rows: an extent that is no multiple", fault)
    check(type(py_rows.py_rows(X, total, **words)) is tuple if fake_gpu.make(Tensor) else True, "py_rows: made")
end()
