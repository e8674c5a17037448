#!/bin/sh
# libtilewright-explain.so in a program over a fake driver and a fake CUPTI: what is told, what is not, that the program
# prints what it prints without it, and where CUPTI is found. Needs no GPU. TAP on stdout.
#   usage: tests/explain.sh [LIBRARY], from the top of the tree
set -u
library=${1:-build/libtilewright-explain.so}
case $library in /*) ;; *) library=$PWD/$library ;; esac
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_explain_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
unset CUDA_INJECTION64_PATH TILEWRIGHT_CUPTI TILEWRIGHT_EXPLAIN_LOG TILEWRIGHT_EXPLAIN_WARNINGS FAKE_CUPTI
unset CUDA_HOME CUDA_PATH VIRTUAL_ENV CONDA_PREFIX
LC_ALL=C FAKE_CC=9.0
export LC_ALL FAKE_CC
. tests/tap.sh

# A file of reports without the places in the program.
known() { sed '/^    called from /d' "$1"; }

# The program with the library, or, where the first word is -, without it; out, err and status lie in $work then.
program() {
    if [ "$1" = - ]; then
        shift
        "$work/bin/program" "$@" >"$work/out" 2>"$work/err"
    else
        CUDA_INJECTION64_PATH=$library timeout -s KILL 30 "$work/bin/program" "$@" >"$work/out" 2>"$work/err"
    fi
    echo $? >>"$work/out"
}

build() { # output flags... ; with the warnings of the product
    to=$1
    shift
    ${CC:-gcc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -g -Iruntime -o "$to" "$@" >"$work/log" 2>&1
}
mkdir -p "$work/bin" "$work/cupti"
build "$work/bin/libcuda.so.1" -fPIC -shared -Wl,-soname,libcuda.so.1 tests/explain/fake_driver.c -ldl \
    -pthread &&
    build "$work/cupti/libcupti.so.13" -fPIC -shared tests/explain/fake_cupti.c &&
    build "$work/bin/program" tests/explain/program.c "$work/bin/libcuda.so.1" "-Wl,-rpath,$work/bin" -pthread -rdynamic \
        -ldl &&
    build "$work/bin/plugin.so" -fPIC -shared tests/explain/plugin.c "$work/bin/libcuda.so.1"
ok $? "the fake driver, CUPTI, program and plugin build" "$work/log"

# ---- the library as a file

nm -D --defined-only "$library" | awk '{ print $3 }' >"$work/log"
echo InitializeInjection | cmp -s - "$work/log"
ok $? "it exports InitializeInjection alone" "$work/log"
readelf -d "$library" >"$work/log" && ! grep -E 'NEEDED.*(cuda|cupti|lua|json|xxhash)' "$work/log" >"$work/bad"
ok $? "it needs no CUDA library and none of the program's" "$work/bad"
for toolkit in "${TOOLKIT:-}" /usr/local/cuda /opt/cuda; do
    [ -n "$toolkit" ] || continue
    for below in include extras/CUPTI/include; do
        [ ! -f "$toolkit/$below/cupti_callbacks.h" ] || headers="-I$toolkit/include -I$toolkit/$below"
    done
    [ -z "${headers:-}" ] || break
done
if [ -n "${headers:-}" ]; then
    # shellcheck disable=SC2086
    ${CC:-gcc} -std=c11 -Iruntime $headers -c -o "$work/layout.o" tests/explain/layout.c >"$work/log" 2>&1
    ok $? "its declarations are those of $toolkit" "$work/log"
else
    count=$((count + 1))
    echo "ok $count - its declarations are those of a toolkit # SKIP there are no CUPTI headers"
fi

# ---- what is told

TILEWRIGHT_CUPTI=$work/cupti/libcupti.so.13
export TILEWRIGHT_CUPTI
cat >"$work/want" <<'END'
tilewright explain #1: cuTensorMapEncodeTiled failed: CUDA_ERROR_INVALID_VALUE (1), compute capability 9.0
    f=tiled dtype=BFLOAT16 addr=0x7f0000000000 dim=256,128 stride=200 box=128,16 swizzle=128B
    TMA-STR16: stride[0] is 200 bytes, no multiple of 16; pad the rows to a stride of 512
    TMA-SPAN: box[0] is 128 elements of BFLOAT16, 256 bytes, wider than the 128-byte span of swizzle 128B; write 64, or a wider swizzle
    the nearest call that works:
        f=tiled dtype=BFLOAT16 addr=0x7f0000000000 dim=256,128 stride=512 box=64,16 swizzle=128B
tilewright explain #2: cuTensorMapEncodeIm2col failed: CUDA_ERROR_INVALID_VALUE (1), compute capability 9.0
    f=im2col dtype=FLOAT16 addr=0x7f0000000000 dim=256,128,64,4 stride=512,65536,4194304 lower=-1,-200 upper=-1,-1 channels=300 pixels=64
    TMA-CH: channels is 300, a pixel has 1 to 256; write 256 and load the rest with more columns
    TMA-INNER16: channels is 300 elements of FLOAT16, 600 bytes, no multiple of 16; write 256
    TMA-CORNER: lower[1] is -200, a corner of this rank is at least -128 and below 128; write -128
    the nearest call that works:
        f=im2col dtype=FLOAT16 addr=0x7f0000000000 dim=256,128,64,4 stride=512,65536,4194304 lower=-1,-128 upper=-1,-1 channels=256 pixels=64
tilewright explain #3: cuTensorMapEncodeIm2colWide failed: CUDA_ERROR_INVALID_VALUE (1), compute capability 9.0
    f=im2col_wide dtype=FLOAT16 addr=0x7f0000000000 dim=256,128,64,4 stride=512,65536,4194304 lower=0 upper=0 mode=2 channels=64 pixels=64 swizzle=128B
    TMA-MODE: mode is 2, the last CUtensorMapIm2ColWideMode is 1; write 0 (W) or 1 (W128)
    the nearest call that works:
        f=im2col_wide dtype=FLOAT16 addr=0x7f0000000000 dim=256,128,64,4 stride=512,65536,4194304 lower=0 upper=0 channels=64 pixels=64 swizzle=128B
tilewright explain #4: cuTensorMapEncodeTiled failed: CUDA_ERROR_INVALID_VALUE (1), compute capability 9.0
    f=tiled dtype=BFLOAT16 addr=0x7f0000000000 dim=256,128,64 stride=512,65536 box=64,16,2 swizzle=128B
    no rule known here forbids this call (driver 13.0): please report the two lines above to Tilewright
tilewright explain #5: cuTensorMapEncodeTiled failed: CUDA_ERROR_INVALID_CONTEXT (201), compute capability 9.0
    f=tiled dtype=BFLOAT16 addr=0x7f0000000000 dim=256,128,64 stride=512,65536 box=64,16,2 swizzle=128B
    no context is current in this thread: call cuCtxSetCurrent, or cudaSetDevice, before
tilewright explain #6: cuTensorMapEncodeTiled failed: CUDA_ERROR_LAUNCH_FAILED (719), compute capability 9.0
    f=tiled dtype=BFLOAT16 addr=0x7f0000000008 dim=256,128,64 stride=512,65536 box=64,16,2 swizzle=128B
    not this call's error: an earlier kernel failed
    TMA-ADDR16: addr is 0x7f0000000008, no multiple of 16 bytes; move the tensor's start, to 0x7f0000000000 for example
    the nearest call that works:
        f=tiled dtype=BFLOAT16 addr=0x7f0000000000 dim=256,128,64 stride=512,65536 box=64,16,2 swizzle=128B
END
program - calls
mv "$work/out" "$work/without"
[ ! -s "$work/err" ]
ok $? "without the library nothing is told" "$work/err"
program calls
cmp -s "$work/without" "$work/out"
ok $? "stdout and status are those without the library"
known "$work/err" | diff "$work/want" - >"$work/log"
ok $? "calls that fail, all three kinds; accepted ones are not told" "$work/log"
[ "$(grep -c "^    called from $work/bin/program+0x" "$work/err")" -eq 6 ]
ok $? "the caller is named" "$work/err"

(cd "$work" && TILEWRIGHT_EXPLAIN_LOG=file program calls)
[ ! -s "$work/err" ] && known "$work/file" | diff "$work/want" - >"$work/log"
ok $? "TILEWRIGHT_EXPLAIN_LOG: into a file of the current folder, nothing on stderr" "$work/log"
TILEWRIGHT_EXPLAIN_LOG=$work/told program calls
TILEWRIGHT_EXPLAIN_LOG=$work/told program calls
[ "$(grep -c '^tilewright explain #' "$work/told")" -eq 12 ]
ok $? "TILEWRIGHT_EXPLAIN_LOG: appended to"
TILEWRIGHT_EXPLAIN_LOG=$work/none/told program calls
known "$work/err" | diff "$work/want" - >"$work/log"
ok $? "TILEWRIGHT_EXPLAIN_LOG: stderr where it cannot be written" "$work/log"
TILEWRIGHT_EXPLAIN_WARNINGS=1 program calls
cmp -s "$work/without" "$work/out" && [ "$(grep -c '^tilewright explain #' "$work/err")" -eq 8 ] &&
    grep -q '#5: cuTensorMapEncodeTiled was accepted, against the documentation, comp' "$work/err" &&
    grep -q '^    warning TMA-IL32-SWZ: swizzle is NONE with interleave 32B' "$work/err"
ok $? "TILEWRIGHT_EXPLAIN_WARNINGS=1: what the documentation forbids" "$work/err"

program - pointers
mv "$work/out" "$work/without"
program pointers
cmp -s "$work/without" "$work/out" && [ "$(grep -c '^tilewright explain #' "$work/err")" -eq 11 ]
ok $? "pointers to nowhere, ranks out of range: the program goes on" "$work/err"
sed -n '/ #1: /,/ #2: /p' "$work/err" | grep -o 'TMA-NULL: [a-zA-Z]* is NULL' | tr '\n' ' ' >"$work/log"
[ "$(cat "$work/log")" = "TMA-NULL: dim is NULL TMA-NULL: stride is NULL TMA-NULL: box is NULL \
TMA-NULL: estride is NULL TMA-NULL: tensorMap is NULL " ]
ok $? "pointers: each NULL is named" "$work/log"
grep -q 'TMA-NULL: box is 0x10, where no memory can be read; pass a list of 2' "$work/err" &&
    [ "$(grep -c '^    warning TMA-MAP: tensorMap is 0x.*, no multiple of 64' "$work/err")" -eq 1 ] &&
    ! grep -q 'no rule known' "$work/err"
ok $? "pointers: unreadable and unaligned" "$work/err"
for rank in 0 4294967295 6; do
    grep -q "TMA-RANK: rank is $rank, a tiled map has 1 to 5" "$work/err" || echo $rank
done >"$work/log"
[ ! -s "$work/log" ]
ok $? "ranks out of range" "$work/err"

# ---- again and again

program loop 1000
all="tilewright explain: 3000 calls, 3 different told"
[ "$(grep -c '^tilewright explain #' "$work/err")" -eq 3 ] &&
    [ "$(tail -n 1 "$work/err")" = "$all: #1 came 1000 times, #2 came 1000 times, #3 came 1000 times" ]
ok $? "what comes again is counted" "$work/err"
program places
[ "$(grep -c '^tilewright explain #' "$work/err")" -eq 2 ] &&
    [ "$(tail -n 1 "$work/err")" = "tilewright explain: 4 calls, 2 different told: #1 came 3 times" ]
ok $? "one call at two places is told twice" "$work/err"
program threads 2000
all="tilewright explain: 48000 calls, 3 different told"
[ "$(grep -c '^tilewright explain #' "$work/err")" -eq 3 ] &&
    [ "$(tail -n 1 "$work/err")" = "$all: #1 came 16000 times, #2 came 16000 times, #3 came 16000 times" ]
ok $? "eight threads" "$work/err"
[ "$(grep -vc '^ \|^tilewright explain' "$work/err")" -eq 0 ]
ok $? "eight threads: whole lines" "$work/err"
program many 300
[ "$(grep -c '^tilewright explain #' "$work/err")" -eq 256 ] &&
    [ "$(grep -c '^tilewright explain: more than 256 different calls' "$work/err")" -eq 1 ] &&
    [ "$(tail -n 1 "$work/err")" = "tilewright explain: 300 calls, 256 different told" ]
ok $? "after 256 different ones the others are counted"
program fork
[ "$(grep -c '^tilewright explain: 6 calls' "$work/err")" -eq 1 ]
ok $? "a child that exits tells nothing of its parent's" "$work/err"

# ---- odd programs

# The program goes on as it does without the library, and ends in time.
same() { # name arguments...
    name=$1
    shift
    program - "$@"
    mv "$work/out" "$work/same"
    program "$@"
    diff "$work/same" "$work/out" >"$work/log"
    ok $? "$name" "$work/log"
}
program host
sed -n 's/^    called from .*program+0x[0-9a-f]* //p' "$work/err" | tr '\n' ' ' >"$work/log"
[ "$(cat "$work/log")" = "(host_function) (other_host_function) " ] &&
    [ "$(tail -n 1 "$work/err")" = "tilewright explain: 3 calls, 2 different told: #2 came 2 times" ]
ok $? "host functions, which the driver calls: the caller is theirs" "$work/err"
same "children of a fork while threads are in the library" children 100
same "threads cancelled in the library" cancel 50
same "a signal handler's calls" signal 5000
same "a constructor's calls, under the loader's lock" plugin "$work/bin/plugin.so"
FAKE_CLOSE=1 same "who loaded the library closes it" calls
grep -q '^tilewright explain #6' "$work/err"
ok $? "who loaded the library closes it: calls are told" "$work/err"

# ---- a stderr that takes nothing

CUDA_INJECTION64_PATH=$library "$work/bin/program" calls >"$work/out" 2>&-
echo $? >>"$work/out"
program - calls
mv "$work/out" "$work/without"
CUDA_INJECTION64_PATH=$library "$work/bin/program" calls >"$work/out" 2>&-
echo $? >>"$work/out"
cmp -s "$work/without" "$work/out"
ok $? "stderr closed: the program goes on"
mkfifo "$work/pipe"
(CUDA_INJECTION64_PATH=$library "$work/bin/program" many 3000 >"$work/out" 2>"$work/pipe"
    echo $? >>"$work/out") &
head -n 1 "$work/pipe" >"$work/log"
wait
printf 'the end\n7\n' | cmp -s - "$work/out"
ok $? "stderr without a reader: no SIGPIPE" "$work/out"
program slow
grep '^ *the nearest call\|^tilewright explain\|^    TMA-RANK\|^    called from' "$work/out" | sed 's/[#:+].*//' >"$work/log"
printf 'tilewright explain \n    TMA-RANK\n    called from %s\n' "$work/bin/program" | diff - "$work/log" >"$work/bad"
ok $? "stderr does not block and is read late: all is told" "$work/out"
same "stderr does not block and is never read: no long wait" full 300
same "a signal handler's call while one waits for stderr" waiting
same "a thread waits for a stderr that nobody reads: the program ends" stuck
program closed "$work/own"
printf '2\nthe end\n7\n' | cmp -s - "$work/out" && [ ! -s "$work/own" ]
ok $? "stderr closed, its number another file's: nothing is written there" "$work/own"
mkfifo "$work/unread"
TILEWRIGHT_EXPLAIN_LOG=$work/unread same "the log is a named pipe without a reader" calls
(ulimit -f 8 && TILEWRIGHT_EXPLAIN_LOG=$work/limited program many 300)
printf 'the end\n7\n' | cmp -s - "$work/out" && [ -s "$work/limited" ]
ok $? "the log reaches the limit on a file's size: no SIGXFSZ" "$work/out"

# ---- the machine

FAKE_CC=8.0 program calls
grep -q '#1: .*, compute capability 8.0$' "$work/err" && grep -q '^    TMA-CC: ' "$work/err"
ok $? "the current device's compute capability" "$work/err"
(unset FAKE_CC && program calls)
grep -q '#1: .*, compute capability 9.0 assumed$' "$work/err"
ok $? "no current device" "$work/err"

# ---- where CUPTI is, and where it is not

# The program, told to look for CUPTI itself: one told call says that it found one.
found() { # name
    (unset TILEWRIGHT_CUPTI && program loop 1)
    [ "$(grep -c '^tilewright explain #' "$work/err")" -eq 3 ]
    ok $? "CUPTI is found $1" "$work/err"
}
cp "$work/cupti/libcupti.so.13" "$work/bin/libcupti.so.13"
found "beside the driver"
rm "$work/bin/libcupti.so.13"
mkdir -p "$work/extras/CUPTI/lib64"
cp "$work/cupti/libcupti.so.13" "$work/extras/CUPTI/lib64/"
found "in the toolkit of a loaded library"
rm -r "$work/extras"
mkdir -p "$work/home/extras/CUPTI/lib64"
cp "$work/cupti/libcupti.so.13" "$work/home/extras/CUPTI/lib64/libcupti.so.12"
echo "no library" >"$work/home/extras/CUPTI/lib64/libcupti.so.99"
CUDA_HOME=$work/home
export CUDA_HOME
found "in \$CUDA_HOME, though the newest there does not load"
rm -r "$work/home"
unset CUDA_HOME
packages=$work/lib/python3.12/site-packages
mkdir -p "$packages/other/lib" "$packages/nvidia/cu13/lib"
mv "$work/bin/libcuda.so.1" "$packages/other/lib/"
cp "$work/cupti/libcupti.so.13" "$packages/nvidia/cu13/lib/"
LD_LIBRARY_PATH=$packages/other/lib
export LD_LIBRARY_PATH
found "in Python's packages beside a loaded library"
mv "$packages/other/lib/libcuda.so.1" "$work/bin/"
unset LD_LIBRARY_PATH
VIRTUAL_ENV=$work
export VIRTUAL_ENV
if [ -e /usr/local/cuda ] || [ -e /opt/cuda ] || [ -n "$(ls -d /usr/local/cuda-* 2>/dev/null)" ]; then
    count=$((count + 1))
    echo "ok $count - CUPTI is found in \$VIRTUAL_ENV # SKIP a toolkit is here and comes before"
else
    found "in \$VIRTUAL_ENV"
fi
unset VIRTUAL_ENV

# The program's stdout and status are as ever, and one line says why nothing is told.
silent() { # name text
    cmp -s "$work/without" "$work/out" && [ "$(wc -l <"$work/err")" -eq 1 ] &&
        grep -q "^tilewright explain: no call is watched: $2" "$work/err"
    ok $? "$1" "$work/err"
}
TILEWRIGHT_CUPTI=$work/no/libcupti.so program calls
silent "TILEWRIGHT_CUPTI names no file" "$work/no/libcupti.so: .*No such file"
TILEWRIGHT_CUPTI=$work/bin/libcuda.so.1 program calls
silent "TILEWRIGHT_CUPTI names another library" ".*: no cuptiSubscribe$"
FAKE_CUPTI=busy program calls
silent "another tool uses CUPTI" ".*libcupti.so.13: CUPTI serves one tool at a time"
FAKE_CUPTI=broken program calls
silent "CUPTI refuses" ".*: cuptiSubscribe: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)$"
FAKE_CUPTI=old program calls
silent "CUPTI is older than tensor maps" ".*: cuptiEnableCallback: CUPTI_ERROR_INVALID_PARAMETER (1)$"
FAKE_CUPTI=12.3 program calls
cmp -s "$work/without" "$work/out" && [ "$(grep -c '^tilewright explain #' "$work/err")" -eq 5 ] &&
    ! grep -q Im2colWide "$work/err"
ok $? "CUPTI is older than im2col wide: the others are told" "$work/err"

echo "1..$count"
[ "$failed" -eq 0 ]
