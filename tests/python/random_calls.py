"""Ten thousand random calls, of which any that is not right raises an exception and launches nothing; and calls from
eight threads at once."""
import random
import sys
import sysconfig
import threading

import fake_gpu
import py_gemm as module
from lab import *
from py_gemm import py_gemm

if sysconfig.get_config_var("Py_GIL_DISABLED") and sys._is_gil_enabled():
    sys.exit("not ok a module has brought the lock back")
module.load(fake_gpu.driver())
fake_gpu.make(Tensor)
pick = random.Random(int(sys.argv[1]))
KINDS = (Tensor, Owning, Later, Plain, Old)


def shape_of(right):
    """The shape, or one that is near it, or any."""
    which = pick.random()
    if which < 0.94:
        return right
    shape = list(right)
    if which < 0.97 and shape:
        shape[pick.randrange(len(shape))] = pick.choice((0, 1, -1, 2, 2 ** 31, 2 ** 62, -2 ** 63, 2 ** 63 - 1, 47))
        return tuple(shape)
    return tuple(pick.choice((0, 1, 2, 40, 48, 64, -3)) for _ in range(pick.randrange(16)))


def stride_of(shape):
    which = pick.random()
    if which < 0.94:
        return dense(shape)
    if which < 0.96:
        return tuple(reversed(dense(shape)))
    return tuple(pick.choice((0, 1, -1, 64, 65, 2 ** 40, 2 ** 62, -2 ** 63, 2 ** 63 - 1)) for _ in shape)


def any_object():
    return pick.choice((None, 0, -1, 1.5, "A", b"A", [], (), {}, object(), Tensor, len, Ellipsis, float("nan"),
                        Interface(pick.getrandbits(64), (40, 64), pick.choice(("<V2", "<f4", "", "x", ">f4", "<f999"))),
                        Interface(None, (2, 3), "<f4"), Interface(1, [48, "a"], "<V2", (1, 2, 3))))


def any_tensor(right, code, bits):
    if pick.random() < 0.05:
        return any_object()
    other = pick.random() < 0.04
    shape = shape_of(right)
    one = tensor(shape, pick.choice((0, 1, 2, 4, 5, 6, 10, 255)) if other else code,
                 pick.choice((8, 16, 32, 64)) if other else bits,
                 data=0x7f0000000000 if pick.random() < 0.95 else pick.getrandbits(pick.choice((1, 48, 64))),
                 stride=stride_of(shape), kind=pick.choice(KINDS) if pick.random() < 0.3 else Tensor,
                 lanes=1 if pick.random() < 0.98 else pick.getrandbits(16),
                 device_type=CUDA if pick.random() < 0.97 else pick.randrange(20),
                 device=0 if pick.random() < 0.97 else pick.choice((1, 2, 63, 64, -1, -2, 2 ** 31 - 1, -2 ** 31)),
                 offset=0 if pick.random() < 0.97 else pick.getrandbits(64),
                 flags=0 if pick.random() < 0.97 else pick.choice((1, 2, 16)))
    return one


def attempt(count):
    done = raised = wrong = 0
    for _ in range(count):
        m, n, k = pick.choice(((40, 48, 64), (1, 48, 64), (40, 0, 64), (8, 8, 8)))
        given = [any_tensor((m, k), 4, 16), any_tensor((n, k), 4, 16), any_tensor((n,), 2, 32),
                 any_tensor((m, n), 2, 32)]
        while given and pick.random() < 0.05:
            given.pop()
        words = {"alpha": 1.0}
        if pick.random() < 0.05:
            words[pick.choice(("alpha", "beta", "stream", "A", "D", "workspace", ""))] = any_object()
        before = launches()
        try:
            py_gemm(*given, **words)
        except (TypeError, ValueError, RuntimeError, OverflowError) as fault:
            raised += 1
            wrong += launches() != before or not str(fault)
        else:
            done += 1
            wrong += launches() > before + 1
    return done, raised, wrong


done, raised, wrong = attempt(int(sys.argv[2]))
check(not wrong and done > 0 and raised > done / 4, "%s random calls" % sys.argv[2], (done, raised, wrong))
check(fake_gpu.alive() == 0, "no managed tensor is left", fake_gpu.alive())

# ---- threads ----

A, B, bias = tensor((40, 64)), tensor((48, 64)), f32((48,))
CALLS, THREADS = int(sys.argv[3]), 8
faults = []
barrier = threading.Barrier(THREADS)


def work(number):
    kind = KINDS[number % len(KINDS)]
    D = f32((40, 48), kind=kind)
    barrier.wait()
    for turn in range(CALLS):
        try:
            # Each thread has a type of its own now and then: those that are known change while others read them.
            a = A if turn % 64 else tensor((40, 64), kind=type("T%d" % number, (Tensor,), {}))
            if py_gemm(a, B, bias, D, alpha=turn) is not D:
                faults.append("another output")
            try:
                py_gemm(a, bias, B, D, alpha=turn)
                faults.append("a wrong call went through")
            except TypeError as fault:
                if "argument 'B' (position 2)" not in str(fault):
                    faults.append(str(fault))
        except Exception as fault:
            faults.append(repr(fault))


before = launches()
threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
for one in threads:
    one.start()
for one in threads:
    one.join()
check(not faults and launches() == before + THREADS * CALLS, "eight threads", (faults[:3], launches() - before))
check(fake_gpu.alive() == 0, "no managed tensor is left behind them", fake_gpu.alive())
end()
