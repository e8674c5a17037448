"""Tensor maps by the extension (python/maps.c) and by ctypes give the same answers, over a table of tensors and faults
and over random calls; what a map holds is given back once; nothing is lost over a hundred thousand; eight threads.

    maps.py SEED CALLS MAPS"""
import ctypes
import gc
import itertools
import random
import sys
import threading
import tracemalloc
import weakref

import fake_gpu
import tilewright
from lab import *
from tilewright import by_ctypes, maps

Fast, Slow = maps.TensorMap, by_ctypes.TensorMap
pick = random.Random(int(sys.argv[1]))
calls, many = int(sys.argv[2]), int(sys.argv[3])


class Both(Plain):
    """With the C exchange too."""
    __dlpack_c_exchange_api__ = fake_gpu.exchange(0)


class BothOwning(Plain):
    """Whose exchange has no views."""
    __dlpack_c_exchange_api__ = fake_gpu.exchange(1)


class BothLater(Plain):
    __dlpack_c_exchange_api__ = fake_gpu.exchange(2)


class Next(Plain):
    """Of a major version of DLPack that is none yet."""
    kind = 2


class NoCapsule:
    def __init__(self, gives):
        self.gives = gives

    def __dlpack__(self, **words):
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives


class Raises:
    @property
    def __dlpack__(self):
        raise OSError("a fault of the framework's")


def answer(make, *args, **words):
    """What a call says: the map's bytes, device and source, or its exception."""
    try:
        made = make(*args, **words)
    except Exception as fault:
        return type(fault), str(fault)
    source = made.source
    held = source[0] if type(source) is tuple else source
    return bytes(made), made.device, held is args[0], type(source), made.pointer % 64


differ = []


def same(*args, **words):
    fast, slow = answer(Fast, *args, **words), answer(Slow, *args, **words)
    if fast != slow:
        differ.append((args, words, fast, slow))
    return fast


check(maps.slow is None and Fast is not Slow and Fast is tilewright.TensorMap, "the package has the extension's",
      maps.slow)

# ---- a table ----

made = refusals = 0
KINDS = (Both, BothOwning, BothLater, Plain, Old)
SHAPES = ((4096,), (512, 512), (5, 1, 64), (2, 16, 16, 64), (2, 3, 4, 5, 64), (1, 1), (2, 2, 2, 2, 2, 2), (), (0, 8),
          (8, 3))
TYPES = ((FLOAT, 16), (BFLOAT, 16), (FLOAT, 32), (FLOAT, 64), (INT, 8), (UINT, 8), (INT, 64), (UINT, 32), (BOOL, 8),
         (10, 8), (12, 8), (17, 4), (5, 64), (FLOAT, 128))
for (code, bits), shape in itertools.product(TYPES, SHAPES):
    for swizzle, l2, nan in itertools.product(("none", "32B", "128B"), ("none", "256B"), (False, 1)):
        one = tensor(shape, code, bits, kind=pick.choice(KINDS))
        box = tuple(min(extent, 256 // (bits // 8 or 1) // 4 or 1) for extent in shape)
        step = pick.choice((None, (), [1] * len(shape), (2,) * len(shape)))
        got = same(one, box, swizzle=swizzle, l2=l2, nan=nan, step=step)
        made, refusals = made + (type(got[0]) is bytes), refusals + (got[0] is ValueError)
for shape, corners in itertools.product(SHAPES, ((0,), (-1, -1), (-1, 0, 2), (), (1, 2, 3, 4), (-40000, 1), None)):
    for wide, capability, kind in itertools.product((None, "W", "W128"), (90, 100, 120, 80, 0), (Both, Old)):
        got = same(tensor(shape, FLOAT, 16, kind=kind), lower=corners, upper=corners, wide=wide, capability=capability,
                   channels=pick.choice((64, 8, 0, 257)), pixels=pick.choice((64, 1, 1024, 1025)),
                   swizzle=pick.choice(("none", "128B")))
        made, refusals = made + (type(got[0]) is bytes), refusals + (got[0] is ValueError)
check(made > 300 and refusals > 1000, "%d maps and %d refusals" % (made, refusals))

image = tensor((2, 16, 16, 64), FLOAT, 16, kind=Both)
words = dict(channels=64, pixels=64, swizzle="128B")
wide = same(image, lower=(-1,), upper=(-1,), wide="W", **words)
check(wide[0] == same(image, lower=(-1, 0), upper=(-1, 0), **words)[0] and wide[0] != same(
    image, lower=(-1, -1), upper=(-1, -1), **words)[0], "im2col-wide: im2col with corners of W alone", wide)
check(same(image, lower=(-1, 1), wide="W", **words) == (
    ValueError, "lower has 2 entries; of a tensor of 4 dimensions it has 1 at most"), "and it takes no others")

# ---- faults ----

good = dict(shape=(64, 64), typestr="<f2", data=(1 << 20, False), strides=None, version=3)


def interface(without=None, **more):
    of = Interface(0, (), "<f2")
    of.__cuda_array_interface__ = dict({key: good[key] for key in good if key != without}, **more)
    return of


def of_table(table):
    of = Interface(0, (), "<f2")
    of.__cuda_array_interface__ = table
    return of


one = tensor((512, 512), FLOAT, 16, kind=Both)
BAD = (None, -1, 2 ** 32, 2 ** 64, 2 ** 70, -2 ** 70, 1.5, "A", b"A", [], [1], {}, object, Ellipsis, float("nan"), True)
faults = [([], {}), ([one, (8, 8), 3], {}), ([one, (8, 8), 3, 4], {"step": 1}),
          ([one, (8, 8), 3], {"l2": "none", "nan": 0}),
          ([one], {"zzz": 1}), ([one], {"tensor": one}), ([one, (8, 8)], {"box": (8, 8)}), ([], {"box": (8, 8)}),
          ([tensor((8, 8), kind=Both, flags=16)], {}), ([tensor((8, 8), kind=Old, flags=16)], {}),
          ([tensor((8, 8), kind=Next)], {}), ([NoCapsule(None)], {}), ([NoCapsule(3)], {}), ([Raises()], {}),
          ([NoCapsule(fake_gpu.exchange(0))], {}), ([NoCapsule(TypeError("twice"))], {}),
          ([NoCapsule(BufferError("no"))], {}), ([Fast], {}),
          ([tensor((8, 8), kind=Both, lanes=2)], {}), ([tensor((8, 8), kind=Both, device_type=1)], {}),
          ([tensor((64, 64), kind=Both, device_type=HOST, device=3), (8, 8)], {}),
          ([tensor((64, 64), kind=Both, offset=32), (8, 8)], {}), ([tensor((64, 64), kind=Both, offset=8), (8, 8)], {}),
          ([tensor((8, -8), kind=Both)], {}), ([tensor((8,) * 9, kind=Both)], {}), ([tensor((8,) * 9, kind=Old)], {}),
          ([tensor((64, 64), FLOAT, 16, stride=(1, 64), kind=Both), (8, 8)], {}),
          ([tensor((64, 64), FLOAT, 16, stride=(-64, 1), kind=Both), (8, 8)], {}),
          ([tensor((64, 64), FLOAT, 16, stride=(2 ** 62, 1), kind=Both), (8, 8)], {}),
          ([fake_gpu.Description(1 << 20, (64, 64), None), (8, 8)], {}),
          ([Both(1 << 20, (64, 64), None), (8, 8)], {}), ([one, "ab"], {}), ([one, {8: 1, 16: 2}], {}),
          ([one, range(8, 24, 8)], {})]
faults += [([thing], {}) for thing in BAD] + [([one, thing], {}) for thing in BAD]
faults += [([one, (8, thing)], {}) for thing in BAD]
faults += [([one, (8, 8)], {name: thing}) for name in ("step", "swizzle", "l2", "nan", "channels", "pixels", "lower",
                                                       "upper", "capability", "wide") for thing in BAD]
faults += [([image], dict(words, lower=(thing, 0), upper=(0, thing)))
           for thing in BAD + (2 ** 31, 2 ** 31 - 1, -2 ** 31)]
faults += [([interface(**more), (8, 8)], {})
           for key in good for more in ([{"without": key}] + [{key: thing} for thing in BAD])]
faults += [([interface(**more), (8, 8)], {}) for more in (
    {"shape": (64, 1.5)}, {"shape": (2 ** 63, 64)}, {"shape": (-1, 64)}, {"shape": (64,) * 9}, {"shape": "ab"},
    {"shape": (2 ** 40, 2 ** 40, 8)}, {"strides": (128,)}, {"strides": (128, 2)}, {"strides": (127, 2)},
    {"strides": (256, 2, 9)}, {"strides": (2, 128)}, {"strides": (-128, 2)}, {"strides": ("a", 2)},
    {"strides": (2 ** 80, 2)}, {"strides": {1: 2}}, {"strides": ()}, {"data": (1 << 20,)}, {"data": (-1, 0)},
    {"data": (2 ** 64 - 1, 0)}, {"data": (2 ** 64, 0)}, {"data": (8, 0)}, {"data": {0: 1 << 20, 1: 0}}, {"mask": 0},
    {"mask": None}, {"typestr": ""}, {"typestr": "<"}, {"typestr": ">f2"}, {"typestr": "|V1"}, {"typestr": "<f16"},
    {"typestr": b"<f2"}, {"typestr": ("<", "f2")}, {"typestr": ["<", "f2"]})]
faults += [([of_table(thing)], {}) for thing in BAD]
refused_ones = sum(type(same(*args, **words)[0]) is type for args, words in faults)
check(refused_ones > 200, "%d faults" % refused_ones)
check(not differ, "every answer is the same by ctypes", differ[:3])
del differ[:]
check(answer(Fast, tensor((64, 64), FLOAT, 16), (8, 8))[0] == same(tensor((64, 64), FLOAT, 16, kind=Plain), (8, 8))[0],
      "and what has the C exchange alone is a tensor to the extension")


def says(call, kind, text):
    try:
        got = call()
    except Exception as fault:
        got = type(fault), str(fault)
    check(got == (kind, text), text, got)


other = "the tensor has another shape, stride, type or device than the map's"
for make in (Fast, Slow):
    first = make(one, (64, 64))
    for args, more, kind, text in (
            ((), {}, TypeError, "TensorMap.replace_address() missing 1 required positional argument: 'tensor'"),
            ((one, one), {}, TypeError, "TensorMap.replace_address() takes 2 positional arguments but 3 were given"),
            ((one,), {"zzz": 1}, TypeError, "TensorMap.replace_address() got an unexpected keyword argument 'zzz'"),
            ((one,), {"tensor": one}, TypeError,
             "TensorMap.replace_address() got multiple values for argument 'tensor'"),
            ((tensor((512, 256), FLOAT, 16, kind=Both),), {}, ValueError, other),
            ((tensor((512, 512), BFLOAT, 16, kind=Both),), {}, ValueError, other),
            ((tensor((512, 512), FLOAT, 16, kind=Both, device=1),), {}, ValueError, other),
            ((tensor((512, 512), FLOAT, 16, kind=Both, device_type=MANAGED),), {}, ValueError, other),
            ((tensor((512, 512), FLOAT, 16, kind=Both, stride=(1024, 1)),), {}, ValueError, other),
            ((interface(shape=(512, 512)),), {}, ValueError, other),
            ((tensor((512, 512), FLOAT, 16, kind=Both, data=8),), {}, ValueError,
             "the address is no multiple of 16 bytes, or none of a device"),
            ((3,), {}, TypeError,
             "<class 'int'> is no tensor: it has neither __dlpack__ nor __cuda_array_interface__")):
        says(lambda: first.replace_address(*args, **more), kind, text)
    check(bytes(first) == bytes(make(one, (64, 64))) and first.source[0] is one,
          "what is refused leaves the map as it was")
    two = tensor((512, 512), FLOAT, 16, data=0x7f0000400000, kind=BothOwning)
    check(first.replace_address(tensor=two) is None and bytes(first) == bytes(make(two, (64, 64))) and
          first.source[0] is two, "and what is not, replaces")
del first, two, make

# ---- random calls ----


def anything():
    return pick.choice(BAD + (0, 1, 8, "none", "64B", "W", (), (1, 2), (8, 8), one, Fast, "128" + "B", 90, 100))


def any_tensor(rank):
    extents = (1, 8, 16, 64, 64, 128, 512) if pick.random() < 0.9 else (0, 63, 2 ** 31, 2 ** 33, -1)
    shape = tuple(pick.choice(extents) for _ in range(rank))
    stride = tuple(min(step, 2 ** 62) for step in dense(shape))
    if pick.random() < 0.05:
        stride = tuple(pick.choice((0, 1, 8, -1, 64, 2 ** 40, 2 ** 62)) for _ in shape)
    code, bits = pick.choice(TYPES[:9] if pick.random() < 0.95 else TYPES)
    if pick.random() < 0.2:
        return interface(shape=shape, strides=pick.choice((None, tuple(2 * step for step in stride))),
                         typestr=pick.choice(("<f2", "<V2", "|u1", "<f8", "|V1", "<c8")),
                         data=(pick.getrandbits(40) << 4, 0))
    return tensor(shape, code, bits, data=pick.getrandbits(44) << 4 if pick.random() < 0.95 else pick.getrandbits(64),
                  stride=stride, kind=pick.choice(KINDS), device=pick.choice((0, 0, 1, 7, -1)),
                  flags=0 if pick.random() < 0.97 else pick.choice((1, 2, 16)))


def any_call():
    rank = pick.choice((1, 2, 2, 3, 4, 5, 6))
    given = [any_tensor(rank) if pick.random() < 0.97 else anything()]
    if pick.random() < 0.9:
        given.append(tuple(pick.choice((1, 8, 8, 16, 32, 64, 257)) for _ in range(rank)))
    more = {}
    for name, values in (("step", (None, (1,) * rank, (2,) * rank)), ("nan", (0, 1)), ("capability", (90, 100, 120)),
                         ("swizzle", tuple(by_ctypes.SWIZZLES)), ("l2", tuple(by_ctypes.PROMOTIONS)),
                         ("lower", (None, (0, 0), (-1,))), ("upper", (None, (0, 0), (-1,))), ("channels", (64, 8)),
                         ("pixels", (64, 1)), ("wide", (None, None, "W"))):
        if pick.random() < 0.2:
            more[name] = pick.choice(values) if pick.random() < 0.95 else anything()
    if pick.random() < 0.02:
        more[pick.choice(("zzz", "tensor", "box"))] = anything()
    return given, more


made = 0
for _ in range(calls):
    given, more = any_call()
    made += type(same(*given, **more)[0]) is bytes
check(not differ and made > calls // 10, "%d random calls, and the same answers" % calls, (made, differ[:3]))

# ---- what a map holds ----

for kind, held in ((Both, 0), (BothOwning, 1), (Plain, 1), (Old, 1)):
    gc.collect()
    before, one = fake_gpu.alive(), tensor((512, 512), FLOAT, 16, kind=kind)
    count, seen = sys.getrefcount(one), weakref.ref(one)
    first = Fast(one, (64, 64))
    check(sys.getrefcount(one) == count + 1 and fake_gpu.alive() == before + held, "%s: held once" % kind.__name__)
    first.replace_address(one)
    first.__init__(one, (8, 8))
    check(sys.getrefcount(one) == count + 1 and fake_gpu.alive() == before + held, "%s: and only once" % kind.__name__)
    check(bytes(first) == bytes(Slow(one, (8, 8))) and answer(first.__init__, one, (8, 300))[0] is ValueError and
          bytes(first) == bytes(Slow(one, (8, 8))), "%s: __init__ makes it again, or leaves it" % kind.__name__)
    del one
    check(seen() is not None and first.source[0] is seen(), "%s: the map keeps its tensor" % kind.__name__)
    dead = weakref.ref(first)
    del first
    check(seen() is None and dead() is None and fake_gpu.alive() == before, "%s: which goes with it" % kind.__name__)
one = tensor((512, 512), FLOAT, 16, kind=Both)
one.map, seen = Fast(one, (64, 64)), weakref.ref(one)
del one
gc.collect()
check(seen() is None, "a map that its tensor holds")


class Own(Fast):
    def __init__(self, tensor, **words):
        super().__init__(tensor, (64, 64), **words)
        self.more = tensor


one = tensor((512, 512), FLOAT, 16, kind=Both)
own = Own(one, swizzle="128B")
check(bytes(own) == bytes(Slow(one, (64, 64), swizzle="128B")) and own.more is one, "a class that is derived from it")
own.replace_address(one)
check(ctypes.string_at(own.pointer, 128) == bytes(own) and own.pointer % 64 == 0, "its bytes lie where it says")
del own
empty = Fast.__new__(Fast)
for name, call in (("bytes", lambda: bytes(empty)), ("source", lambda: empty.source), ("device", lambda: empty.device),
                   ("replace", lambda: empty.replace_address(one))):
    says(call, ValueError, "the map is not made yet: __init__ has not returned")
says(lambda: Fast.__init__(3, one), TypeError,
     "descriptor '__init__' requires a 'tilewright.maps.TensorMap' object but received a 'int'")

# ---- a hundred thousand ----

plain, old, given = (tensor((512, 512), FLOAT, 16, kind=kind) for kind in (BothOwning, Old, Plain))
shown = interface(shape=(512, 512))
ring = [Fast(one, (64, 64))] * 100
counts = [sys.getrefcount(object) for object in (one, plain, old, shown)]


def round_of(number):
    for i in range(number):
        ring[i % 100] = Fast(one, (64, 64), swizzle="128B", l2="128B")
        if i % 10 == 0:
            for kind in (plain, old, shown):
                ring[i % 100] = Fast(kind, box=[64, 64], step=(1, 1))
            ring[i % 100].replace_address(shown)
            for args, words in (((plain, (64, 300)), {}), ((old,), {"box": (8, 8), "zzz": 1}), ((shown, (1, 2, 3)), {}),
                                ((3,), {}), ((one, (8, 8)), {"swizzle": "96B"}), ((one, (2 ** 40, 8)), {})):
                answer(Fast, *args, **words)
    ring[:] = [None] * 100
    gc.collect()


round_of(1000)
tracemalloc.start()
round_of(1000)
from_ = tracemalloc.get_traced_memory()[0]
round_of(many)
grown = tracemalloc.get_traced_memory()[0] - from_
tracemalloc.stop()
# What Python keeps for later is less, however many maps there were.
check(grown < 100000, "%d maps leave no memory behind" % many, "%d bytes" % grown)
left = [sys.getrefcount(object) for object in (one, plain, old, shown)]
check([left[0] + 1, *left[1:]] == counts, "nor a reference", (left, counts))
del plain, old, given, shown, one, image, ring, faults
gc.collect()

# ---- eight threads ----

sys.setswitchinterval(1e-5)
wrong = []
shared_tensors = [tensor((512, 512), FLOAT, 16, data=0x7f0000000000 + 0x100000 * i, kind=kind)
                  for i, kind in enumerate((Both, BothOwning, Plain, Old) * 2)]
whole = [bytes(Fast(each, (64, 64))) for each in shared_tensors]
shared = Fast(shared_tensors[0], (64, 64))


def work(number):
    own = shared_tensors[number]
    for i in range(many // 100):
        if bytes(Fast(own, (64, 64))) != whole[number]:
            wrong.append(number)
        shared.replace_address(own)
        if bytes(shared) not in whole or shared.source[0] not in shared_tensors or shared.device != 0:
            wrong.append(-1)
        if i % 50 == 0:
            shared.__init__(own, (64, 64))
            try:
                Fast(own, (64, 64), swizzle=str(number))
                wrong.append(number)
            except ValueError:
                pass


threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
check(not wrong, "eight threads, with maps of their own and one that they share", wrong[:5])
del shared, shared_tensors, threads
gc.collect()
check(fake_gpu.alive() == 0, "no managed tensor is left", fake_gpu.alive())
end()
