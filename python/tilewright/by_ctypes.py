"""Tensor maps by ctypes, where the extension (python/maps.c) was not built; it says the same of what is wrong."""
import ctypes
import operator

from .library import MapWords, TensorView, call, library

SWIZZLES = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
PROMOTIONS = {"none": 0, "64B": 1, "128B": 2, "256B": 3}
MODES = {"W": 0, "W128": 1}
TILED, IM2COL, IM2COL_WIDE = range(3)
_codes = {"f2": "fp16", "f4": "fp32", "f8": "fp64", "i1": "int8", "u1": "uint8", "i2": "int16", "u2": "uint16",
          "i4": "int32", "u4": "uint32", "i8": "int64", "u8": "uint64", "b1": "bool", "V2": "bf16", "V1": "uint8"}


def _number(value, least, most, name):
    value = operator.index(value)
    if not least <= value <= most:
        raise ValueError("%s: %r is no number of %d to %d" % (name, value, least, most))
    return value


def _by_interface(table):
    view, shape = TensorView(), tuple(table["shape"])
    if len(shape) > 8:
        raise ValueError("a tensor of %d dimensions; a map has 5 at most" % len(shape))
    if table.get("mask") is not None:
        raise ValueError("the tensor has a mask, which no tensor map knows")
    name = _codes.get(table["typestr"][1:])
    if name is None:
        raise ValueError("no tensor map holds elements of typestr %r" % (table["typestr"],))
    size, step, strides = int(table["typestr"][2:]), 1, table.get("strides")
    view.dtype, view.rank = library().tilewright_dtype(name.encode()), len(shape)
    view.address = _number(table["data"][0], 0, 2 ** 64 - 1, "data")
    view.device_type, view.device, view.read_only = 2, -1, bool(table["data"][1])
    given = bool(strides)
    for d in reversed(range(len(shape))):
        view.shape[d] = _number(shape[d], -2 ** 63, 2 ** 63 - 1, "shape")
        view.stride[d] = step
        if given:
            stride = _number(strides[d], -2 ** 63, 2 ** 63 - 1, "strides")
            if stride % size:
                raise ValueError("a stride of %d bytes is no multiple of its elements' %d" % (stride, size))
            view.stride[d] = stride // size
        step *= max(view.shape[d], 1)
    return view


def _view(tensor):
    """What DLPack says of the tensor, and what keeps that alive."""
    if not hasattr(tensor, "__dlpack__"):
        if not hasattr(tensor, "__cuda_array_interface__"):
            raise TypeError("%r is no tensor: it has neither __dlpack__ nor __cuda_array_interface__" % type(tensor))
        return _by_interface(tensor.__cuda_array_interface__), tensor
    try:
        capsule = tensor.__dlpack__(max_version=(1, 1))
    except TypeError:
        capsule = tensor.__dlpack__()
    api, view = ctypes.pythonapi, TensorView()
    api.PyCapsule_IsValid.argtypes = api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    versioned = bool(api.PyCapsule_IsValid(capsule, b"dltensor_versioned"))
    pointer = api.PyCapsule_GetPointer(capsule, b"dltensor_versioned" if versioned else b"dltensor")
    call("tilewright_tensor_of", ctypes.c_void_p(pointer), int(versioned), ctypes.byref(view))
    return view, (tensor, capsule)


def _word(table, value, what):
    if value not in table:
        raise ValueError("%s %r: write one of %s" % (what, value, ", ".join(table)))
    return table[value]


class TensorMap:
    """The 128 bytes of a CUtensorMap, at a multiple of 64: bytes(map), or map.pointer for a launcher that takes an
    address. It keeps its tensor alive (map.source), and knows its device (map.device; None: not told).

    box: elements that one copy moves, outermost dimension first, as in the tensor's shape. step: elements from one that
    is loaded to the next. Of a map for im2col (lower, upper: corners of the box of pixels, W first) channels and pixels
    stand in the place of the box; wide, "W" or "W128", makes it one of im2col-wide, whose corners are of W alone.
    A ValueError says which rule is broken, and what would do.
    """

    def __init__(self, tensor, box=None, *, step=None, swizzle="none", l2="none", nan=False, lower=None, upper=None,
                 channels=0, pixels=0, capability=90, wide=None):
        words = MapWords(oob=bool(nan), func=TILED if lower is None else IM2COL)
        words.swizzle, words.l2 = _word(SWIZZLES, swizzle, "swizzle"), _word(PROMOTIONS, l2, "l2")
        if wide is not None:
            words.func, words.mode = IM2COL_WIDE, _word(MODES, wide, "wide")
        words.channels = _number(channels, 0, 2 ** 32 - 1, "channels")
        words.pixels = _number(pixels, 0, 2 ** 32 - 1, "pixels")
        words.capability = _number(capability, 0, 999, "capability")
        view, source = _view(tensor)
        corners = min(view.rank - 2, 3 if wide is None else 1)
        for name, values, most in (("box", box, min(view.rank, 5)), ("step", step, min(view.rank, 5)),
                                   ("lower", lower, corners), ("upper", upper, corners)):
            to, values = getattr(words, name), tuple(values) if values else ()
            if len(values) > max(most, 0):
                raise ValueError("%s has %d entries; of a tensor of %d dimensions it has %d at most" % (
                    name, len(values), view.rank, max(most, 0)))
            least, most = (-2 ** 31, 2 ** 31 - 1) if name in ("lower", "upper") else (0, 2 ** 32 - 1)
            for i, value in enumerate(values):
                to[i] = _number(value, least, most, name)
        room = ctypes.create_string_buffer(128 + 64)
        pointer = (ctypes.addressof(room) + 63) // 64 * 64
        call("tilewright_map", ctypes.byref(view), ctypes.byref(words), ctypes.c_void_p(pointer))
        self._room, self.pointer, self.source, self._form = room, pointer, source, self._form_of(view)
        self.device = view.device if view.device >= 0 else None

    @staticmethod
    def _form_of(view):
        return view.dtype, view.rank, view.shape[:view.rank], view.stride[:view.rank], view.device_type, view.device

    def replace_address(self, tensor):
        """The same map for another tensor of the same shape, strides, type and device."""
        view, source = _view(tensor)
        if self._form_of(view) != self._form:
            raise ValueError("the tensor has another shape, stride, type or device than the map's")
        call("tilewright_map_replace", ctypes.c_void_p(self.pointer), ctypes.c_uint64(view.address))
        self.source = source

    def __bytes__(self):
        return ctypes.string_at(self.pointer, 128)
