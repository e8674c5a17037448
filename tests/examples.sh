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
    timeout 120 "$@" >"$log" 2>&1
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
while [ ! -S "$work/socket" ] && kill -0 $server 2>/dev/null && [ $((waited += 1)) -le 600 ]; do sleep 0.2; done
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

# ---- own_kernel ------------------------------------------------------------------------------------------------------

own=$examples/own_kernel/add_rms_norm.lua
for arch in sm_90a sm_80; do
    logged "$program" run $own --device emu --arch $arch && has '^verified 9 cases of 1 kernel on emulator'
    ok $? "own_kernel: verified, $arch" "$log"
done
# The reference sees each of the formula's parts.
broken=0
for change in 's/rsqrt(squares \/ C/rsqrt(squares/' 's/max(most, row_max(abs(y)))/max(most, row_max(y))/' \
    's/store(t.sum, row, span(c, tile.c), s)/store(t.sum, row, span(c, tile.c), s * 2)/'; do
    sed "$change" $own >"$work/wrong.lua"
    logged "$program" run "$work/wrong.lua" --device emu --set R=5,C=1024
    [ $? -eq 1 ] && has 'the reference says' || broken=1
done
ok $broken "own_kernel: a formula that is wrong is not verified" "$log"
logged "$program" build $own --arch sm_90a -o "$work/own" && [ -s "$work/own/add_rms_norm.c" ]
ok $? "own_kernel: built without spills" "$log"

# ---- hazard ----------------------------------------------------------------------------------------------------------

# emulate FILE OPTION...: to the log; y goes to $work/y
emulate() {
    file=$1
    shift
    logged "$program" emu $examples/hazard/"$file" --grid 2 --block 256 --arg buf:64K,fill=iota:f32 \
        --arg "buf:64K,fill=zero,dump=$work/y" --arg 2 --arg 16 "$@"
}
right() {
    od -A n -v -t f4 -w4 "$work/y" | awk '$1 != 2 * (NR - 1) { wrong = 1 } END { exit wrong || NR != 16384 }'
}
emulate scale.cu
[ $? -eq 1 ] && has '^hazard PROXY-FENCE: .*scale.cu:70' '^hazard UNORDERED-WRITE: .*scale.cu:70' && right
ok $? "hazard: two of them are reported, and the results are right" "$log"
emulate scale.cu --complete late --hazards off && ! right
ok $? "hazard: where copies are late, the results are wrong" "$log"
for mode in eager late 'random --seed 7'; do
    # shellcheck disable=SC2086
    emulate scale_fixed.cu --hazards strict --complete $mode && has ' 0 hazards$' && right
    ok $? "hazard: none in the fixed one, $mode" "$log"
done
# Each of the two lines is needed.
alone=0
for lines in '/fence.proxy.async/d' '/the store of two turns ago/,/__syncthreads/d'; do
    sed "$lines" $examples/hazard/scale_fixed.cu >"$work/one.cu"
    logged "$program" emu "$work/one.cu" --grid 2 --block 256 --arg buf:64K,fill=iota:f32 --arg buf:64K --arg 2 --arg 16
    [ $? -eq 1 ] && has ' 1 hazard$' || alone=1
done
ok $alone "hazard: each of its two lines is needed" "$log"

echo "1..$count"
[ "$failed" -eq 0 ]
