#!/usr/bin/env python3
"""What descriptors and launches cost on the host from Python: cuda.bindings, cuda.core, CuPy, Triton and torch on the
cases of `tilewright bench --host`, as the same JSON rows. A library that is not installed is a line on stderr, and so
is a case that one cannot do.

Every library has a process of its own. All set up at once; then they measure one after the other: for each group of
cases, batches of all its cases in turn, and between them the stream runs dry. A row is the median, the least and the
most of the batches' means, in nanoseconds an operation; gc is off, and what can be prepared is prepared.

usage: host_python.py [--rounds N] [LIBRARY...]        rows on stdout
"""
import ctypes
import gc
import json
import os
import statistics
import subprocess
import sys
import time

SIZE, BOX, BATCH = 512, 64, 200
DESCRIPTORS = "three descriptors (case 000)"
REPLACED = "replaced addresses"
LAUNCH = "one launch (case 001)"
EMPTY = "empty kernels"
LIBRARY_KERNELS = "kernels of libraries"

# Case 001: three maps and three sizes. What the kernel does is no matter of the host's.
INTS = ", ".join("int a%d" % i for i in range(16))
SOURCE = """
struct alignas(64) map { unsigned long long word[16]; };
extern "C" __global__ void case_001(const __grid_constant__ map a, const __grid_constant__ map b,
                                    const __grid_constant__ map d, int m, int n, int k) {}
extern "C" __global__ void empty_0() {}
extern "C" __global__ void empty_3(int m, int n, int k) {}
extern "C" __global__ void empty_16(%s) {}
""" % INTS


def tell(text):
    print("host_python: " + text, file=sys.stderr, flush=True)


class Lab:
    """The device, three tensors on it, and what is to be measured there."""

    def __init__(self, backend):
        self.backend, self.cases = backend, []
        self.driver = ctypes.CDLL("libcuda.so.1")
        number, context, name = ctypes.c_int(), ctypes.c_void_p(), ctypes.create_string_buffer(256)
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)
        self.call("cuDeviceGetName", name, 256, 0)
        attributes = []
        for which in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
            self.call("cuDeviceGetAttribute", ctypes.byref(number), which, 0)
            attributes.append(number.value)
        self.call("cuDriverGetVersion", ctypes.byref(number))
        self.sm = "sm_%d%d" % tuple(attributes)
        self.about = {
            "arch": self.sm + ("a" if attributes[0] >= 9 else ""),
            "gpu_model": name.value.decode(),
            "compute_capability": "%d.%d" % tuple(attributes),
            "driver": "%d.%d" % (number.value // 1000, number.value % 1000 // 10),
        }
        self.run = "%x-%d" % (time.time_ns() // 1000, os.getpid())
        self.tensor = [self.allocate(SIZE * SIZE * 2) for _ in range(4)]

    def call(self, name, *arguments):
        result = getattr(self.driver, name)(*arguments)
        if result:
            raise RuntimeError("%s gave CUresult %d" % (name, result))

    def allocate(self, size):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def synchronize(self):
        self.call("cuCtxSynchronize")

    def add(self, group, kernel, what, make):
        """make() gives a function that does the thing `count` times. It is tried at once."""
        try:
            run = make()
            run(3)
            self.synchronize()
            self.cases.append((group, kernel, what, run))
        except Exception as fault:  # another version of the library, say: the rest is measured all the same
            tell("%s, %s: %s: %s" % (self.backend, what, type(fault).__name__, str(fault).split("\n")[0]))

    def measure(self, rounds):
        rows = []
        for group in dict.fromkeys(case[0] for case in self.cases):
            cases = [case for case in self.cases if case[0] == group]
            samples = [[] for _ in cases]
            for turn in range(-1, rounds):  # -1 warms up
                for case, sample in zip(cases, samples):
                    began = time.perf_counter_ns()
                    case[3](BATCH)
                    took = (time.perf_counter_ns() - began) / BATCH
                    self.synchronize()
                    if turn >= 0:
                        sample.append(took)
            for (_, kernel, what, _), sample in zip(cases, samples):
                row = {"kernel": kernel, "backend": self.backend}
                row.update(self.about)
                row.update({
                    "group": group, "problem_size": what, "latency_ns": round(statistics.median(sample), 2),
                    "latency_min_ns": round(min(sample), 2), "latency_max_ns": round(max(sample), 2), "run": self.run})
                rows.append(row)
        return rows


# ---- cuda.bindings ---------------------------------------------------------------------------------------------------


def cuda_bindings(lab):
    from cuda.bindings import driver, nvrtc
    import numpy

    def done(result):
        if int(result[0]):
            raise RuntimeError(str(result[0]))
        return result[1] if len(result) == 2 else result[1:]

    program = done(nvrtc.nvrtcCreateProgram(SOURCE.encode(), b"empty.cu", 0, [], []))
    done(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=" + lab.sm.encode()]))
    cubin = b" " * done(nvrtc.nvrtcGetCUBINSize(program))
    done(nvrtc.nvrtcGetCUBIN(program, cubin))
    module = done(driver.cuModuleLoadData(cubin))
    stream = done(driver.cuStreamCreate(1))

    half = driver.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_FLOAT16
    plain = driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE
    promotion = driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B
    zeros = driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE
    swizzled = driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B
    unswizzled = driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_NONE
    dims = [driver.cuuint64_t(SIZE)] * 2
    strides = [driver.cuuint64_t(2 * SIZE)]
    box = [driver.cuuint32_t(BOX)] * 2
    steps = [driver.cuuint32_t(1)] * 2
    three = list(zip(lab.tensor, (swizzled, swizzled, unswizzled)))
    encode_one = driver.cuTensorMapEncodeTiled

    def encode():
        return [done(encode_one(half, 2, address, dims, strides, box, steps, plain, swizzle, promotion, zeros))
                for address, swizzle in three]

    def encodes(count):
        for _ in range(count):
            encode()

    lab.add(DESCRIPTORS, "case_000", "3 maps of 512 x 512 fp16", lambda: encodes)

    def replaces():
        maps = encode()
        replace = driver.cuTensorMapReplaceAddress
        address = lab.tensor[3]

        def run(count):
            for _ in range(count):
                for one in maps:
                    replace(one, address)

        for one in maps:
            done(replace(one, address))
        return run

    lab.add(REPLACED, "replace_address", "3 maps", replaces)

    def launches(name, values, types, prepared, fresh_maps=False):
        function = done(driver.cuModuleGetFunction(module, name))
        config = driver.CUlaunchConfig()
        config.gridDimX = config.gridDimY = config.gridDimZ = 1
        config.blockDimX, config.blockDimY, config.blockDimZ = 32, 1, 1
        config.hStream = stream
        arguments, keep = (values, types) if values else 0, []
        if values and prepared:
            keep = [numpy.array([value], numpy.int32) if isinstance(value, int) else value for value in values]
            keep.append(numpy.array([k.ctypes.data if isinstance(k, numpy.ndarray) else k.getPtr() for k in keep],
                                    numpy.uint64))
            arguments = int(keep[-1].ctypes.data)
        launch = driver.cuLaunchKernelEx

        def run(count, keep=keep):
            for _ in range(count):
                launch(config, function, arguments, 0)

        def run_fresh(count):
            for _ in range(count):
                launch(config, function, (tuple(encode()) + values[3:], types), 0)

        done(launch(config, function, arguments, 0))
        return run_fresh if fresh_maps else run

    values = tuple(encode()) + (SIZE,) * 3
    types = (None,) * 3 + (ctypes.c_int,) * 3
    lab.add(LAUNCH, "case_001", "cuLaunchKernelEx, prepared", lambda: launches(b"case_001", values, types, True))
    lab.add(LAUNCH, "case_001", "cuLaunchKernelEx, arguments in tuples",
            lambda: launches(b"case_001", values, types, False))
    lab.add(LAUNCH, "case_001", "cuLaunchKernelEx, maps included",
            lambda: launches(b"case_001", values, types, False, True))

    def replays():
        once = launches(b"case_001", values, types, True)
        done(driver.cuStreamSynchronize(stream))
        done(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED))
        once(1)
        graph = done(driver.cuStreamEndCapture(stream))
        executable = done(driver.cuGraphInstantiate(graph, 0))
        replay = driver.cuGraphLaunch

        def run(count, keep=once):
            for _ in range(count):
                replay(executable, stream)

        done(replay(executable, stream))
        return run

    lab.add(LAUNCH, "case_001", "replay of 1 kernel", replays)
    for count in (0, 3, 16):
        lab.add(EMPTY, "empty", "cuLaunchKernelEx, %d arguments" % count,
                lambda: launches(b"empty_%d" % count, (1,) * count, (ctypes.c_int,) * count, False))


# ---- cuda.core -------------------------------------------------------------------------------------------------------


def cuda_core(lab):
    try:
        from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
    except ImportError:
        from cuda.core.experimental import Device, LaunchConfig, Program, ProgramOptions, launch
    import numpy

    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    code = Program(SOURCE, "c++", ProgramOptions(arch=lab.sm)).compile("cubin")
    config = LaunchConfig(grid=1, block=32)

    class Array:
        def __init__(self, address):
            self.__cuda_array_interface__ = {"shape": (SIZE, SIZE), "typestr": "<f2", "data": (address, False),
                                             "strides": None, "stream": None, "version": 3}

    def views():
        from cuda.core.utils import StridedMemoryView
        make = getattr(StridedMemoryView, "from_any_interface", StridedMemoryView)
        return [make(Array(address), stream_ptr=-1) for address in lab.tensor]

    def options():
        from cuda.core import _tensor_map
        return [{"box_dim": (BOX, BOX), "swizzle": swizzle, "l2_promotion": _tensor_map.TensorMapL2Promotion.L2_128B}
                for swizzle in (_tensor_map.TensorMapSwizzle.SWIZZLE_128B, _tensor_map.TensorMapSwizzle.SWIZZLE_128B,
                                _tensor_map.TensorMapSwizzle.NONE)]

    def maker():
        three = list(zip(views(), options()))
        return lambda: [view.as_tensor_map(**option) for view, option in three]

    def encodes():
        encode = maker()

        def run(count):
            for _ in range(count):
                encode()

        return run

    def replaces():
        maps, other = maker()(), views()[3]

        def run(count):
            for _ in range(count):
                for one in maps:
                    one.replace_address(other)

        return run

    lab.add(DESCRIPTORS, "case_000", "3 maps of 512 x 512 fp16, of views", encodes)
    lab.add(REPLACED, "replace_address", "3 maps", replaces)

    def launches(name, values):
        kernel, values = code.get_kernel(name), tuple(values)

        def run(count):
            for _ in range(count):
                launch(stream, config, kernel, *values)

        return run

    def launches_fresh():
        kernel, encode, sizes = code.get_kernel("case_001"), maker(), (numpy.int32(SIZE),) * 3

        def run(count):
            for _ in range(count):
                launch(stream, config, kernel, *encode(), *sizes)

        return run

    def replays():
        kernel, values = code.get_kernel("case_001"), (*maker()(), *(numpy.int32(SIZE),) * 3)
        builder = device.create_graph_builder()
        builder.begin_building()
        launch(builder, config, kernel, *values)
        graph = builder.end_building().complete()

        def run(count):
            for _ in range(count):
                graph.launch(stream)

        return run

    lab.add(LAUNCH, "case_001", "launch, maps prepared",
            lambda: launches("case_001", (*maker()(), *(numpy.int32(SIZE),) * 3)))
    lab.add(LAUNCH, "case_001", "launch, maps included", launches_fresh)
    lab.add(LAUNCH, "case_001", "replay of 1 kernel", replays)
    for count in (0, 3, 16):
        lab.add(EMPTY, "empty", "launch, %d arguments" % count,
                lambda: launches("empty_%d" % count, (numpy.int32(1),) * count))


# ---- CuPy ------------------------------------------------------------------------------------------------------------


def cupy(lab):
    import cupy as library
    import numpy

    module = library.RawModule(code=SOURCE, options=("-std=c++17",))
    stream = library.cuda.Stream(non_blocking=True)
    stream.use()

    def launches(name, values):
        kernel, values = module.get_function(name), tuple(values)

        def run(count):
            for _ in range(count):
                kernel((1,), (32,), values)

        return run

    # CuPy has no tensor maps: what it is given here are the bytes of one, as an array of size one of a struct.
    one_map = numpy.dtype([("word", numpy.uint64, (16,))])
    values = [numpy.zeros(1, one_map) for _ in range(3)] + [numpy.int32(SIZE)] * 3

    def replays():
        once = launches("case_001", values)
        once(1)
        stream.synchronize()
        stream.begin_capture()
        once(1)
        graph = stream.end_capture()

        def run(count):
            for _ in range(count):
                graph.launch(stream)

        return run

    lab.add(LAUNCH, "case_001", "RawKernel, maps as arrays", lambda: launches("case_001", values))
    lab.add(LAUNCH, "case_001", "replay of 1 kernel", replays)
    for count in (0, 3, 16):
        lab.add(EMPTY, "empty", "RawKernel, %d arguments" % count,
                lambda: launches("empty_%d" % count, [numpy.int32(1)] * count))


# ---- Triton and torch ------------------------------------------------------------------------------------------------


def torch_replay(torch, once):
    once(3)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        once(1)

    def run(count):
        for _ in range(count):
            graph.replay()

    return run


def triton(lab):
    import torch
    import triton as library

    @library.jit
    def empty(a, b, d, m, n, k):
        pass

    tensors = [torch.zeros((SIZE, SIZE), dtype=torch.float16, device="cuda") for _ in range(3)]

    def launches():
        kernel, (a, b, d) = empty[(1,)], tensors

        def run(count):
            for _ in range(count):
                kernel(a, b, d, SIZE, SIZE, SIZE)

        return run

    def launches_maps(fresh):
        from triton.tools.tensor_descriptor import TensorDescriptor
        kernel, made = empty[(1,)], [TensorDescriptor.from_tensor(t, [BOX, BOX]) for t in tensors]

        def run(count):
            a, b, d = made
            for _ in range(count):
                kernel(a, b, d, SIZE, SIZE, SIZE)

        def run_fresh(count):
            for _ in range(count):
                a, b, d = [TensorDescriptor.from_tensor(t, [BOX, BOX]) for t in tensors]
                kernel(a, b, d, SIZE, SIZE, SIZE)

        return run_fresh if fresh else run

    lab.add(EMPTY, "empty", "jit, 3 tensors and 3 integers", launches)
    lab.add(LAUNCH, "case_001", "jit, TensorDescriptors prepared", lambda: launches_maps(False))
    lab.add(LAUNCH, "case_001", "jit, TensorDescriptors included", lambda: launches_maps(True))
    lab.add(LAUNCH, "empty", "replay of 1 kernel", lambda: torch_replay(torch, launches()))


def torch(lab):
    import torch as library

    a, b, d = [library.zeros((SIZE, SIZE), dtype=library.float16, device="cuda") for _ in range(3)]

    def products():
        def run(count):
            for _ in range(count):
                library.mm(a, b, out=d)

        return run

    lab.add(LIBRARY_KERNELS, "mm", "torch.mm(out=), 512 x 512 fp16", products)
    lab.add(LIBRARY_KERNELS, "mm", "replay of 1 kernel", lambda: torch_replay(library, products()))


# ---- the processes ---------------------------------------------------------------------------------------------------

LIBRARIES = {"cuda.bindings": cuda_bindings, "cuda.core": cuda_core, "cupy": cupy, "triton": triton, "torch": torch}


def child(name, rounds):
    """Sets up, says "ready", and measures when a line comes."""
    try:
        lab = Lab(name)
        LIBRARIES[name](lab)
    except ImportError as fault:
        tell("%s is not installed: %s" % (name, fault))
        return 0
    except Exception as fault:
        tell("%s: %s: %s" % (name, type(fault).__name__, str(fault).split("\n")[0]))
        return 1
    print("ready", flush=True)
    sys.stdin.readline()
    gc.collect()
    gc.disable()
    print(json.dumps(lab.measure(rounds)), flush=True)
    return 0


def parent(names, rounds):
    children = []
    for name in names:
        command = [sys.executable, os.path.abspath(__file__), "--rounds", str(rounds), "--child", name]
        children.append((name, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)))
    # A line, or the end of a child that cannot: nobody measures while others still set up.
    ready = [process.stdout.readline() for _, process in children]
    rows, status = [], 0
    for (name, process), line in zip(children, ready):
        out, _ = process.communicate("go\n" if line else None)
        if line and not process.returncode:
            rows += json.loads(out)
        elif process.returncode:
            tell("%s: exit status %d" % (name, process.returncode))
            status = 1
    print("[" + ",".join("\n " + json.dumps(row) for row in rows) + "\n]")
    return status if rows else 3


def main(arguments):
    rounds, only = 101, None
    names = []
    while arguments:
        word = arguments.pop(0)
        if word in ("--rounds", "--child") and arguments:
            value = arguments.pop(0)
            if word == "--child":
                only = value
            elif value.isdigit() and 0 < int(value) <= 1001:
                rounds = int(value)
            else:
                tell("--rounds %s: write 1 to 1001" % value)
                return 2
        elif word in LIBRARIES:
            names.append(word)
        else:
            tell("%s: write one of %s" % (word, ", ".join(LIBRARIES)))
            return 2
    return child(only, rounds) if only in LIBRARIES else parent(names or list(LIBRARIES), rounds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
