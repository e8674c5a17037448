"""How `tilewright bench SPEC` measures (gen/time/time.h), for what only Python has: bursts with pauses and sustained
load, graph replays, inputs that rotate through more than the L2; and its rows. peers_torch.py, peers_attention.py and
peers_tilelang.py use it. Needs torch."""
import ctypes
import json
import os
import random
import statistics
import sys
import time

BURST_SECONDS, PAUSE_SECONDS, PAUSE_TIMES, SUSTAINED_SECONDS = 2e-3, 10e-3, 5, 0.4
SETTLE_SECONDS = 4.0
ROUNDS = {"burst": 15, "sustained": 5}
L2_TIMES, SETS_MOST, NODES_MOST, READINGS = 4, 512, 4096, 5


class Board:
    """Clock, power and energy of the first GPU by NVML; None where it is not there."""

    def __init__(self):
        self.device = None
        try:
            self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
            device = ctypes.c_void_p()
            if self.nvml.nvmlInit_v2() == 0 and self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0:
                self.device = device
        except OSError:
            pass

    def clock(self):
        value = ctypes.c_uint()
        fine = self.device and self.nvml.nvmlDeviceGetClockInfo(self.device, 1, ctypes.byref(value)) == 0
        return value.value if fine else None

    def joules(self):
        value = ctypes.c_ulonglong()
        fine = self.device and self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.device, ctypes.byref(value)) == 0
        return value.value * 1e-3 if fine else None


def count_sets(bytes_of_one):
    """Of inputs, so that together they exceed the L2."""
    import torch
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    return max(2, min(SETS_MOST, L2_TIMES * l2 // bytes_of_one + 1))


class Candidate:
    """launch(set) makes one launch into the current stream. details: more members of its rows."""

    def __init__(self, backend, launch, sets, **details):
        self.backend, self.launch, self.sets, self.details = backend, launch, sets, details
        self.seconds = {"burst": [], "sustained": []}
        self.clocks = {"burst": [], "sustained": []}
        self.joules = self.busy = self.launches = 0
        self.record(sets)
        one = self.replay(1) / self.count
        wanted = int(BURST_SECONDS / one)
        wanted = min(NODES_MOST // sets * sets, -(-wanted // sets) * sets) if wanted >= sets else max(1, wanted)
        if wanted != sets:
            self.record(wanted)
        self.one = one

    def record(self, count):
        import torch
        self.launch(0)
        torch.cuda.synchronize()
        self.graph, self.count = torch.cuda.CUDAGraph(), count
        with torch.cuda.graph(self.graph):
            for i in range(count):
                self.launch(i % self.sets)

    def start(self, before, times, behind=0):
        """Does not wait."""
        import torch
        self.events = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        for _ in range(before):
            self.graph.replay()
        self.events[0].record()
        for _ in range(times):
            self.graph.replay()
        self.events[1].record()
        for _ in range(behind):
            self.graph.replay()

    def finish(self):
        self.events[1].synchronize()
        return self.events[0].elapsed_time(self.events[1]) * 1e-3

    def replay(self, times, before=1):
        self.start(before, times)
        return self.finish()


def burst(c, board):
    time.sleep(max(PAUSE_SECONDS, PAUSE_TIMES * c.one * c.count))
    c.start(1, 1)
    c.clocks["burst"].append(board.clock())
    c.seconds["burst"].append(c.finish() / c.count)


def sustain(c, board):
    """All is enqueued at once, and a little more, which runs while NVML is asked and the next candidate comes."""
    half, graph = SUSTAINED_SECONDS / 2, c.one * c.count
    times = int(half / graph) + 1
    c.start(times, times, times // 4)
    c.events[0].synchronize()
    begin, joules = time.monotonic(), board.joules()
    for i in range(1, READINGS + 1):
        time.sleep(max(0.0, begin + i * half / (READINGS + 1) - time.monotonic()))
        c.clocks["sustained"].append(board.clock())
    seconds = c.finish()
    c.seconds["sustained"].append(seconds / c.count / times)
    if joules is not None:
        c.joules += board.joules() - joules
        c.busy += seconds
        c.launches += c.count * times


def settle(candidates):
    """A board that comes from rest swings about its power limit for seconds; rounds begin behind them."""
    begin, half = time.monotonic(), SUSTAINED_SECONDS / 2
    while time.monotonic() - begin < SETTLE_SECONDS:
        for c in candidates:
            c.replay(int(half / (c.one * c.count)) + 1, 0)


def measure(candidates, modes, rounds=None):
    board, order = Board(), random.Random(1)
    for mode in modes:
        time.sleep(10 * PAUSE_SECONDS)
        if mode == "sustained":
            settle(candidates)
        for _ in range(rounds or ROUNDS[mode]):
            for c in order.sample(candidates, len(candidates)):
                (burst if mode == "burst" else sustain)(c, board)


def mean(values):
    known = [v for v in values if v is not None]
    return statistics.fmean(known) if known else None


def driver_version():
    """Of CUDA, as the driver has it: "13.0"."""
    version = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    return "%d.%d" % (version.value // 1000, version.value % 1000 // 10)


RUN = "%x-%d" % (time.time_ns() // 1000, os.getpid())


def rows(kernel, size, candidates, flops, moved):
    """A row for each candidate and mode, as `tilewright bench --json` writes them."""
    import torch
    properties, driver = torch.cuda.get_device_properties(0), driver_version()
    for mode in ROUNDS:
        timed = [c for c in candidates if c.seconds[mode]]
        best = min((statistics.median(c.seconds[mode]) for c in timed), default=None)
        for c in timed:
            seconds, long = statistics.median(c.seconds[mode]), mode == "sustained" and c.launches
            row = {
                "kernel": kernel, "backend": c.backend, "arch": "sm_%d%d" % (properties.major, properties.minor),
                "gpu_model": properties.name, "compute_capability": "%d.%d" % (properties.major, properties.minor),
                "driver": driver, "problem_size": size, "mode": mode, "latency_ms": seconds * 1e3,
                "latency_min_ms": min(c.seconds[mode]) * 1e3, "latency_max_ms": max(c.seconds[mode]) * 1e3,
                "gflop": flops * 1e-9, "tflops": flops / seconds * 1e-12,
                "gbs": moved / seconds * 1e-9, "ratio": best / seconds,
                "compilation_time": None, "clock_mhz": mean(c.clocks[mode]),
                "power_w": c.joules / c.busy if long else None, "temperature_c": None,
                "energy_mj": c.joules / c.launches * 1e3 if long else None, "clock_reasons": 0,
                "boxes": None, "clocks_a_box": None, "setup": None,
                "rounds": len(c.seconds[mode]), "sets": c.sets, "plain": True, "algorithm": None, "run": RUN}
            row.update(c.details)
            yield row


def sizes(words):
    """"4096,4096,1536" and so on."""
    for word in words:
        yield tuple(int(extent) for extent in word.split(","))


def print_rows(out):
    sys.stdout.write("[" + ",\n ".join(json.dumps(row) for row in out) + "]\n")
    for row in out:
        print("%-10s %-28s %-24s %-9s %10.2f us %8.1f TFLOP/s" % (
            row["kernel"], row["backend"], ",".join("%s=%d" % pair for pair in row["problem_size"].items()),
            row["mode"], row["latency_ms"] * 1e3, row["tflops"]), file=sys.stderr)
