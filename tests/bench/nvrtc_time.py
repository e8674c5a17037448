r"""What NVRTC takes for emitted kernels: seconds of PTX and of a cubin, through ctypes, without the program.

    build/tilewright gen specs/attention.lua -o build/nvrtc_time
    python3 tests/bench/nvrtc_time.py [--rounds N] [--beside NAME DIR]... build/nvrtc_time [KERNEL...] >rows.json

Each ENTRY.ARCH.cu of the folder, or those of the KERNELs, is compiled as `run` and the emitted launcher do (C++17, for
its architecture), in a process of its own that has compiled something before, so that NVRTC's own start is not counted,
each time with an empty kernel of another name behind it, so that no text was there before, and without the cache that
NVRTC 13 has where a driver is: it keeps what was made of a text, and the cubin of a text whose PTX was made costs ptxas
alone. Least and median of the rounds, by the clock and of the processor: the second for a machine that has other work.
Some sandboxes count a process's time in coarse steps and miss most of it; there the clock of an idle machine is right.
--beside: files of the same names from another folder are compiled in turn with them, as the rows of NAME.
"""
import argparse
import ctypes
import glob
import json
import multiprocessing
import os
import resource
import statistics
import sys
import time

PLACES = ['libnvrtc.so.13', 'libnvrtc.so.12', 'libnvrtc.so']
FOLDERS = [os.environ.get('CUDA_HOME'), os.environ.get('CUDA_PATH'), '/usr/local/cuda', 'build/cuda/nvidia/cu13']


def open_nvrtc():
    tries = [os.path.join(folder, lib, name) for folder in FOLDERS if folder for lib in ('lib64', 'lib')
             for name in PLACES] + PLACES
    for path in tries:
        try:
            return ctypes.CDLL(path)
        except OSError:
            pass
    sys.exit('nvrtc_time.py: no libnvrtc; set CUDA_HOME')


def cpu_model():
    try:
        with open('/proc/cpuinfo') as file:
            return next((line.split(':', 1)[1].strip() for line in file if line.startswith('model name')), 'unknown')
    except OSError:
        return 'unknown'


def compile_once(nvrtc, name, text, option):
    """Seconds by the clock and of the processor, user time, and bytes of what was made."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    words = [option, b'--std=c++17'] + ([b'--no-cache'] if major.value >= 13 else [])
    options = (ctypes.c_char_p * len(words))(*words)
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_utime
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, name, 0, None, None)
    if nvrtc.nvrtcCompileProgram(program, len(words), options):
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(log.value.decode())
    seconds = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    ask = nvrtc.nvrtcGetCUBINSize if b'=sm_' in option else nvrtc.nvrtcGetPTXSize
    if ask(program, ctypes.byref(size)):
        raise RuntimeError('NVRTC has made nothing')
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return seconds + (size.value,)


def measure(job):
    path, rounds = job
    nvrtc = open_nvrtc()
    with open(path, 'rb') as file:
        text = file.read()
    name = os.path.basename(path).encode()
    arch = name.decode().split('.')[-2].removeprefix('sm_')
    compile_once(nvrtc, b'empty.cu', b'__global__ void empty() {}', b'--gpu-architecture=sm_' + arch.encode())
    times, last = {'ptx': [], 'cubin': []}, b'extern "C" __global__ void another_%d_%d() {}\n'
    for number in range(rounds):
        for output, kind in (('ptx', 'compute_'), ('cubin', 'sm_')):
            option = ('--gpu-architecture=' + kind + arch).encode()
            times[output].append(compile_once(nvrtc, name, text + last % (os.getpid(), 2 * number + (output == 'cubin')), option))
    return text.count(b'\n'), times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--beside', nargs=2, action='append', default=[], metavar=('NAME', 'DIR'))
    parser.add_argument('folder')
    parser.add_argument('kernel', nargs='*')
    arguments = parser.parse_args()
    nvrtc, major, minor = open_nvrtc(), ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    rows = []
    for path in sorted(glob.glob(os.path.join(arguments.folder, '*.cu'))):
        entry, arch = os.path.basename(path).split('.')[:2]
        if arguments.kernel and entry.split('__')[0] not in arguments.kernel:
            continue
        for name, folder in [('tilewright', arguments.folder)] + arguments.beside:
            other = os.path.join(folder, os.path.basename(path))
            if not os.path.exists(other):
                continue
            with multiprocessing.get_context('spawn').Pool(1) as pool:
                lines, times = pool.map(measure, [(other, arguments.rounds)])[0]
            row = {'kernel': entry, 'arch': arch, 'backend': name, 'nvrtc': '%d.%d' % (major.value, minor.value),
                   'lines': lines, 'rounds': arguments.rounds}
            for output, seconds in times.items():
                row[output + '_bytes'] = seconds[0][2]
                for unit, values in zip(('_s', '_user_s'), zip(*(s[:2] for s in seconds))):
                    row[output + unit] = round(min(values), 3)
                    row[output + '_median' + unit] = round(statistics.median(values), 3)
            rows.append(row)
            print('%-40s %-7s %-12s %5d lines  ptx %.3f s, user %.3f s  cubin %.3f s, user %.3f s' %
                  (entry, arch, name, lines, row['ptx_s'], row['ptx_user_s'], row['cubin_s'], row['cubin_user_s']),
                  file=sys.stderr)
    about = {'made_by': 'tests/bench/nvrtc_time.py', 'what': 'NVRTC for emitted kernels, seconds: least and median',
             'cpu': cpu_model()}
    print(json.dumps(about)[:-1] + ', "rows": [\n ' + ',\n '.join(map(json.dumps, rows)) + '\n]}')


if __name__ == '__main__':
    main()
