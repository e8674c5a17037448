#!/usr/bin/env python3
"""What descriptors and launches cost on the host from Python: cuda.bindings, cuda.core, CuPy, Triton and torch on the
cases of `tilewright bench --host`, as the same JSON rows, which join by kernel and problem_size; `what` is the method.
A library that is not installed is a line on stderr. A case that fails while it is set up is one too, and the exit
status is 1 in the end; the rows of the others are printed.

Every library has a process of its own. All set up at once; then they measure one after the other: for each group of
cases, batches of all its cases in turn, in a new order each round, and between them the stream runs dry. A row is the
median, the least and the most of the batches' means, in nanoseconds an operation; gc is off, and what can be prepared
is prepared. `arch` is what the row's kernels were compiled for.

What a library cannot do has no row. cuda.core: im2col maps (private in 1.2), cuLaunchKernel. CuPy: encoding maps,
updates of nodes, programmatic launches. Triton: encoding alone, updates; it passes shapes and strides beside each map,
so its problem is not quite that of the others. torch: descriptors, and kernels of one's own: cases 000 and 001 do not
exist there, and its rows are two of its operators.

usage: host_python.py [--rounds N] [LIBRARY...]        rows on stdout
"""
import ctypes
import gc
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

SIZE, BOX, BATCH = 512, 64, 200
DESCRIPTORS = "three descriptors (case 000)"
NUMBERS = "descriptors"
KINDS = "kinds of descriptors"
WIDE = "im2col-wide descriptors"
REPLACED = "replaced addresses"
LAUNCH = "one launch (case 001)"
PROGRAMMATIC = "one programmatic launch (case 001)"
EMPTY = "empty kernels"
REPLAYS = "replays of empty kernels"
UPDATE = "update of a graph's node (case 001)"
COMPILE = "compiling an empty kernel"
LIBRARY_KERNELS = "kernels of libraries"

# Problems, in the words of gen/cmd/bench/bench_host.c, so that rows of both join.
THREE_MAPS = "3 maps + 3 integers, 448 bytes"
RANK_3, RANK_5 = "1 map of 4x4x64 fp16", "1 map of 4x4x4x4x64 fp16"
IM2COL, IM2COL_WIDE = "1 im2col map of 16x16x16x64 fp16", "1 im2col-wide map of 16x16x16x64 fp16"
KERNELS_4 = "4 empty kernels"
COUNTS = (0, 3, 16, 58)
GRAPHS = (1, 10, 100)


def maps_of(count):
    return "%d map%s of 512x512 fp16" % (count, "" if count == 1 else "s")


def arguments_of(count):
    return "%d arguments" % count


def graph_of(launches, arguments=""):
    return "graph of %d launch%s%s" % (launches, "" if launches == 1 else "es", arguments and ", " + arguments)


# Case 001: three sizes and three maps, 448 bytes with the gap before the first map. What the kernel does is no matter
# of the host's.
INTS = {count: ", ".join("int a%d" % i for i in range(count)) for count in COUNTS}
EMPTIES = "\n".join('extern "C" __global__ void empty_%d(%s) {}' % (count, INTS[count]) for count in COUNTS)
SOURCE = """
struct alignas(64) map { unsigned long long word[16]; };
extern "C" __global__ void case_001(int m, int n, int k, const __grid_constant__ map a, const __grid_constant__ map b,
                                    const __grid_constant__ map d) {}
""" + EMPTIES


def tell(text):
    print("host_python: " + text, file=sys.stderr, flush=True)


class Lab:
    """The device, three tensors on it, and what is to be measured there."""

    def __init__(self, backend):
        self.backend, self.cases, self.failed = backend, [], False
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
        self.arch = self.sm + ("a" if attributes[0] >= 9 else "")
        self.about = {
            "arch": self.arch,
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

    def add(self, group, kernel, problem, what, make, batch=BATCH):
        """make() gives a function that does the thing `count` times. It is tried at once."""
        try:
            run = make()
            run(3)
            self.synchronize()
            self.cases.append((group, kernel, problem, what, run, batch))
        except Exception as fault:  # another version of the library, say: the rest is measured all the same
            self.failed = True
            tell("%s, %s: %s: %s: %s" % (self.backend, problem, what, type(fault).__name__, str(fault).split("\n")[0]))

    def measure(self, rounds):
        rows, order = [], random.Random(1)
        for group in dict.fromkeys(case[0] for case in self.cases):
            cases = [(case, []) for case in self.cases if case[0] == group]
            turns = list(cases)
            for turn in range(-1, min(rounds, 9) if group == COMPILE else rounds):  # -1 warms up
                order.shuffle(turns)
                for (*_, run, batch), sample in turns:
                    began = time.perf_counter_ns()
                    run(batch)
                    took = (time.perf_counter_ns() - began) / batch
                    self.synchronize()
                    if turn >= 0:
                        sample.append(took)
            for (_, kernel, problem, what, _, _), sample in cases:
                row = {"kernel": kernel, "backend": self.backend}
                row.update(self.about)
                row.update({
                    "group": group, "problem_size": problem, "what": what,
                    "latency_ns": round(statistics.median(sample), 2),
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

    def compiled(source):
        program = done(nvrtc.nvrtcCreateProgram(source, b"empty.cu", 0, [], []))
        done(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=" + lab.arch.encode()]))
        cubin = b" " * done(nvrtc.nvrtcGetCUBINSize(program))
        done(nvrtc.nvrtcGetCUBIN(program, cubin))
        done(nvrtc.nvrtcDestroyProgram(program))
        return cubin

    module = done(driver.cuModuleLoadData(compiled(SOURCE.encode())))
    stream = done(driver.cuStreamCreate(1))

    half = driver.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_FLOAT16
    plain = driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE
    promotion = driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B
    zeros = driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE
    swizzled = driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B
    unswizzled = driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_NONE
    encode_tiled, encode_im2col = driver.cuTensorMapEncodeTiled, driver.cuTensorMapEncodeIm2col

    def wide(values):
        return [driver.cuuint64_t(value) for value in values]

    def narrow(values):
        return [driver.cuuint32_t(value) for value in values]

    def repeated(call, arguments):
        def run(count):
            for _ in range(count):
                for one in arguments:
                    call(*one)

        for one in arguments:
            done(call(*one))
        return run

    def tiled(address, extents, strides, box, swizzle):
        return (half, len(extents), address, wide(extents), wide(strides), narrow(box), narrow([1] * len(box)), plain,
                swizzle, promotion, zeros)

    def square(address, swizzle):
        return tiled(address, (SIZE, SIZE), (2 * SIZE,), (BOX, BOX), swizzle)

    three = [square(address, swizzle)
             for address, swizzle in zip(lab.tensor, (swizzled, swizzled, unswizzled))]
    one = square(lab.tensor[0], swizzled)

    def encode():
        return tuple(done(encode_tiled(*arguments)) for arguments in three)

    name = "cuTensorMapEncodeTiled"
    lab.add(DESCRIPTORS, "case_000", maps_of(3), name, lambda: repeated(encode_tiled, three))
    for count in (1, 8, 192):
        lab.add(NUMBERS, "encode", maps_of(count), name, lambda: repeated(encode_tiled, [one] * count),
                BATCH if count < 100 else BATCH // 10)
    small = [tiled(lab.tensor[0], (64,) + (4,) * (rank - 1), [128 << 2 * i for i in range(rank - 1)],
                   (64,) + (2,) * (rank - 1), swizzled) for rank in (3, 5)]
    for problem, arguments in ((maps_of(1), one), (RANK_3, small[0]), (RANK_5, small[1])):
        lab.add(KINDS, "encode", problem, name, lambda: repeated(encode_tiled, [arguments]))
    image = (half, 4, lab.tensor[0], wide((64, 16, 16, 16)), wide((128, 2048, 32768)))
    rest = (64, 64, narrow([1] * 4), plain)
    lab.add(KINDS, "encode", IM2COL, "cuTensorMapEncodeIm2col",
            lambda: repeated(encode_im2col, [image + ([0, 0], [0, 0]) + rest + (swizzled, promotion, zeros)]))
    encode_wide = getattr(driver, "cuTensorMapEncodeIm2colWide", None)
    if encode_wide:
        mode = driver.CUtensorMapIm2ColWideMode.CU_TENSOR_MAP_IM2COL_WIDE_MODE_W
        arguments_wide = image + (0, 0) + rest + (mode, swizzled, promotion, zeros)
        lab.add(WIDE, "encode", IM2COL_WIDE, "cuTensorMapEncodeIm2colWide",
                lambda: repeated(encode_wide, [arguments_wide]))

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

    lab.add(REPLACED, "replace_address", maps_of(3), "cuTensorMapReplaceAddress", replaces)

    sizes, map_types = (SIZE,) * 3, (ctypes.c_int,) * 3 + (None,) * 3
    values = sizes + encode()

    class Prepared:
        """A kernel and the array of addresses of its arguments, as the driver takes it."""

        def __init__(self, name, values):
            self.function = done(driver.cuModuleGetFunction(module, name.encode()))
            self.keep = [numpy.array([value], numpy.int32) if isinstance(value, int) else value for value in values]
            self.array = numpy.array([k.ctypes.data if isinstance(k, numpy.ndarray) else k.getPtr() for k in self.keep],
                                     numpy.uint64)
            self.arguments = int(self.array.ctypes.data) if values else 0

    def configured(programmatic=False):
        config = driver.CUlaunchConfig()
        config.gridDimX = config.gridDimY = config.gridDimZ = 1
        config.blockDimX, config.blockDimY, config.blockDimZ = 32, 1, 1
        config.hStream = stream
        if programmatic:
            attribute, value = driver.CUlaunchAttribute(), driver.CUlaunchAttributeValue()
            attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
            value.programmaticStreamSerializationAllowed = 1
            attribute.value = value
            config.attrs, config.numAttrs = [attribute], 1
        return config

    def ex(name, values, types=None, programmatic=False):
        """With types, the arguments are given as tuples."""
        kernel, config, launch = Prepared(name, values), configured(programmatic), driver.cuLaunchKernelEx
        function = kernel.function
        arguments = (values, types) if types else kernel.arguments

        def run(count, keep=kernel):
            for _ in range(count):
                launch(config, function, arguments, 0)

        done(launch(config, function, arguments, 0))
        return run

    def ex_fresh(programmatic=False):
        kernel, config, launch = Prepared("case_001", values), configured(programmatic), driver.cuLaunchKernelEx
        function = kernel.function

        def run(count):
            for _ in range(count):
                launch(config, function, (sizes + encode(), map_types), 0)

        done(launch(config, function, (sizes + encode(), map_types), 0))
        return run

    def older(name, values, types=None):
        kernel, launch = Prepared(name, values), driver.cuLaunchKernel
        function, arguments = kernel.function, (values, types) if types else kernel.arguments

        def run(count, keep=kernel):
            for _ in range(count):
                launch(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, 0)

        done(launch(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, 0))
        return run

    def captured(once, launches):
        done(driver.cuStreamSynchronize(stream))
        done(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED))
        try:
            once(launches)
        finally:
            graph = done(driver.cuStreamEndCapture(stream))
        return graph, done(driver.cuGraphInstantiate(graph, 0))

    def replays(name, values, launches):
        once, replay = ex(name, values), driver.cuGraphLaunch
        graph, executable = captured(once, launches)

        def run(count, keep=(once, graph)):
            for _ in range(count):
                replay(executable, stream)

        done(replay(executable, stream))
        return run

    def updates(fresh):
        kernel, once = Prepared("case_001", values), ex("case_001", values)
        update = driver.cuGraphExecKernelNodeSetParams
        graph, executable = captured(once, 1)
        node = done(driver.cuGraphGetNodes(graph, 1))[0][0]
        params = driver.CUDA_KERNEL_NODE_PARAMS()
        params.func = kernel.function
        params.gridDimX = params.gridDimY = params.gridDimZ = 1
        params.blockDimX, params.blockDimY, params.blockDimZ = 32, 1, 1
        params.kernelParams = kernel.arguments

        def run(count, keep=(kernel, once, graph)):
            for _ in range(count):
                update(executable, node, params)

        def run_fresh(count, keep=(kernel, once, graph)):
            for _ in range(count):
                params.kernelParams = (sizes + encode(), map_types)
                update(executable, node, params)

        done(update(executable, node, params))
        return run_fresh if fresh else run

    ready, tuples, included = ", arguments prepared", ", arguments in tuples", ", maps included"
    name = "cuLaunchKernelEx"
    lab.add(LAUNCH, "case_001", THREE_MAPS, name + ready, lambda: ex("case_001", values))
    lab.add(LAUNCH, "case_001", THREE_MAPS, "cuLaunchKernel" + ready, lambda: older("case_001", values))
    lab.add(LAUNCH, "case_001", THREE_MAPS, name + tuples, lambda: ex("case_001", values, map_types))
    lab.add(LAUNCH, "case_001", THREE_MAPS, name + included, ex_fresh)
    for launches in GRAPHS:
        lab.add(LAUNCH, "case_001", graph_of(launches), "cuGraphLaunch", lambda: replays("case_001", values, launches))
    name += ", programmatic"
    lab.add(PROGRAMMATIC, "case_001", THREE_MAPS, name + ready, lambda: ex("case_001", values, None, True))
    lab.add(PROGRAMMATIC, "case_001", THREE_MAPS, name + included, lambda: ex_fresh(True))
    for count in COUNTS:
        problem, kernel, ints, types = arguments_of(count), "empty_%d" % count, (1,) * count, (ctypes.c_int,) * count
        lab.add(EMPTY, "empty", problem, "cuLaunchKernel" + ready, lambda: older(kernel, ints))
        lab.add(EMPTY, "empty", problem, "cuLaunchKernelEx" + ready, lambda: ex(kernel, ints))
        lab.add(EMPTY, "empty", problem, "cuLaunchKernelEx, programmatic" + ready, lambda: ex(kernel, ints, None, True))
        if count:
            lab.add(EMPTY, "empty", problem, "cuLaunchKernel" + tuples, lambda: older(kernel, ints, types))
            lab.add(EMPTY, "empty", problem, "cuLaunchKernelEx" + tuples, lambda: ex(kernel, ints, types))
        for launches in GRAPHS:
            lab.add(REPLAYS, "empty", graph_of(launches, problem), "cuGraphLaunch",
                    lambda: replays(kernel, ints, launches))
    lab.add(UPDATE, "case_001", graph_of(1), "node update" + ready, lambda: updates(False))
    lab.add(UPDATE, "case_001", graph_of(1), "node update" + included, lambda: updates(True))

    def compiles():
        source = EMPTIES.encode()

        def run(count):
            for _ in range(count):
                compiled(source)

        return run

    lab.add(COMPILE, "empty", KERNELS_4, "compile", compiles, 1)


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
    code = Program(SOURCE, "c++", ProgramOptions(arch=lab.arch)).compile("cubin")
    config = LaunchConfig(grid=1, block=32)

    class Array:
        def __init__(self, address, shape):
            self.__cuda_array_interface__ = {"shape": shape, "typestr": "<f2", "data": (address, False),
                                             "strides": None, "stream": None, "version": 3}

    def view(address, shape=(SIZE, SIZE)):
        from cuda.core.utils import StridedMemoryView
        make = getattr(StridedMemoryView, "from_any_interface", StridedMemoryView)
        return make(Array(address, shape), stream_ptr=-1)

    def option(box=(BOX, BOX), swizzle="SWIZZLE_128B"):
        from cuda.core import _tensor_map
        return {"box_dim": box, "swizzle": getattr(_tensor_map.TensorMapSwizzle, swizzle),
                "l2_promotion": _tensor_map.TensorMapL2Promotion.L2_128B}

    def maker():
        three = list(zip([view(address) for address in lab.tensor],
                         (option(), option(), option(swizzle="NONE"))))
        return lambda: [one.as_tensor_map(**options) for one, options in three]

    def encodes(tensor, options, maps):
        def run(count):
            for _ in range(count):
                for _ in range(maps):
                    tensor.as_tensor_map(**options)

        return run

    def three_encodes():
        encode = maker()

        def run(count):
            for _ in range(count):
                encode()

        return run

    def replaces():
        maps, other = maker()(), view(lab.tensor[3])

        def run(count):
            for _ in range(count):
                for one in maps:
                    one.replace_address(other)

        return run

    name = "as_tensor_map of a view"
    lab.add(DESCRIPTORS, "case_000", maps_of(3), name, three_encodes)
    for count in (1, 8, 192):
        lab.add(NUMBERS, "encode", maps_of(count), name, lambda: encodes(view(lab.tensor[0]), option(), count),
                BATCH if count < 100 else BATCH // 10)
    lab.add(KINDS, "encode", maps_of(1), name, lambda: encodes(view(lab.tensor[0]), option(), 1))
    for problem, rank in ((RANK_3, 3), (RANK_5, 5)):
        shape, box = (4,) * (rank - 1) + (64,), (2,) * (rank - 1) + (64,)
        lab.add(KINDS, "encode", problem, name, lambda: encodes(view(lab.tensor[0], shape), option(box), 1))
    lab.add(REPLACED, "replace_address", maps_of(3), "replace_address", replaces)

    sizes = (numpy.int32(SIZE),) * 3

    def launches(name, make, chosen=config):
        kernel, values = code.get_kernel(name), tuple(make())

        def run(count):
            for _ in range(count):
                launch(stream, chosen, kernel, *values)

        return run

    def launches_fresh(chosen=config):
        kernel, encode = code.get_kernel("case_001"), maker()

        def run(count):
            for _ in range(count):
                launch(stream, chosen, kernel, *sizes, *encode())

        return run

    def prepared():
        return (*sizes, *maker()())

    def replays(name, make, number):
        kernel, values = code.get_kernel(name), tuple(make())
        builder = device.create_graph_builder()
        builder.begin_building()
        for _ in range(number):
            launch(builder, config, kernel, *values)
        graph = builder.end_building().complete()

        def run(count, keep=(builder, values)):
            for _ in range(count):
                graph.launch(stream)

        return run

    def updates(fresh):
        kernel, values, encode = code.get_kernel("case_001"), prepared(), maker()
        definition = GraphDefinition()
        node = definition.launch(config, kernel, *values)
        executable = definition.instantiate()[node]

        def run(count, keep=definition):
            for _ in range(count):
                executable.update(config=config, kernel=kernel, args=values)

        def run_fresh(count, keep=definition):
            for _ in range(count):
                executable.update(config=config, kernel=kernel, args=(*sizes, *encode()))

        return run_fresh if fresh else run

    ready, included = "launch, maps prepared", "launch, maps included"
    lab.add(LAUNCH, "case_001", THREE_MAPS, ready, lambda: launches("case_001", prepared))
    lab.add(LAUNCH, "case_001", THREE_MAPS, included, launches_fresh)
    for number in GRAPHS:
        lab.add(LAUNCH, "case_001", graph_of(number), "Graph.launch", lambda: replays("case_001", prepared, number))
    programmatic = None
    if hasattr(LaunchConfig, "programmatic_stream_serialization"):  # of 1.2, say
        programmatic = LaunchConfig(grid=1, block=32, programmatic_stream_serialization=True)
        lab.add(PROGRAMMATIC, "case_001", THREE_MAPS, ready + ", programmatic",
                lambda: launches("case_001", prepared, programmatic))
        lab.add(PROGRAMMATIC, "case_001", THREE_MAPS, included + ", programmatic", lambda: launches_fresh(programmatic))
    for count in COUNTS:
        def make():
            return (numpy.int32(1),) * count

        lab.add(EMPTY, "empty", arguments_of(count), "launch", lambda: launches("empty_%d" % count, make))
        if programmatic:
            lab.add(EMPTY, "empty", arguments_of(count), "launch, programmatic",
                    lambda: launches("empty_%d" % count, make, programmatic))
        for number in GRAPHS:
            lab.add(REPLAYS, "empty", graph_of(number, arguments_of(count)), "Graph.launch",
                    lambda: replays("empty_%d" % count, make, number))
    try:
        from cuda.core.graph import GraphDefinition
    except ImportError:  # before 1.1
        GraphDefinition = None
    if GraphDefinition and hasattr(GraphDefinition, "launch"):
        lab.add(UPDATE, "case_001", graph_of(1), "node update, maps prepared", lambda: updates(False))
        lab.add(UPDATE, "case_001", graph_of(1), "node update, maps included", lambda: updates(True))

    def compiles():
        options = ProgramOptions(arch=lab.arch)

        def run(count):
            for _ in range(count):
                Program(EMPTIES, "c++", options).compile("cubin")

        return run

    lab.add(COMPILE, "empty", KERNELS_4, "compile", compiles, 1)


# ---- CuPy ------------------------------------------------------------------------------------------------------------


def cupy(lab):
    import cupy as library
    import numpy

    lab.about["arch"] = lab.sm  # what CuPy compiles for
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
    values = [numpy.int32(SIZE)] * 3 + [numpy.zeros(1, one_map) for _ in range(3)]

    def replays(name, values, number):
        once = launches(name, values)
        once(1)
        stream.synchronize()
        stream.begin_capture()
        try:
            once(number)
        finally:
            graph = stream.end_capture()

        def run(count):
            for _ in range(count):
                graph.launch(stream)

        return run

    lab.add(LAUNCH, "case_001", THREE_MAPS, "RawKernel, maps prepared as arrays", lambda: launches("case_001", values))
    for number in GRAPHS:
        lab.add(LAUNCH, "case_001", graph_of(number), "Graph.launch", lambda: replays("case_001", values, number))
    for count in COUNTS:
        ints = [numpy.int32(1)] * count
        lab.add(EMPTY, "empty", arguments_of(count), "RawKernel", lambda: launches("empty_%d" % count, ints))
        for number in GRAPHS:
            lab.add(REPLAYS, "empty", graph_of(number, arguments_of(count)), "Graph.launch",
                    lambda: replays("empty_%d" % count, ints, number))


# ---- Triton and torch ------------------------------------------------------------------------------------------------


def torch_replay(torch, once, launches=1):
    once(3)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        once(launches)

    def run(count):
        for _ in range(count):
            graph.replay()

    return run


# Triton reads a kernel's text from its file, so kernels of so many arguments stand in one.
TRITON = "import triton\n" + "".join("\n\n@triton.jit\ndef empty_%d(%s):\n    pass\n" %
                                    (count, ", ".join("a%d" % i for i in range(count))) for count in COUNTS)


def triton_empties():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "empties.py")
        with open(path, "w") as file:
            file.write(TRITON)
        place = importlib.util.spec_from_file_location("empties", path)
        module = importlib.util.module_from_spec(place)
        place.loader.exec_module(module)
    return module


def triton(lab):
    import torch
    import triton as library

    @library.jit
    def case_001(m, n, k, a, b, d):
        pass

    tensors = [torch.zeros((SIZE, SIZE), dtype=torch.float16, device="cuda") for _ in range(3)]
    empties = triton_empties()

    def launches(function, values, **options):
        kernel = function[(1,)]

        def run(count):
            for _ in range(count):
                kernel(*values, **options)

        return run

    def launches_maps(fresh, **options):
        from triton.tools.tensor_descriptor import TensorDescriptor
        kernel = case_001[(1,)]

        def make():
            return [TensorDescriptor.from_tensor(t, [BOX, BOX]) for t in tensors]

        made = make()

        def run(count):
            for _ in range(count):
                kernel(SIZE, SIZE, SIZE, *made, **options)

        def run_fresh(count):
            for _ in range(count):
                kernel(SIZE, SIZE, SIZE, *make(), **options)

        return run_fresh if fresh else run

    described = "3 maps + 3 integers, shapes and strides of the maps"
    plain = "3 tensors + 3 integers"
    name = "jit, TensorDescriptors "
    lab.add(LAUNCH, "case_001", described, name + "prepared", lambda: launches_maps(False))
    lab.add(LAUNCH, "case_001", described, name + "included", lambda: launches_maps(True))
    for number in GRAPHS:
        lab.add(LAUNCH, "case_001", graph_of(number), "CUDAGraph.replay",
                lambda: torch_replay(torch, launches_maps(False), number))
    lab.add(PROGRAMMATIC, "case_001", described, name + "prepared, programmatic",
            lambda: launches_maps(False, launch_pdl=True))
    lab.add(PROGRAMMATIC, "case_001", described, name + "included, programmatic",
            lambda: launches_maps(True, launch_pdl=True))
    lab.add(EMPTY, "empty", plain, "jit", lambda: launches(case_001, [SIZE] * 3 + tensors))
    lab.add(REPLAYS, "empty", graph_of(1, plain), "CUDAGraph.replay",
            lambda: torch_replay(torch, launches(case_001, [SIZE] * 3 + tensors)))
    for count in COUNTS:
        function, ints = getattr(empties, "empty_%d" % count), [7] * count  # 1 would be a constant to Triton
        lab.add(EMPTY, "empty", arguments_of(count), "jit", lambda: launches(function, ints))
        lab.add(EMPTY, "empty", arguments_of(count), "jit, programmatic",
                lambda: launches(function, ints, launch_pdl=True))
        for number in GRAPHS:
            lab.add(REPLAYS, "empty", graph_of(number, arguments_of(count)), "CUDAGraph.replay",
                    lambda: torch_replay(torch, launches(function, ints), number))


def torch(lab):
    import torch as library

    lab.about["arch"] = "prebuilt"  # the libraries' own kernels
    a, b, d = [library.zeros((SIZE, SIZE), dtype=library.float16, device="cuda") for _ in range(3)]

    def operator(function):
        def run(count):
            for _ in range(count):
                function(a, b, out=d)

        return run

    for name, function in (("mm", library.mm), ("add", library.add)):
        lab.add(LIBRARY_KERNELS, name, "512x512 fp16", "torch.%s(out=)" % name, lambda: operator(function))
        for number in GRAPHS:
            lab.add(LIBRARY_KERNELS, name, graph_of(number), "CUDAGraph.replay",
                    lambda: torch_replay(library, operator(function), number))


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
    return 1 if lab.failed else 0


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
        if line and out.endswith("]\n"):  # else it died while it measured
            rows += json.loads(out)
        if process.returncode:
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
