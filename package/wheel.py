"""A wheel of Tilewright: the program, its libraries and headers, and the module tilewright (python/tilewright).

    usage: python3 package/wheel.py BUILD FOLDER, at the top of the tree

BUILD is the folder of the build. FOLDER receives tilewright-VERSION-py3-none-PLATFORM.whl, by the specification of
binary distributions (packaging.python.org), and its path is printed. The same build gives the same bytes. `pip install`
puts what `ninja install` writes below the environment's prefix: the program where the environment's programs are, what
CMake and pkg-config find it by at their places. `tilewright-...whl[nvrtc]` brings NVRTC too. It always has the
extension for tensor maps, python/maps.c, so that those who install it need neither a compiler nor Python's headers.
"""
import base64
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

EPOCH = (1980, 1, 1, 0, 0, 0)
STRIPPED = ("bin/tilewright", ".a", ".so", ".so.1", ".so.13")


def staged(build, folder):
    """What ninja install writes, below `folder`, without what debuggers alone read."""
    subprocess.run(["sh", "package/install.sh", build], check=True, env=dict(os.environ, PREFIX="/.", DESTDIR=folder))
    for path in [os.path.join(build, "libtilewright-python.so"), *glob.glob(os.path.join(build, "_maps.*.so"))]:
        shutil.copy(path, folder)
    for top, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(top, name)
            if shutil.which("strip") and path.endswith(STRIPPED):
                subprocess.run(["strip", "--strip-debug", "--enable-deterministic-archives", path], check=True)


def members(folder, name):
    """(Path in the wheel, path here, mode) of each file, in order."""
    data = name + ".data"
    for file in sorted(os.listdir(folder)):
        if file.endswith(".so"):
            yield "tilewright/" + file, os.path.join(folder, file), 0o755
    for file in sorted(os.listdir("python/tilewright")):
        if file.endswith(".py"):
            yield "tilewright/" + file, "python/tilewright/" + file, 0o644
    for top, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            path = os.path.join(top, file)
            inside = os.path.relpath(path, folder)
            if inside == "bin/tilewright":
                yield data + "/scripts/tilewright", path, 0o755
            elif top != folder:
                yield data + "/data/" + inside, path, 0o755 if ".so" in inside else 0o644


def metadata(version):
    return ("Metadata-Version: 2.1\nName: tilewright\nVersion: %s\n"
            "Summary: CUDA kernels from a Lua spec of tiles, and an emulator that runs them without a GPU\n"
            "Requires-Python: >=3.10\nProvides-Extra: nvrtc\n"
            'Requires-Dist: nvidia-cuda-nvrtc<14,>=13.0; extra == "nvrtc"\n'
            "Description-Content-Type: text/markdown\n\n" % version) + open("README.md", encoding="utf-8").read()


def main(build, out):
    program = os.path.join(build, "tilewright")
    told = subprocess.run([program, "--version"], check=True, stdout=subprocess.PIPE, text=True)
    version = re.match(r"tilewright ([0-9.]+)", told.stdout)[1]
    tag = "py3-none-" + re.sub("[-.]", "_", sysconfig.get_platform())
    name = "tilewright-" + version
    info = name + ".dist-info/"
    record = []
    with tempfile.TemporaryDirectory() as folder:
        staged(build, folder)
        os.makedirs(out, exist_ok=True)
        path = os.path.join(out, "%s-%s.whl" % (name, tag))
        with zipfile.ZipFile(path + ".new", "w", zipfile.ZIP_DEFLATED) as wheel:

            def add(inside, data, mode):
                entry = zipfile.ZipInfo(inside, EPOCH)
                entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
                wheel.writestr(entry, data)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                record.append("%s,sha256=%s,%d\n" % (inside, digest, len(data)))

            for inside, place, mode in members(folder, name):
                with open(place, "rb") as file:
                    add(inside, file.read(), mode)
            add(info + "METADATA", metadata(version).encode(), 0o644)
            add(info + "WHEEL", ("Wheel-Version: 1.0\nGenerator: tilewright (%s)\nRoot-Is-Purelib: false\nTag: %s\n" % (
                version, tag)).encode(), 0o644)
            with open("LICENSE", "rb") as file:
                add(info + "LICENSE", file.read(), 0o644)
            record.append(info + "RECORD,,\n")
            wheel.writestr(zipfile.ZipInfo(info + "RECORD", EPOCH), "".join(record))
        os.replace(path + ".new", path)
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 3 or not os.access(os.path.join(sys.argv[1], "tilewright"), os.X_OK):
        print("usage: python3 package/wheel.py BUILD FOLDER; BUILD holds what ninja has built", file=sys.stderr)
        sys.exit(2)
    if not os.path.exists(os.path.join(sys.argv[1], "_maps.abi3.so")):
        print("wheel.py: there is no _maps.abi3.so: install python3-dev, then ./configure && ninja wheel",
              file=sys.stderr)
        sys.exit(3)
    main(*sys.argv[1:])
