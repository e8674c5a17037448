"""build/libtilewright-python.so (python/library.c) by ctypes: the emulator and tensor maps."""
import ctypes
import os
import threading

TEXT = 1024
lock = threading.RLock()
_loaded = None


class TensorView(ctypes.Structure):
    """struct tw_tensor of runtime/tensormap/tensorview.h."""
    _fields_ = [("address", ctypes.c_uint64), ("dtype", ctypes.c_int), ("rank", ctypes.c_uint),
                ("shape", ctypes.c_int64 * 8), ("stride", ctypes.c_int64 * 8), ("device_type", ctypes.c_int),
                ("device", ctypes.c_int), ("context", ctypes.c_void_p), ("read_only", ctypes.c_int)]


class MapWords(ctypes.Structure):
    """struct map_words."""
    _fields_ = [("func", ctypes.c_uint32), ("box", ctypes.c_uint32 * 5), ("step", ctypes.c_uint32 * 5),
                ("lower", ctypes.c_int32 * 3), ("upper", ctypes.c_int32 * 3)] + [
                    (name, ctypes.c_uint32) for name in ("channels", "pixels", "interleave", "swizzle", "l2", "oob",
                                                         "mode", "capability")]


def _find():
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.environ.get("TILEWRIGHT_LIBRARY"), os.path.join(here, "libtilewright-python.so"),
              os.path.join(here, "..", "..", "build", "libtilewright-python.so")]
    for place in places:
        if place and os.path.exists(place):
            return place
    raise RuntimeError("there is no libtilewright-python.so: set TILEWRIGHT_LIBRARY to its path, or build it: "
                       "ninja build/libtilewright-python.so")


def library():
    global _loaded
    with lock:
        if _loaded is None:
            _loaded = ctypes.CDLL(_find())
            _loaded.tilewright_emulator_driver.restype = ctypes.c_void_p
        return _loaded


def call(name, *arguments):
    """A function that returns 0, or what it says as a ValueError."""
    text = ctypes.create_string_buffer(TEXT)
    with lock:
        if getattr(library(), name)(*arguments, text):
            raise ValueError(text.value.decode())
