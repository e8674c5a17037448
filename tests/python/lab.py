"""What the tests of NAME_python.c share: tensors that are descriptions, and what is said of a call."""
import sys
import fake_gpu

CPU, CUDA, HOST, MANAGED = 1, 2, 3, 13
INT, UINT, FLOAT, BFLOAT, BOOL = 0, 1, 2, 4, 6


class Tensor(fake_gpu.Description):
    """Of a framework that has the C exchange."""
    __dlpack_c_exchange_api__ = fake_gpu.exchange(0)


class Owning(fake_gpu.Description):
    """Whose exchange has no views."""
    __dlpack_c_exchange_api__ = fake_gpu.exchange(1)


class Later(fake_gpu.Description):
    """Whose exchange is of a later version, with this one behind it."""
    __dlpack_c_exchange_api__ = fake_gpu.exchange(2)


class Plain(fake_gpu.Description):
    """Of a framework that has __dlpack__ alone; asked: what for."""
    kind, asked, place = 1, None, None

    def __dlpack_device__(self):
        return self.place or (CUDA, 0)

    def __dlpack__(self, *, stream=None, max_version=None):
        type(self).asked = stream, max_version
        return fake_gpu.capsule(self, self.kind)


class Old(Plain):
    """Which knows no versions."""
    kind = 0

    def __dlpack__(self, *, stream=None):
        type(self).asked = stream
        return fake_gpu.capsule(self, 0)


class Interface:
    """Of a framework that has __cuda_array_interface__ alone."""

    def __init__(self, data, shape, typestr, strides=None, read_only=False, **more):
        self.__cuda_array_interface__ = dict(
            {"shape": shape, "typestr": typestr, "data": (data, read_only), "strides": strides, "version": 3}, **more)


def dense(shape):
    stride, step = [], 1
    for extent in reversed(shape):
        stride.insert(0, step)
        step *= max(extent, 1)
    return tuple(stride)


def tensor(shape, code=BFLOAT, bits=16, data=0x7f0000000000, stride=None, kind=Tensor, **more):
    return kind(data, shape, dense(shape) if stride is None else stride, code=code, bits=bits, **more)


def f32(shape, **more):
    return tensor(shape, FLOAT, 32, **more)


failed = []


def check(truth, name, why=""):
    print("ok" if truth else "not ok", name, "" if truth else "(%s)" % (why,))
    if not truth:
        failed.append(name)


def launches():
    return fake_gpu.counts()[0]


def refused(name, call, kind, *words):
    """The call raises the exception with all of the words, and launches nothing."""
    before = launches()
    try:
        result = call()
    except Exception as fault:
        said = str(fault)
        check(type(fault) is kind and all(word in said for word in words), name, "%r" % (fault,))
    else:
        check(False, name, "it returned %r" % (result,))
    check(launches() == before, name + ": nothing is launched")


def done(name, call):
    """The call launches once; what it returned."""
    before = launches()
    try:
        result = call()
    except Exception as fault:
        check(False, name, "%r" % (fault,))
        return None
    check(launches() == before + 1, name, "%d launches" % (launches() - before))
    return result


def end():
    sys.stdout.flush()
    sys.exit(1 if failed else 0)
