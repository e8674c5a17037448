#!/bin/sh
# specs/examples: each does what its README says. TAP on stdout; no GPU is used: what launches runs on the emulator.
# Needs NVRTC; cmake and python3, which ./bootstrap test installs.
#   usage: tests/examples.sh [PROGRAM], from the top of the tree. Its archives are those of build/.
set -u
program=${1:-build/tilewright}
case $program in /*) ;; *) program=$PWD/$program ;; esac
examples=specs/examples
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_examples_XXXXXX") || exit 3
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
LC_ALL=C
CUDA_VISIBLE_DEVICES=
export LC_ALL CUDA_VISIBLE_DEVICES
. tests/tap.sh
log=$work/log

# logged COMMAND...: its output is the log. Status: the command's.
logged() {
    timeout 60 "$@" >"$log" 2>&1
}

# has PATTERN...: a line of the log matches each
has() {
    for pattern; do
        grep -q -- "$pattern" "$log" || { echo "no line '$pattern'" >>"$log" && return 1; }
    done
}

nvrtc=$("$program" doctor 2>/dev/null | sed -n 's/^nvrtc .*, path \([^,]*\),.*/\1/p')
if [ -z "$nvrtc" ] || ! "$program" doctor >/dev/null 2>&1; then
    echo "ok 1 - the examples # SKIP there is no NVRTC"
    echo "1..1"
    exit 0
fi
# Emitted C looks for NVRTC there: it may be that of build/cuda.
CUDA_HOME=${nvrtc%/*/*}
export CUDA_HOME

# ---- server ----------------------------------------------------------------------------------------------------------

logged cmake -G Ninja -S $examples/server -B "$work/server" && logged cmake --build "$work/server" &&
    ! grep -q 'warning:' "$log"
ok $? "server: CMake builds it" "$log"
"$work/server/server" "$work/socket" auto >"$work/served" 2>&1 &
server=$!
waited=0
while [ ! -S "$work/socket" ] && kill -0 $server 2>/dev/null && [ $((waited += 1)) -le 150 ]; do sleep 0.2; done
logged "$work/server/client" "$work/socket"
ok $? "server: the answers are those of double precision" "$log"
[ "$(grep -c 'rows: error 0.00[0-3]' "$log")" -eq 5 ]
ok $? "server: a line for each of five requests" "$log"
logged "$work/server/client" "$work/socket"
kill "$server"
wait "$server"
status=$? server=
cp "$work/served" "$log"
[ $status -eq 0 ] && has '^serving on emulator' && [ "$(grep -c '^answered: ' "$log")" -eq 10 ] && [ ! -e "$work/socket" ]
ok $? "server: it answers one connection after the other, and ends on a signal" "$log"
logged "$work/server/server" "$work/socket" nothing
[ $? -eq 1 ] && has 'write cuda, emu or auto'
ok $? "server: a device that is none" "$log"

# ---- torch_layer: the ctypes part; torch is not needed, and linear_gelu.py is parsed only ----------------------------

made=$work/torch
layer=$examples/torch_layer
strict='-Wall -Wextra -Wpedantic -Werror -O1 -fPIC -shared'
# shellcheck disable=SC2086
logged "$program" gen $layer/linear_gelu.lua -o "$made" &&
    logged ${CC:-cc} -std=c99 $strict -I"$made" -o "$made/liblinear_gelu.so" $layer/layer.c "$made/linear_gelu.c" -ldl &&
    logged ${CC:-cc} -std=c11 $strict -I"$made" -Iruntime -o "$made/libemulated.so" $layer/emulated.c \
        build/libtilewright-emu.a build/libtilewright.a -l:libxxhash.a -lm -ldl -pthread
ok $? "torch_layer: shared objects of the kernel and of the emulator" "$log"
logged env PYTHONDONTWRITEBYTECODE=1 python3 $layer/try_emulated.py "$made" && [ "$(grep -c ': error 0.00' "$log")" -eq 2 ] &&
    has '^refused: .*pad it to 8 elements.*TMA-STR16'
ok $? "torch_layer: ctypes on the emulator against double precision" "$log"
logged python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' $layer/linear_gelu.py
ok $? "torch_layer: linear_gelu.py is Python" "$log"

echo "1..$count"
[ "$failed" -eq 0 ]
