"""The ctypes side of the layer: addresses and numbers, no torch. linear_gelu.py puts tensors on it."""

import ctypes

WHY = 1000


class KernelError(RuntimeError):
    pass


class Kernel:
    """liblinear_gelu.so, loaded into the calling thread's current CUDA context.

    driver: None, and libcuda.so.1 is opened; or the address of a table of the driver's entry points."""

    def __init__(self, path, driver=None):
        self._library = ctypes.CDLL(path)
        address, number = ctypes.c_void_p, ctypes.c_int64
        why = [ctypes.c_char_p, ctypes.c_size_t]
        self._library.layer_open.argtypes = [ctypes.POINTER(address), address, *why]
        self._library.layer_close.argtypes = [address, *why]
        self._library.layer_run.argtypes = [
            address, address, number, address, address, address, number, number, number, number, address, *why]
        self._layer = ctypes.c_void_p()
        self._call("layer_open", ctypes.byref(self._layer), driver)

    def _call(self, name, *arguments):
        why = ctypes.create_string_buffer(WHY)
        if getattr(self._library, name)(*arguments, why, WHY):
            raise KernelError(why.value.decode())

    def run(self, x, x_stride, weight, bias, y, y_stride, rows, out, inside, stream):
        """y[rows, out] = gelu(x[rows, inside] weight[out, inside]^T + bias[out]), bf16 at device addresses."""
        self._call("layer_run", self._layer, x, x_stride, weight, bias, y, y_stride, rows, out, inside, stream)

    def close(self):
        layer, self._layer = self._layer, ctypes.c_void_p()
        self._call("layer_close", layer)
