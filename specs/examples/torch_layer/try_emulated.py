"""try_emulated.py FOLDER: the ctypes side on the emulator, with the shared objects of FOLDER and no torch: kernel.py
against double precision, and what it refuses."""

import array
import ctypes
import math
import random
import sys

from kernel import Kernel, KernelError


def to_bf16(x):
    bits = int.from_bytes(array.array("f", [x]).tobytes(), sys.byteorder)
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def from_bf16(x):
    return array.array("f", (x << 16).to_bytes(4, sys.byteorder))[0]


class Emulated:
    """What torch is on a GPU: memory."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.emulated_open.restype = ctypes.c_void_p
        self.library.emulated_why.restype = ctypes.c_char_p
        self.library.emulated_alloc.restype = ctypes.c_uint64
        self.library.emulated_alloc.argtypes = [ctypes.c_size_t]
        self.library.emulated_upload.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]
        self.library.emulated_download.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t]
        self.driver = self.library.emulated_open()
        self.check(self.driver)

    def check(self, good):
        if not good:
            raise RuntimeError(self.library.emulated_why().decode())

    def put(self, words):
        """The address of a copy of these bf16 words."""
        data = (ctypes.c_uint16 * len(words))(*words)
        address = self.library.emulated_alloc(2 * len(words))
        self.check(address)
        self.check(not self.library.emulated_upload(address, data, 2 * len(words)))
        return address

    def get(self, address, count):
        data = (ctypes.c_uint16 * count)()
        self.check(not self.library.emulated_download(data, address, 2 * count))
        return list(data)


def compare(gpu, kernel, rows, out, inside, pad):
    """One launch, with rows of x and y that are `pad` elements apart from the next."""
    def words(count):
        return [to_bf16(random.uniform(-1, 1)) for _ in range(count)]

    x, weight, bias = words(rows * (inside + pad)), words(out * inside), words(out)
    y = gpu.put([0x7FC0] * (rows * (out + pad)))
    kernel.run(gpu.put(x), inside + pad, gpu.put(weight), gpu.put(bias), y, out + pad, rows, out, inside, None)
    got = [from_bf16(v) for v in gpu.get(y, rows * (out + pad))]
    x, weight, bias = ([from_bf16(v) for v in list_] for list_ in (x, weight, bias))
    off = norm = 0
    for r in range(rows):
        row = x[r * (inside + pad):r * (inside + pad) + inside]
        for o in range(out):
            s = bias[o] + sum(a * b for a, b in zip(row, weight[o * inside:(o + 1) * inside]))
            want = s / 2 * (1 + math.erf(s / 2 ** 0.5))
            off += (got[r * (out + pad) + o] - want) ** 2
            norm += want ** 2
        assert all(math.isnan(v) for v in got[r * (out + pad) + out:(r + 1) * (out + pad)]), "padding was written"
    error = (off / norm) ** 0.5
    print(f"{rows} x {out} x {inside}, padded by {pad}: error {error:.5f}")
    assert error < 1 / 256


def main(folder):
    random.seed(1)
    gpu = Emulated(folder + "/libemulated.so")
    kernel = Kernel(folder + "/liblinear_gelu.so", gpu.driver)
    compare(gpu, kernel, 33, 72, 136, 0)
    compare(gpu, kernel, 5, 41, 64, 8)
    try:
        kernel.run(gpu.put([0] * 70), 7, gpu.put([0] * 70), gpu.put([0] * 10), gpu.put([0] * 100), 10, 10, 10, 7, None)
    except KernelError as refusal:
        print("refused:", refusal)
    else:
        raise AssertionError("rows of 14 bytes were taken")
    kernel.close()
    gpu.library.emulated_close()


if __name__ == "__main__":
    main(sys.argv[1])
