#!/bin/sh
# The wheel and the package for Debian: what is in them, and what a new user does first with what
# they install: ten lines of Python whose results are right without a GPU, ten lines of CMake. TAP on stdout.
#   usage: tests/package.sh [PROGRAM], from the top of the tree. Libraries and headers are those of build/.
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_package_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL
. tests/tap.sh
log=$work/log shown=$work/log
top=$PWD build=${program%/*}
nvrtc=$("$program" doctor 2>/dev/null | sed -n 's/^nvrtc .*, path \([^,]*\),.*/\1/p')
version=$("$program" --version | sed 's/^tilewright \([0-9.]*\).*/\1/')

logged() { # COMMAND...: its output is the log
    timeout 200 "$@" >"$log" 2>&1
}

# A shell in which nothing of this machine's environment is left: only the tools of its folders.
alone() { # FOLDER COMMAND...
    (
        cd "$1" && shift &&
            timeout 200 env -i HOME="$work/home" PATH="$bin:$PATH" PYTHONPATH="${module:-}" CUDA_VISIBLE_DEVICES= \
                CUDA_HOME="${nvrtc%/*/*}" TILEWRIGHT_CACHE="$work/cache" "$@"
    ) >"$log" 2>&1
}

# What is installed at $usr, with programs in $bin and the module in $module, or "".
used() { # WHAT
    cp -r "$top/tests/embed/c" "$work/c.$1"
    cp "$top/tests/embed/python/scale.py" "$work/c.$1"
    alone "$work" tilewright --version && grep -q "^tilewright $version, " "$log"
    ok $? "$1: the program runs"
    logged sh "$top/tests/kept.sh" "$work/driver" cc -std=gnu11 "$top/tests/whole/driver.c" -ldl &&
        alone "$work" tilewright run-program ./driver && grep -q '^9.0, 0 wrong, ' "$log"
    ok $? "$1: run-program finds its libraries"
    alone "$work" python3 "$work/map.py" && grep -qx 'a map by _maps' "$log"
    ok $? "$1: tensor maps by the extension"
    if [ -z "$nvrtc" ]; then
        skip "$1: kernels" "there is no NVRTC"
        return
    fi
    if python3 -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'; then
        alone "$work/c.$1" python3 scale.py && grep -q '^right on the emulator: (5, 1000) fp32$' "$log"
        ok $? "$1: a kernel from Python, on the emulator"
        sed 's/\* t.factor/* t.factor + 1/' "$top/tests/embed/c/scale.lua" >"$work/c.$1/scale.lua"
        ! alone "$work/c.$1" python3 scale.py && grep -q '^AssertionError' "$log"
        ok $? "$1: and a wrong one is seen"
        cp "$top/tests/embed/c/scale.lua" "$work/c.$1"
    else
        skip "$1: a kernel from Python" "there is no Python.h (python3-dev)"
    fi
    if command -v cmake >/dev/null 2>&1; then
        alone "$work/c.$1" cmake -G Ninja -S . -B made -DCMAKE_PREFIX_PATH="$usr" &&
            alone "$work/c.$1" cmake --build made && alone "$work/c.$1" made/main && grep -q '^right on ' "$log"
        ok $? "$1: a kernel by CMake"
    else
        skip "$1: a kernel by CMake" "there is no cmake"
    fi
    if command -v pkg-config >/dev/null 2>&1; then
        [ "$(PKG_CONFIG_PATH=$usr/lib/pkgconfig pkg-config --modversion tilewright)" = "$version" ] &&
            flags=$(PKG_CONFIG_PATH=$usr/lib/pkgconfig pkg-config --cflags tilewright-emu) &&
            # shellcheck disable=SC2086
            logged cc -std=c99 -fsyntax-only -x c $flags "$usr/include/tilewright/device.h"
        ok $? "$1: pkg-config finds version and headers"
    else
        skip "$1: pkg-config" "there is none"
    fi
}

# A map of what says that it lies on a GPU, and which way it went.
cat >"$work/map.py" <<'PY'
import tilewright
class A:
    __cuda_array_interface__ = {"shape": (64, 64), "typestr": "<f2", "data": (1 << 20, False), "version": 3}
assert bytes(tilewright.TensorMap(A(), (8, 8)))[:8] == (1 << 20).to_bytes(8, "little")
print("a map by " + (tilewright.maps.slow or "_maps"))
PY
if [ ! -e "$build/_maps.abi3.so" ]; then
    skip "the wheel and the package for Debian" "there is no Python.h for the extension (python3-dev)"
    echo "1..$count"
    exit "$failed"
fi

# ---- the wheel -------------------------------------------------------------------------------------------------------

logged python3 package/wheel.py "$build" "$work/wheel" && wheel=$(tail -n 1 "$log") && [ -s "$wheel" ] &&
    logged python3 package/wheel.py "$build" "$work/again" && logged cmp "$wheel" "$work/again/${wheel##*/}"
ok $? "a wheel, the same bytes twice"
python3 - "$wheel" >"$log" 2>&1 <<'PY'
import base64, csv, hashlib, io, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
names = wheel.namelist()
record, = (name for name in names if name.endswith(".dist-info/RECORD"))
rows = list(csv.reader(io.StringIO(wheel.read(record).decode())))
assert sorted(row[0] for row in rows) == sorted(names) and len(set(names)) == len(names)
for name, digest, size in rows:
    data = wheel.read(name)
    own = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    assert name == record or (digest == own and int(size) == len(data)), name
for end in ("/scripts/tilewright", "/data/lib/libtilewright.a", "/data/include/tilewright/emu/emu.h",
            "/data/lib/tilewright/libcudart.so.13",
            "tilewright/__init__.py", "tilewright/libtilewright-python.so", "tilewright/_maps.abi3.so",
            "/tilewright-config.cmake"):
    assert any(name.endswith(end) for name in names), end
PY
ok $? "its record has every file, with its digest"
if python3 -m pip --version >/dev/null 2>&1; then
    logged python3 -m pip install --no-deps --no-index --no-warn-script-location --disable-pip-version-check \
        --prefix "$work/env" "$wheel"
    ok $? "pip install of it"
    # pip's own scheme says where below the prefix.
    bin=$(find "$work/env" -path '*/bin/tilewright' -printf '%h\n')
    module=$(find "$work/env" -name maps.py -printf '%h\n') module=${module%/*} usr=${bin%/*}
    used wheel
    # Where the program is beside the module alone, as --target has it.
    logged python3 -m pip install --no-deps --no-index --disable-pip-version-check --target "$work/site" "$wheel"
    bin=$work/none module=$work/site
    if [ -n "$nvrtc" ]; then
        printf '%s\n' 'import tilewright' 'print(tilewright.explain("dtype=bf16 dim=100,64 stride=200 box=64,64"))' \
            >"$work/explain.py"
        alone "$work" python3 explain.py && grep -q TMA-STR16 "$log"
        ok $? "pip install --target: the module finds its program"
    fi
    rm "$work/site/tilewright/_maps.abi3.so"
    alone "$work" python3 map.py &&
        grep -q '^a map by tensor maps go through ctypes: there is no _maps.abi3.so; .*python3-dev' "$log"
    ok $? "without the extension maps go through ctypes, and one sentence says why"
else
    skip "pip install of it" "there is no pip"
fi

mkdir "$work/bare" && ln -s "$PWD/$build/tilewright" "$work/bare/tilewright"
python3 package/wheel.py "$work/bare" "$work/none" >"$log" 2>&1
[ $? -eq 3 ] && [ ! -e "$work/none" ] && grep -q 'there is no _maps.abi3.so: install python3-dev' "$log"
ok $? "no wheel without the extension"

# ---- the package -----------------------------------------------------------------------------------------------------

if command -v dpkg-deb >/dev/null 2>&1; then
    logged sh package/deb.sh "$build" "$work/deb" && deb=$(tail -n 1 "$log") && [ -s "$deb" ]
    ok $? "a package for Debian"
    [ "$(dpkg-deb -f "$deb" Package Version | tr '\n' ' ')" = "Package: tilewright Version: $version " ] &&
        dpkg-deb -f "$deb" Depends | grep -qx 'libc6 (>= [0-9.]*)' && dpkg-deb -c "$deb" >"$log" &&
        ! grep -qv ' root/root ' "$log"
    ok $? "its fields, and whose files they are"
    logged dpkg-deb -x "$deb" "$work/root"
    ok $? "it unpacks"
    usr=$work/root/usr bin=$work/root/usr/bin module=$usr/lib/python3/dist-packages
    used deb
else
    skip "a package for Debian" "there is no dpkg-deb"
fi
echo "1..$count"
[ "$failed" -eq 0 ]
