#!/bin/sh
# gen and build --shared: kernels of one folder share one launcher. How long a launcher is, alone and shared; what C and
# C++ compilers and the linker say; two kernels in one program, on the first GPU, else on the emulator; rules for ninja;
# another version in the folder. TAP on stdout.
#   usage: tests/shared.sh [PROGRAM], from the top of the tree
set -u
program=${1:-build/tilewright}
case $program in /*) ;; *) program=$PWD/$program ;; esac
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_shared_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL
. tests/tap.sh
top=$PWD
log=$work/log
kept=$PWD/tests/kept.sh
strict='-Wall -Wextra -Wpedantic -Wconversion -Werror'

# launcher FILE...: their text without the kernels' own: sources, PTX, cubins.
launcher() {
    awk '/^static const char \*const (source|ptx)_|^static const union/ { on = 1 } !on { print } on && /^}/ { on = 0 }' "$@"
}

# ---- how much text --------------------------------------------------------------------------------------------------

"$program" gen specs/gemm.lua --shared -o "$work/twenty" >"$log" 2>&1
ok $? "gen --shared" "$log"
kernels=$(find "$work/twenty" -name '*.c' ! -name tilewright_host.c | wc -l)
bytes=$(cat "$work"/twenty/*.h "$work"/twenty/*.c | launcher | wc -c)
echo "# $kernels kernels: $bytes bytes"
[ "$kernels" -eq 20 ] && [ "$bytes" -lt 383333 ] && [ "$bytes" -gt 100000 ]
ok $? "twenty kernels are less than a third of 1.15 MB"
for kernel in gemm_bf16 gemm_bf16_at; do
    "$program" gen specs/gemm.lua --kernel $kernel -o "$work/alone" >"$log" 2>&1 || cat "$log"
done
most=900
lines=$(launcher "$work/alone/gemm_bf16_at.c" | wc -l)
echo "# gemm_bf16_at.c: $lines lines; gemm_bf16.c, with its set-ups: $(launcher "$work/alone/gemm_bf16.c" | wc -l)"
[ "$lines" -lt $most ] && [ "$lines" -gt 300 ]
ok $? "a launcher that stands alone has less than $most lines"
[ "$(launcher "$work/alone/gemm_bf16.c" | wc -l)" -lt $((most + 400)) ]
ok $? "and with 27 set-ups that sizes choose among less than 400 more"

# ---- the same whatever kernel wrote it ------------------------------------------------------------------------------

"$program" gen tests/embed/cpp/rows.lua --arch sm_80 --shared -o "$work/two" >"$log" 2>&1 &&
    cmp "$work/twenty/tilewright_host.h" "$work/two/tilewright_host.h" >>"$log" 2>&1 &&
    cmp "$work/twenty/tilewright_host.c" "$work/two/tilewright_host.c" >>"$log" 2>&1
ok $? "the same bytes whatever kernel wrote it" "$log"
touch -d '2 days ago' "$work/two/tilewright_host.c"
cp -p "$work/two/tilewright_host.c" "$work/before.c"
"$program" gen tests/embed/cpp/rows.lua --kernel twice --arch sm_80 --shared -o "$work/two" >"$log" 2>&1 &&
    [ ! "$work/two/tilewright_host.c" -nt "$work/before.c" ]
ok $? "and it is not written again" "$log"
for file in "$work"/two/*.[ch]; do awk -v f="${file##*/}" 'length > 120 { print f ": " FNR ": " $0 }' "$file"; done >"$log"
[ ! -s "$log" ]
ok $? "no line passes 120 columns" "$log"

# ---- compilers and the linker ---------------------------------------------------------------------------------------

cd "$work/two" || exit 3
for how in 'gcc -std=c99' 'g++ -std=c++17 -x c++' 'clang -std=c99' 'clang++ -std=c++17 -x c++'; do
    if ! command -v "${how%% *}" >/dev/null 2>&1; then
        skip "${how%% *}" "it is not there"
        continue
    fi
    object=$(echo "${how%% *}" | tr -d +)_${how##* }
    for file in twice square tilewright_host; do
        # shellcheck disable=SC2086
        sh "$kept" "$object.$file.o" $how -O1 $strict -c $file.c || echo "failed: $file"
    done >"$log" 2>&1
    [ ! -s "$log" ]
    ok $? "$how, without a warning" "$log"
done
version=$(sed -n 's/^#define TILEWRIGHT_HOST //p' tilewright_host.h)
for object in *.tilewright_host.o; do
    nm -g --defined-only "$object" | awk -v p="^tilewright_${version}_" '$3 !~ p { print; bad = 1 } END { exit bad || NR < 8 }'
done >"$log"
ok $? "the shared part's names begin with tilewright_${version}_" "$log"
for object in *.twice.o; do
    nm -g --defined-only "$object" | awk '$3 !~ /^twice_/ { print; bad = 1 } END { exit bad || NR < 7 }'
done >"$log"
ok $? "a kernel's begin with its own" "$log"

# Two kernels of a folder and one whose launcher stands alone, in a program of C++ and one of C.
if ! "$program" doctor 2>/dev/null | grep -q '^nvrtc .*path'; then
    skip "two kernels in one program" "there is no NVRTC"
elif ! command -v "${CXX:-g++}" >/dev/null 2>&1; then
    skip "two kernels in one program" "there is no compiler of C++"
else
    CUDA_HOME=$("$program" doctor 2>/dev/null | sed -n 's/^nvrtc .*, path \([^,]*\),.*/\1/p')
    CUDA_HOME=${CUDA_HOME%/*/*}
    export CUDA_HOME
    libraries="$top/build/libtilewright-emu.a $top/build/libtilewright.a -l:libxxhash.a -lm -ldl -pthread"
    gcc=$(ls gcc_*.tilewright_host.o clang_*.tilewright_host.o 2>/dev/null | head -n 1)
    gcc=${gcc%.tilewright_host.o}
    # shellcheck disable=SC2086
    "${CXX:-g++}" -std=c++17 $strict -I. -I"$top/runtime" -o two "$top/tests/embed/cpp/main.cpp" "$gcc.twice.o" "$gcc.square.o" \
        "$gcc.tilewright_host.o" $libraries >"$log" 2>&1 && ./two >>"$log" 2>&1 && grep -q '^right on ' "$log"
    ok $? "two kernels in one program" "$log"
    # Built ahead of time, one shared and one alone in one program.
    "$program" build "$top/tests/embed/cpp/rows.lua" --kernel twice --arch sm_80 --shared -o built >"$log" 2>&1 &&
        "$program" build "$top/tests/embed/cpp/rows.lua" --kernel square --arch sm_80 -o built >>"$log" 2>&1
    # shellcheck disable=SC2086
    "${CC:-cc}" -std=c99 $strict -c built/twice.c -o twice.o >>"$log" 2>&1 &&
        "${CC:-cc}" -std=c99 $strict -c built/square.c -o square.o >>"$log" 2>&1 &&
        "${CC:-cc}" -std=c99 $strict -c built/tilewright_host.c -o host.o >>"$log" 2>&1 &&
        "${CXX:-g++}" -std=c++17 $strict -Ibuilt -I"$top/runtime" -o mixed "$top/tests/embed/cpp/main.cpp" twice.o square.o host.o \
            $libraries >>"$log" 2>&1 && ./mixed >>"$log" 2>&1 && grep -q '^right on ' "$log"
    ok $? "build --shared, and beside it a kernel whose launcher stands alone" "$log"
fi

# ---- another version in the folder ----------------------------------------------------------------------------------

sed "s/^#define TILEWRIGHT_HOST .*/#define TILEWRIGHT_HOST 99999/" tilewright_host.h >older && cp older tilewright_host.h
! "${CC:-cc}" -std=c99 -c twice.c -o - >"$log" 2>&1 && grep -q 'error.*another version than twice.h' "$log" &&
    ! "${CC:-cc}" -std=c99 -c tilewright_host.c -o - >"$log" 2>&1 && grep -q 'another version than tilewright_host.c' "$log"
ok $? "a header of another version does not compile with the kernel" "$log"
"$program" gen "$top/tests/embed/cpp/rows.lua" --kernel twice --arch sm_80 --shared -o . >"$log" 2>&1 &&
    grep -q "note: ./tilewright_host.h is of version 99999 and becomes of $version; kernels" "$log" &&
    cmp "$work/twenty/tilewright_host.h" tilewright_host.h >>"$log" 2>&1
ok $? "gen tells that another version was there, and writes its own" "$log"
"$program" gen "$top/tests/embed/cpp/rows.lua" --kernel twice --arch sm_80 --shared -o . >"$log" 2>&1 && [ ! -s "$log" ]
ok $? "of its own it says nothing" "$log"

# ---- with other options ---------------------------------------------------------------------------------------------

"$program" gen "$top/tests/embed/cpp/rows.lua" --shared --debug -o debug >"$log" 2>&1
[ $? -eq 2 ] && grep -q 'leave --debug or --shared out' "$log" && [ ! -e debug ]
ok $? "a debug build has a launcher of its own" "$log"
cp "$top/tests/embed/cpp/rows.lua" rows.lua
"$program" gen rows.lua --arch sm_80 --shared --python -o made --ninja made.ninja >"$log" 2>&1 &&
    timeout 300 ninja -f made.ninja >"$log" 2>&1 &&
    cmp made/tilewright_host.c "$work/twenty/tilewright_host.c" >>"$log" 2>&1 && [ -f made/square_python.c ]
ok $? "--ninja: rules that write it" "$log"
timeout 300 ninja -f made.ninja >"$log" 2>&1 && grep -q 'no work to do' "$log"
ok $? "the second time nothing runs" "$log"
rm made/tilewright_host.c
timeout 300 ninja -f made.ninja >"$log" 2>&1 && cmp made/tilewright_host.c "$work/twenty/tilewright_host.c" >>"$log" 2>&1
ok $? "what is missing is made again" "$log"
include=$("${PYTHON:-python3}" -c 'import sysconfig; print(sysconfig.get_paths()["include"])' 2>/dev/null)
if [ ! -f "$include/Python.h" ]; then
    skip "--python" "there is no Python.h"
else
    # shellcheck disable=SC2086
    sh "$kept" square_python.o "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -I"$include" -Imade -fPIC -c made/square_python.c >"$log" 2>&1
    ok $? "--python: the module compiles with it" "$log"
fi
cd "$top" || exit 3
echo "1..$count"
[ "$failed" -eq 0 ]
