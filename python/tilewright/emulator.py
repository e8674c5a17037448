"""Tensors in the memory of the emulator, which kernels of this process share."""
import array as _array
import ctypes
import math
import struct

from .library import call, library, lock

_typestr = {"bf16": "<V2", "fp16": "<f2", "fp32": "<f4", "fp64": "<f8", "int8": "|i1", "uint8": "|u1", "int16": "<i2",
            "uint16": "<u2", "int32": "<i4", "uint32": "<u4", "int64": "<i8", "uint64": "<u8", "bool": "|b1",
            "fp8_e4m3": "|V1", "fp8_e5m2": "|V1"}
_format = {"fp16": "e", "fp32": "f", "fp64": "d", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i",
           "uint32": "I", "int64": "q", "uint64": "Q", "bool": "?"}
_names = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "float64": "fp64", "float8_e4m3fn": "fp8_e4m3",
          "float8_e5m2": "fp8_e5m2"}
_driver = None
_arch = None


def capsule(arch=None):
    """The emulator's entry points, as NAME_python.c takes them; the emulator is that of the first call."""
    global _driver, _arch
    with lock:
        if _driver is None:
            _arch = (arch or "sm_90a").split(",")[0]
            call("tilewright_emulator_open", _arch.encode())
            make = ctypes.pythonapi.PyCapsule_New
            make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
            _driver = make(library().tilewright_emulator_driver(), b"tilewright.driver", None)
        elif arch and _arch not in arch.split(","):
            raise ValueError("the emulator of this process is %s, and not %s" % (_arch, arch))
        call("tilewright_emulator_enter")
        return _driver


def _bf16(value):
    """The nearest one, of equals the even one: rounded once."""
    value = float(value)
    if value != value:
        return 0x7fc0
    sign, value = (0x8000 if math.copysign(1, value) < 0 else 0), abs(value)
    exponent = max(math.frexp(value)[1] - 1, -126) if value else -126
    if exponent > 127 or value == math.inf:
        return sign | 0x7f80
    units = round(math.ldexp(value, 7 - exponent))  # 2^7 to 2^8, or less where it is subnormal
    return sign | min((exponent + 126 << 7) + units, 0x7f80)


class Tensor:
    """Dense rows in the emulator's memory. tolist, bytes and numpy copy what it holds."""

    def __init__(self, shape, dtype, data=None):
        self.shape, self.dtype = tuple(shape), _names.get(dtype, dtype)
        if self.dtype not in _typestr:
            raise ValueError("dtype %r: write one of %s" % (dtype, ", ".join(_typestr)))
        self._bytes = int(_typestr[self.dtype][2:])
        for extent in self.shape:
            if extent < 0:
                raise ValueError("shape %r: extents are 0 or more" % (self.shape,))
            self._bytes *= extent
        if data is not None and len(data) != self._bytes:
            raise ValueError("%d bytes for a tensor of %d" % (len(data), self._bytes))
        self._address = ctypes.c_uint64()
        capsule()
        call("tilewright_alloc", ctypes.c_uint64(max(self._bytes, 1)), ctypes.byref(self._address))
        if data:
            call("tilewright_upload", self._address, bytes(data), ctypes.c_uint64(self._bytes))

    def __del__(self):
        if getattr(self, "_address", None) and self._address.value:
            with lock:
                library().tilewright_free(self._address)

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": _typestr[self.dtype], "data": (self._address.value, False),
                "strides": None, "stream": None, "version": 3}

    def bytes(self):
        data = ctypes.create_string_buffer(max(self._bytes, 1))
        if self._bytes:
            call("tilewright_download", data, self._address, ctypes.c_uint64(self._bytes))
        return data.raw[:self._bytes]

    def tolist(self):
        """Numbers, in lists as the shape says; fp8 as bytes."""
        data, count = self.bytes(), 1
        for extent in self.shape:
            count *= extent
        if self.dtype == "bf16":
            data, form = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2)), "f"
        else:
            form = _format.get(self.dtype, "B")
        flat = list(struct.unpack("<%d%s" % (count, form), data))
        for d in reversed(range(1, len(self.shape))):
            extent = self.shape[d]
            flat = [flat[i * extent:(i + 1) * extent] for i in range(math.prod(self.shape[:d]))]
        return flat if self.shape else flat[0]

    def numpy(self):
        """An array of NumPy's; bf16 as float32, fp8 as uint8."""
        import numpy
        if self.dtype == "bf16":
            words = numpy.frombuffer(self.bytes(), "<u2").astype("<u4") << 16
            return words.view("<f4").reshape(self.shape)
        return numpy.frombuffer(self.bytes(), _typestr[self.dtype].replace("V", "u")).reshape(self.shape).copy()

    def __repr__(self):
        return "<tensor %s %r of the emulator>" % (self.dtype, self.shape)


def empty(shape, dtype="fp32"):
    """A tensor whose elements are anything: the emulator tells of a kernel that reads one before it is written."""
    return Tensor(shape, dtype)


def _flatten(values, shape, depth=0):
    if not hasattr(values, "__len__"):
        return [values]
    if depth == len(shape):
        shape.append(len(values))
    if len(values) != shape[depth]:
        raise ValueError("rows of %d and of %d elements" % (shape[depth], len(values)))
    return [one for row in values for one in _flatten(row, shape, depth + 1)]


def array(values, dtype="fp32"):
    """A tensor of these numbers: lists of them in lists, or an array of NumPy's."""
    dtype = _names.get(dtype, dtype)
    if hasattr(values, "tolist"):
        values = values.tolist()
    shape = []
    flat = _flatten(values, shape)
    if dtype == "bf16":
        data = _array.array("H", (_bf16(one) for one in flat)).tobytes()
    elif dtype in _format:
        data = struct.pack("<%d%s" % (len(flat), _format[dtype]), *flat)
    elif dtype in _typestr:
        data = bytes(flat)
    else:
        raise ValueError("dtype %r: write one of %s" % (dtype, ", ".join(_typestr)))
    return Tensor(shape, dtype, data)
