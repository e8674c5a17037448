#!/bin/sh
# Emitted modules of Python: they compile without a word, keep to the stable ABI, refuse what is wrong without a launch,
# in thousands of random calls and from eight threads, quietly under ASan; and compute on the emulator. TAP on stdout.
# So does the package tilewright (python/tilewright).
#   usage: tests/python.sh [PROGRAM], from the top of the tree. Needs a C compiler, Python 3.10 or newer with its headers,
#   build/libtilewright-emu.a and build/python-module; what needs NVRTC, clang, PyTorch or a free-threaded
#   Python is told and not run.
set -u
program=${1:-build/tilewright}
cc=${CC:-cc}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_python_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C PYTHONDONTWRITEBYTECODE=1
export LC_ALL PYTHONDONTWRITEBYTECODE
. tests/tap.sh
nvrtc=$("$program" doctor 2>/dev/null | sed -n 's/^nvrtc .*, path \([^,]*\),.*/\1/p')
archives="-Wl,--exclude-libs,ALL build/libtilewright-emu.a build/libtilewright.a -l:libxxhash.a -lm -ldl"

end() {
    echo "1..$count"
    [ "$failed" -eq 0 ]
    exit
}

# headers PYTHON: where its Python.h is, or nothing.
headers() {
    "$1" -c 'import os, sys, sysconfig
folder = sysconfig.get_path("include")
if sys.version_info >= (3, 10) and os.path.exists(os.path.join(folder, "Python.h")): print(folder)' 2>/dev/null
}

# said NAME: what a Python test has printed becomes lines of TAP; status $status.
said() {
    while read -r is line; do
        case $is in
        ok) ok 0 "$1: $line" ;;
        not) ok 1 "$1: $line" "$work/none" ;;
        '#') echo "# $line" ;;
        *) echo "# $is $line" ;;
        esac
    done <"$work/log"
    [ "$status" -eq 0 ] || grep -q '^not ok' "$work/log" || ok 1 "$1: status $status" "$work/log"
}

# ---- what is emitted ---------------------------------------------------------------------------------------------

"$program" gen tests/python/kernels.lua --torch -o "$work/gen" >"$work/log" 2>&1
ok $? "gen --torch" "$work/log"
"$program" gen tests/python/kernels.lua -o "$work/plain" 2>"$work/log" && mkdir "$work/again" &&
    "$program" gen tests/python/kernels.lua --python -o "$work/again" 2>>"$work/log"
(cd "$work/gen" && find . -type f | sort) | grep -v -e '_python.c$' -e '.pyi$' -e '_torch.py$' -e '_torch.cpp$' \
    >"$work/files"
(cd "$work/plain" && find . -type f | sort) | cmp -s - "$work/files" && for file in $(cat "$work/files"); do
    cmp -s "$work/gen/$file" "$work/plain/$file" || echo "$file" >>"$work/log"
done
for file in py_gemm_python.c py_gemm.pyi; do
    cmp "$work/gen/$file" "$work/again/$file" >>"$work/log" 2>&1
done
[ ! -e "$work/again/py_gemm_torch.py" ] && [ ! -e "$work/again/py_gemm_torch.cpp" ] && [ ! -s "$work/log" ]
ok $? "the pair is the same with and without; --python leaves out PyTorch's files" "$work/log"

# A name that Python has already.
cat >"$work/names.lua" <<'END'
local M, N, K = dims "M N K"
local base = { family = "gemm", A = tensor { M, K, dtype = "bf16" }, B = tensor { N, K, dtype = "bf16" },
  D = tensor { M, N, dtype = "bf16" }, tile = { m = 64, n = 32, k = 64 }, arch = { sm_90a = {} } }
local function with(name, key, value)
  local k = {}
  for n, v in pairs(base) do k[n] = v end
  if key then k[key] = value; k.epilogue = function(acc, t) return acc + t[key] end end
  kernel(name)(k)
end
with "lambda"
with("k2", "is", scalar "fp32")
with("k3", "stream", tensor { N, dtype = "fp32", axes = "n" })
with("k4", "PyObject", scalar "fp32")
END
"$program" gen "$work/names.lua" --python -o "$work/names" >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && [ ! -e "$work/names" ] && [ "$(grep -c '^.*names.lua:[0-9]*: error: ' "$work/err")" -eq 4 ] &&
    grep -q "kernel 'lambda': 'lambda' can be no name for gen --python: it is a word of Python; .*PYTHON-NAME" "$work/err" &&
    grep -q "'is' can be no name .* word of Python" "$work/err" &&
    grep -q "'stream' can be no name .* has a parameter of that name" "$work/err" &&
    grep -q "'PyObject' can be no name .* one of Python's headers" "$work/err"
ok $? "names that Python cannot have" "$work/err"

# names that are the module's own, or PyTorch's; and a kernel that PyTorch has no tensor to find by.
sed '/^with/d' "$work/names.lua" >"$work/torch.lua"
cat >>"$work/torch.lua" <<'END'
with "load"
with "info"
with "torch_in_place"
END
"$program" gen "$work/torch.lua" --python -o "$work/names" >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && [ ! -e "$work/names" ] && [ "$(grep -c 'the module has that name itself.*PYTHON-NAME' "$work/err")" -eq 3 ]
ok $? "kernels with the names of the module's functions" "$work/err"
sed '/^with/d' "$work/names.lua" >"$work/torch.lua"
cat >>"$work/torch.lua" <<'END'
with("k1", "torch", scalar "fp32")
with("k2", "Optional", tensor { N, dtype = "fp32", axes = "n" })
local R, Tuple = dims "R Tuple"
kernel "fill" {
  y = tensor { R, Tuple, dtype = "fp32", out = true }, f = scalar "fp32",
  axes = "r c", tile = { r = 4, c = 64 }, grid = { r = R, c = Tuple }, arch = { sm_80 = {} },
  program = function(t, at, tile)
    store(t.y, span(at.r, tile.r), span(at.c, tile.c), rows(0) + columns(0) + t.f)
  end,
}
END
"$program" gen "$work/torch.lua" --torch -o "$work/names" >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && [ ! -e "$work/names" ] && [ "$(grep -c "PyTorch's file imports that name.*PYTHON-NAME" "$work/err")" -eq 3 ] &&
    grep -q "kernel 'fill': .*write --python .PYTHON-TORCH" "$work/err"
ok $? "what PyTorch's file cannot have" "$work/err"
"$program" gen "$work/torch.lua" --python -o "$work/names" >"$work/err" 2>&1
ok $? "and NAME_python.c can" "$work/err"

# ---- modules -------------------------------------------------------------------------------------------------------

include=$(headers python3)
if [ -z "$include" ]; then
    skip "modules" "there is no python3 of 3.10 or newer with Python.h (python3-dev)"
    end
fi
warnings="-D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"

# module NAME FOLDER FLAG...: a shared object of the module NAME.
module() {
    name=$1 folder=$2
    shift 2
    sh tests/kept.sh "$folder/$name.abi3.so" "$cc" -fPIC -shared "$@" -isystem "$include" -I"$work/gen" \
        "$work/gen/${name}_python.c" "$work/gen/$name.c" -ldl -lm
}

# lab INCLUDE SUFFIX: the module of tests, with drivers of its own.
lab() {
    sh tests/kept.sh "$work/so/fake_gpu$2" "$cc" -std=c11 -D_GNU_SOURCE -O1 -fPIC -shared -isystem "$1" -Iruntime -Itests \
        tests/python/fake_gpu.c tests/embed/mock_driver.c $archives
}
mkdir -p "$work/so" "$work/asan" "$work/cuda/lib64"
{
    for name in py_gemm py_split py_rows py_pair py_conv py_pointers; do
        # shellcheck disable=SC2086
        module $name "$work/so" -std=c99 -O1 $warnings || echo "$name: status $?"
    done
    lab "$include" .abi3.so || echo "fake_gpu: status $?"
    sh tests/kept.sh "$work/cuda/lib64/libnvrtc.so.12" "$cc" -w -fPIC -shared -Iruntime -Itests -Itests/embed \
        tests/embed/mock_nvrtc.c tests/embed/mock_driver.c $archives || echo "the compiler's stand-in: status $?"
    echo 'int nothing;' | "$cc" -x c - -fPIC -shared -o "$work/cuda/lib64/libnvrtc-builtins.so.12.9" || echo "status $?"
} >"$work/log" 2>&1
[ ! -s "$work/log" ]
ok $? "modules compile as C99 without a word" "$work/log"
[ "$failed" -eq 0 ] || end
if command -v clang >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    sh tests/kept.sh - clang -std=c99 $warnings -fsyntax-only -isystem "$include" -I"$work/gen" \
        "$work/gen/py_rows_python.c" >"$work/log" 2>&1
    ok $? "and by clang" "$work/log"
else
    skip "and by clang" "there is no clang"
fi
nm -D --defined-only "$work/so/py_gemm.abi3.so" | sed 's/.* //' | grep -v '^py_gemm_' >"$work/symbols"
[ "$(cat "$work/symbols")" = PyInit_py_gemm ]
ok $? "beside the pair's functions PyInit_NAME alone is to be seen" "$work/symbols"

# python PYTHON FOLDER TEST ARGUMENT...: a test with the modules of a folder.
python() {
    with=$1 folder=$2
    shift 2
    PYTHONPATH=$folder:$work/so:tests/python timeout 300 "$with" "$@" >"$work/log" 2>&1
    status=$?
}
CUDA_HOME=$work/cuda
export CUDA_HOME
python python3 "$work/so" tests/python/calls.py
said calls
python python3 "$work/so" tests/python/streams.py
said streams
python python3 "$work/so" tests/python/random_calls.py 1 10000 500
said random
python python3 "$work/so" tests/python/operators.py "$work/gen"
said operators

# ---- torch's tensors in place -----------------------------------------------------------------------------------------

# in_place FOLDER: py_gemm in $folder, with a stand-in for py_gemm_torch.cpp, and a torch of the stand-in's version.
in_place() {
    mkdir -p "$1"
    printf '%s\n' 'from lab import Tensor' '__version__ = "2.11.0+cu130"' >"$1/torch.py"
    # shellcheck disable=SC2086
    sh tests/kept.sh "$1/py_gemm.abi3.so" "$cc" -fPIC -shared -DTILEWRIGHT_TORCH -DNAME=py_gemm -std=c99 -O1 $warnings \
        -isystem "$include" -I"$work/gen" "${2:-$work/gen/py_gemm_python.c}" "$work/gen/py_gemm.c" \
        tests/python/fake_torch.c -ldl -lm
}
in_place "$work/in_place" >"$work/log" 2>&1
ok $? "a module with torch's tensors in place" "$work/log"
python python3 "$work/in_place" tests/python/in_place.py "$work/so/py_gemm.abi3.so"
said "in place"
for test in "calls.py" "random_calls.py 1 5000 200"; do
    # shellcheck disable=SC2086
    python python3 "$work/in_place" tests/python/$test
    ok $status "in place: $test" "$work/log"
done
# misplaced SED WHAT TEST: without what the line says, the test fails.
misplaced() {
    sed "$1" "$work/gen/py_gemm_python.c" >"$work/misplaced.c"
    ! cmp -s "$work/misplaced.c" "$work/gen/py_gemm_python.c" && in_place "$work/misplaced" "$work/misplaced.c" \
        >"$work/log" 2>&1 && python python3 "$work/misplaced" tests/python/in_place.py "$work/so/py_gemm.abi3.so" &&
        [ $status -ne 0 ] && grep -q "$3" "$work/log"
    ok $? "seen where $2" "$work/log"
}
misplaced 's/ (exchange) == READ(torchs) ? / (exchange) != READ(torchs) ? /' "another exchange is replaced" "^not ok others have"
misplaced 's/^    PyErr_Clear();$//' "an exception of the import stays" "SystemError"
misplaced 's/^    e = PREFERRED(e);$//' "none is replaced" "^not ok torch.s tensors"

# With PyTorch's own headers and tensors.
if python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    python python3 "$work/gen" tests/python/torch_tensors.py "$work/gen"
    said "PyTorch's tensors"
else
    skip "PyTorch's tensors" "there is no PyTorch with a GPU"
fi

# The same files under other Pythons that are here.
others=0
for other in python3.10 python3.11 python3.12 python3.13 python3.14; do
    "$other" -c 'import sys; sys.exit(sys.implementation.name != "cpython")' >/dev/null 2>&1 || continue
    others=$((others + 1))
    python "$other" "$work/so" tests/python/calls.py
    ok $status "calls under $other, by the same file" "$work/log"
done
[ $others -gt 0 ] || skip "calls under other Pythons, by the same file" "there is no other"
free=
for other in python3.14t python3.13t; do
    [ -n "$free" ] || [ -z "$(headers "$other")" ] || free=$other
done
if [ -n "$free" ]; then
    include=$(headers "$free")
    mkdir -p "$work/free"
    for name in py_gemm py_rows py_pointers; do
        # shellcheck disable=SC2086
        module $name "$work/free" -std=c99 -O1 $warnings && mv "$work/free/$name.abi3.so" "$work/free/$name.so"
    done
    lab "$include" .so && mv "$work/so/fake_gpu.so" "$work/free"
    python "$free" "$work/free" tests/python/calls.py
    ok $status "calls under $free" "$work/log"
    python "$free" "$work/free" tests/python/random_calls.py 1 1000 5000
    ok $status "eight threads under $free, without the lock" "$work/log"
    include=$(headers python3)
else
    skip "a free-threaded Python" "there is none"
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 13))' &&
        "$cc" -std=c99 $warnings -Wno-pedantic -DPy_GIL_DISABLED=1 -fsyntax-only -isystem "$include" \
            "$work/gen/py_split_python.c"
fi

# ---- under ASan ------------------------------------------------------------------------------------------------------

asan=$("$cc" -print-file-name=libasan.so)
ubsan=$("$cc" -print-file-name=libubsan.so)
if [ -e "$asan" ] && [ -e "$ubsan" ]; then
    for name in py_gemm py_rows; do
        module $name "$work/asan" -g1 -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined >"$work/log" 2>&1 ||
            ok 1 "$name with sanitizers" "$work/log"
    done
    # The interpreter itself: a script that stands for it, as under pyenv, would be sanitized too.
    real=$(python3 -c 'import sys; print(sys.executable)')
    for test in "calls.py" "random_calls.py 2 10000 100"; do
        # shellcheck disable=SC2086
        ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$asan $ubsan" PYTHONPATH=$work/asan:$work/so:tests/python \
            timeout 300 "$real" tests/python/$test >"$work/log" 2>&1
        status=$?
        grep -q '^ok' "$work/log" && [ $status -eq 0 ] && ! grep -q 'runtime error' "$work/log"
        ok $? "quiet with sanitizers: $test" "$work/log"
    done
    # A module with a bug: it writes past the arguments' slots.
    mkdir -p "$work/bug"
    sed 's/for (n = 0; n < slots_in_all; n++)$/for (n = 0; n < slots_in_all + 8; n++)/' "$work/gen/py_gemm_python.c" >"$work/bug/py_gemm_python.c"
    ! cmp -s "$work/bug/py_gemm_python.c" "$work/gen/py_gemm_python.c" &&
        "$cc" -g1 -O1 -fsanitize=address -fPIC -shared -isystem "$include" -I"$work/gen" "$work/bug/py_gemm_python.c" \
            "$work/gen/py_gemm.c" -ldl -lm -o "$work/bug/py_gemm.abi3.so" 2>"$work/log" &&
        ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=$asan PYTHONPATH=$work/bug:$work/asan:$work/so:tests/python \
            "$real" tests/python/calls.py >"$work/log" 2>&1
    grep -q 'AddressSanitizer' "$work/log"
    ok $? "a planted bug is seen" "$work/log"
else
    skip "quiet with sanitizers" "there is no libasan.so"
fi

# ---- checks that are left out are seen -------------------------------------------------------------------------------

# planted SED WHAT TEST: without what the line says, the test fails.
planted() {
    mkdir -p "$work/planted"
    sed "$1" "$work/gen/py_gemm_python.c" >"$work/planted/py_gemm_python.c"
    ! cmp -s "$work/planted/py_gemm_python.c" "$work/gen/py_gemm_python.c" &&
        "$cc" -O0 -w -fPIC -shared -isystem "$include" -I"$work/gen" "$work/planted/py_gemm_python.c" \
            "$work/so/py_gemm.o" -ldl -lm -o "$work/planted/py_gemm.abi3.so" &&
        python python3 "$work/planted" tests/python/calls.py && [ $status -ne 0 ] && grep -q "^not ok .*$3" "$work/log"
    ok $? "seen where $2" "$work/log"
}
sh tests/kept.sh "$work/so/py_gemm.o" "$cc" -O0 -w -fPIC -c -I"$work/gen" "$work/gen/py_gemm.c"
planted 's/(t->device_type != dl_cuda \&\& t->device_type != dl_cuda_managed) ||/0 ||/' "the device is not looked at" "the CPU"
planted 's/ || !is_of_type(t, e)//' "the type is not" "dtype"
planted 's/if (!same_shapes(v, given, args))/if (0)/' "shapes are not" "shape"
planted 's/wrong |= extent > 1 \&\& own <= 0 ? -1 : 0;//' "strides are not" "a negative stride"
planted 's/wrong |= extent > 1 \&\& own != 1 ? -1 : 0;//' "the last stride is not" "columns innermost"
planted 's/^        (v->read_only \&\& e->out))/        0)/' "read-only outputs pass" "read-only"
planted 's/^    Py_CLEAR(v->hold);$/    v->hold = NULL;/' "a capsule is lost" "no managed tensor is left"
planted 's/own.context_device(&now) || now != all->device/own.context_device(\&now)/' "another device's context is left" "its context is entered"

# stale SED WHAT NAME TEST: the same of another kernel, by the tests of streams.
stale() {
    mkdir -p "$work/planted"
    sed "$1" "$work/gen/${3}_python.c" >"$work/planted/${3}_python.c"
    ! cmp -s "$work/planted/${3}_python.c" "$work/gen/${3}_python.c" &&
        "$cc" -O0 -w -fPIC -shared -isystem "$include" -I"$work/gen" "$work/planted/${3}_python.c" "$work/gen/$3.c" \
            -ldl -lm -o "$work/planted/$3.abi3.so" &&
        python python3 "$work/planted" tests/python/streams.py && [ $status -ne 0 ] && grep -q "^not ok .*$4" "$work/log"
    ok $? "seen where $2" "$work/log"
    rm -f "$work/planted/"*.so
}
stale 's/} else if (one != other) {/} else if (0) {/' "streams are not compared" py_gemm "torch and CuPy"
stale 's/r->bytes, stream)) != 0/r->bytes, NULL)) != 0/' "zeros come on another stream" py_split "zeroed on that stream"
stale 's/size \*= 2;/size += 16;/' "rooms are as large as they must be" py_split "leave few behind"
stale '/cuTensorMapEncodeIm2col/d' "windows have no maps" py_conv "of windows"

# ---- the package -----------------------------------------------------------------------------------------------------

TILEWRIGHT=$program TILEWRIGHT_LIBRARY=build/libtilewright-python.so
[ "${TILEWRIGHT_CACHE:-off}" != off ] || TILEWRIGHT_CACHE=$work/cache
export TILEWRIGHT TILEWRIGHT_LIBRARY TILEWRIGHT_CACHE
[ -z "$nvrtc" ] || CUDA_HOME=${nvrtc%/*/*}
python python3 "$work/so:python" tests/python/package.py "${nvrtc:+run}"
said package

# ---- tensor maps by the extension ------------------------------------------------------------------------------------

nm -D --defined-only build/_maps.abi3.so | sed 's/.* //' >"$work/symbols"
[ "$(cat "$work/symbols")" = PyInit__maps ]
ok $? "of the extension PyInit__maps alone is to be seen" "$work/symbols"
python python3 "$work/so:python" tests/python/maps.py 1 3000 100000
said maps
for other in python3.10 python3.11 python3.12 python3.13 python3.14; do
    "$other" -c 'import sys; sys.exit(sys.implementation.name != "cpython")' >/dev/null 2>&1 || continue
    python "$other" "$work/so:python" tests/python/maps.py 2 500 1000
    ok $status "maps under $other, by the same file" "$work/log"
done
[ $others -gt 0 ] || skip "maps under other Pythons, by the same file" "there is no other"

# extension NAME FOLDER INCLUDE FLAG...: the extension, from the sources of a folder that is python/ with a change.
sources="runtime/tensormap/args.c runtime/tensormap/check.c runtime/tensormap/encode.c runtime/tensormap/tensorview.c
    runtime/dtype.c runtime/status.c"
extension() {
    name=$1 folder=$2 include_of=$3
    shift 3
    cp build/libtilewright-python.so "$folder"
    # shellcheck disable=SC2086
    sh tests/kept.sh "$folder/$name" "$cc" -std=c11 -D_GNU_SOURCE -w -fPIC -shared "$@" -isystem "$include_of" \
        -I"$folder" -Ipython -Iruntime -I. "$folder/maps.c" $sources -lm
}

# maps PYTHON FOLDER ARGUMENT...: its tests with the extension of a folder.
maps() {
    with=$1 folder=$2
    shift 2
    TILEWRIGHT_LIBRARY=$folder/libtilewright-python.so python "$with" "${lab:-$work/so}:python" tests/python/maps.py "$@"
}

# changed FOLDER SED: the sources with a change, which is one.
changed() {
    mkdir -p "$1" && for file in maps.c maps_tensor.h tensor_map.h; do sed "$2" "python/$file" >"$1/$file"; done
    ! cat "$1/maps.c" "$1/maps_tensor.h" "$1/tensor_map.h" | cmp -s - "$work/sources"
}
cat python/maps.c python/maps_tensor.h python/tensor_map.h >"$work/sources"

# lost SED WHAT TEST: seen where the sources have this change.
lost() {
    rm -rf "$work/lost"
    changed "$work/lost" "$1" && extension _maps.abi3.so "$work/lost" "$include" -O1 2>"$work/log" &&
        maps python3 "$work/lost" 1 2000 2000 && [ $status -ne 0 ] && grep -q "^not ok .*$3" "$work/log"
    ok $? "seen where $2" "$work/log"
}
lost 's/^    drop(old);$//' "what a map held before is lost" "and only once"
lost 's/^    Py_XDECREF(source.capsule);$//' "a capsule is lost" "and only once"
lost 's/^    Py_CLEAR(((struct map \*)self)->source.capsule);$//' "a map goes without its capsule" "goes with it"
lost 's/^        Py_DECREF(way);$//' "a reference is lost" "nor a reference"
lost 's/^    Py_VISIT(((struct map \*)self)->source.tensor);$//' "the collector does not see the tensor" "that its tensor holds"
lost 's/ && a->device == b->device//' "devices are not compared" "another shape"
lost 's/(int)rank - 2 < pixels/0/' "corners are not counted" "the same by ctypes"
lost 's/(64 - (uintptr_t)m->room % 64) % 64/0/' "its bytes lie anywhere" "the same by ctypes"
lost 's/ >= least \&\& (small < 0/ >= least || (small < 0/' "numbers are not looked at" "the same by ctypes"

if [ -e "$asan" ] && [ -e "$ubsan" ]; then
    mkdir -p "$work/asan"
    changed "$work/asan/maps" 's/^$/ /' && extension _maps.abi3.so "$work/asan/maps" "$include" -g1 -O1 \
        -fsanitize=address,undefined -fno-sanitize-recover=undefined >"$work/log" 2>&1
    ok $? "the extension with sanitizers" "$work/log"
    # Its objects are malloc's, of which ASan knows the ends.
    ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc LD_PRELOAD="$asan $ubsan" PYTHONPATH=$work/so:python:tests/python \
        TILEWRIGHT_LIBRARY=$work/asan/maps/libtilewright-python.so \
        timeout 300 "$real" tests/python/maps.py 3 5000 5000 >"$work/log" 2>&1
    status=$?
    grep -q '^ok' "$work/log" && [ $status -eq 0 ] && ! grep -q 'runtime error' "$work/log"
    ok $? "quiet with sanitizers: maps.py" "$work/log"
    changed "$work/bug/maps" 's/room\[128 + 63\]/room[128]/' &&
        extension _maps.abi3.so "$work/bug/maps" "$include" -g1 -O1 -fsanitize=address 2>"$work/log" &&
        ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc LD_PRELOAD=$asan PYTHONPATH=$work/so:python:tests/python \
            TILEWRIGHT_LIBRARY=$work/bug/maps/libtilewright-python.so \
            "$real" tests/python/maps.py 3 100 100 >"$work/log" 2>&1
    grep -q 'AddressSanitizer' "$work/log"
    ok $? "a planted bug of the extension is seen" "$work/log"
else
    skip "the extension with sanitizers" "there is no libasan.so"
fi

if [ -n "$free" ]; then
    name=$("$free" -c 'import sys; print("_maps.%d.%dt.so" % sys.version_info[:2])')
    changed "$work/free/maps" 's/^$/ /' && extension "$name" "$work/free/maps" "$(headers "$free")" -O1 2>"$work/log" &&
        lab=$work/free maps "$free" "$work/free/maps" 1 3000 20000
    said "maps under $free"
else
    with=
    for other in python3.14 python3.13; do
        with=$(headers "$other")
        [ -n "$with" ] || continue
        # shellcheck disable=SC2086
        "$cc" -std=c11 $warnings -Wno-pedantic -DPy_GIL_DISABLED=1 -fsyntax-only -isystem "$with" -Iruntime -I. \
            python/maps.c >"$work/log" 2>&1
        ok $? "the extension compiles without the lock of the interpreter" "$work/log"
        break
    done
    [ -n "$with" ] || skip "the extension compiles without the lock of the interpreter" "there are no headers of 3.13"
fi

# ---- on the emulator -------------------------------------------------------------------------------------------------

if [ -n "$nvrtc" ]; then
    for arch in sm_90a sm_80; do
        python python3 "$work/so" tests/python/emulated.py $arch
        said "emulator of $arch"
    done
    chain="nsa_places_b16 nsa_queries_b16 nsa_kv_b16 nsa_combine_b16"
    for name in $chain; do
        # shellcheck disable=SC2086
        "$program" gen specs/nsa_kv.lua --kernel $name --python -o "$work/gen" >"$work/log" 2>&1 &&
            module $name "$work/so" -std=c99 -O1 $warnings >"$work/log" 2>&1
        ok $? "a module of $name" "$work/log"
    done
    python python3 "$work/so" tests/python/nsa_chain.py
    said "one chain of kernels"
else
    skip "modules on the emulator" "there is no NVRTC"
fi
end
