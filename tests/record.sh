#!/bin/sh
# Recorded launches: libtilewright-explain.so in a program over a fake driver and a fake CUPTI, whole programs over the
# emulated driver, and `tilewright emu --replay` of what both wrote. Needs no GPU. TAP on stdout.
#   usage: tests/record.sh [PROGRAM [BUILD]], from the top of the tree; needs a C compiler, and for a part nvcc
set -u
program=${1:-build/tilewright}
built=${2:-build}
case $built in /*) ;; *) built=$PWD/$built ;; esac
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_record_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
unset CUDA_INJECTION64_PATH TILEWRIGHT_EXPLAIN_LOG TILEWRIGHT_EXPLAIN_WARNINGS FAKE_CUPTI TILEWRIGHT_RECORD
unset TILEWRIGHT_RECORD_KERNEL TILEWRIGHT_RECORD_LAUNCH TILEWRIGHT_RECORD_MEMORY TILEWRIGHT_RECORD_PTX
LC_ALL=C
export LC_ALL
. tests/tap.sh
shown="$work/out $work/err"

build() { # output flags...
    to=$1
    shift
    ${CC:-gcc} -std=c11 -D_GNU_SOURCE -ffp-contract=off -Wall -Wextra -Werror -g -Iruntime -Itests -o "$to" "$@" \
        >"$work/log" 2>&1
}
mkdir -p "$work/bin" "$work/cupti" "$work/old"
fake() { # folder flags...: the driver
    to=$1
    shift
    build "$to/libcuda.so.1" -fPIC -shared -Wl,-soname,libcuda.so.1 "$@" tests/record/fake_driver.c \
        "$built/libtilewright.a" -ldl
}
fake "$work/bin" && fake "$work/old" -DFAKE_OLD &&
    build "$work/cupti/libcupti.so.13" -fPIC -shared -Itests/explain tests/explain/fake_cupti.c &&
    build "$work/bin/program" tests/record/program.c "$work/bin/libcuda.so.1" -rdynamic -ldl &&
    build "$work/bin/patch" tests/record/patch.c "$built/record.a" "$built/libtilewright.a" -ldl -pthread
ok $? "the fake driver, CUPTI and program build" "$work/log"
TILEWRIGHT_CUPTI=$work/cupti/libcupti.so.13
export TILEWRIGHT_CUPTI

# watched ARGUMENT...: the program over the fake driver, recorded into a new $work/records by the variables before it.
watched() {
    rm -rf "$work/records"
    LD_LIBRARY_PATH=${driver:-$work/bin} CUDA_INJECTION64_PATH=$built/libtilewright-explain.so \
        TILEWRIGHT_RECORD=$work/records "$work/bin/program" "$@" >"$work/out" 2>"$work/err"
}
# replays NAME STATUS LINE RECORD OPTION...: the status of a replay, and a line of what it tells.
replays() {
    name=$1 status=$2 line=$3 file=$4
    shift 4
    "$program" emu --replay "$file" "$@" >"$work/out" 2>"$work/err"
    [ $? -eq "$status" ] && cat "$work/out" "$work/err" | grep -q -- "$line"
    ok $? "$name"
}
# tells NAME LINE: what the recorder told last, and that nothing was recorded.
tells() {
    grep -q -- "$2" "$work/err" && [ -z "$(ls "$work/records" 2>/dev/null)" ]
    ok $? "$1"
}
ptx=tests/record/kernels.ptx

# ---- by CUPTI

LD_LIBRARY_PATH=$work/bin "$work/bin/program" data $ptx >"$work/without"
watched data $ptx
cmp -s "$work/out" "$work/without" && [ "$(ls "$work/records")" = scale.1.record ] &&
    grep -q "^tilewright record: launch 1, of scale, is in .*/records/scale.1.record: 1 allocation and 1 variable, 16400 bytes$" "$work/err"
ok $? "the first launch, where nothing else is said"
replays "it is replayed, equal" 0 '^compared: 16400 bytes, all equal$' "$work/records/scale.1.record"
grep -q '^completed: 5 blocks, .* 0 hazards$' "$work/out"
ok $? "with hazards watched"
TILEWRIGHT_RECORD_LAUNCH=2,3 watched data $ptx
[ "$(echo $(ls "$work/records"))" = "scale.2.record scale.3.record" ]
ok $? "chosen by numbers"
replays "the third one" 0 'all equal' "$work/records/scale.3.record"
for pattern in cal 's*e' '[a-z]*'; do
    TILEWRIGHT_RECORD_KERNEL=$pattern watched data $ptx
    [ -f "$work/records/scale.1.record" ]
    ok $? "chosen by name: $pattern"
done
TILEWRIGHT_RECORD_KERNEL='c*e' watched data $ptx
[ -z "$(ls "$work/records")" ] && [ ! -s "$work/err" ]
ok $? "another name: nothing"
for what in file library buffer pinned; do
    TILEWRIGHT_RECORD_LAUNCH=all watched $what $ptx
    [ "$(ls "$work/records" | wc -l)" -eq 3 ]
    ok $? "$what: three launches"
    replays "$what: replayed" 0 'all equal' "$work/records/scale.2.record"
done
watched tile $ptx
replays "a tensor map" 0 'compared: 20496 bytes, all equal' "$work/records/tile.1.record"
FAKE_CC=10.0 watched tile $ptx
replays "a tensor map with the bit of Blackwell" 0 'compared: 20496 bytes, all equal' "$work/records/tile.1.record"

FAKE_SHIFT=48 watched tile $ptx
replays "parameters that begin behind a gap" 0 'compared: 20496 bytes, all equal' "$work/records/tile.1.record"
FAKE_SHIFT=48 FAKE_LOW=1 watched tile $ptx
replays "and a map that is mended there" 0 'compared: 20496 bytes, all equal' "$work/records/tile.1.record"

FAKE_LOW=1 watched data $ptx
replays "memory where the emulator has none: arguments are mended" 0 'all equal' "$work/records/scale.1.record"
grep -q 'note: memory is at 0x[0-9a-f]* here: arguments are mended, pointers in memory are not' "$work/err"
ok $? "and that is told"
FAKE_LOW=1 watched tile $ptx
replays "so are tensor maps" 0 'compared: 20496 bytes, all equal' "$work/records/tile.1.record"
FAKE_CAPTURES=1 watched data $ptx
cmp -s "$work/out" "$work/without"
ok $? "while another stream is captured, which goes on"
replays "and it is replayed" 0 'all equal' "$work/records/scale.1.record"

# What the GPU gave is another thing than the PTX says.
FAKE_WRONG=77 watched data $ptx
replays "a wrong element" 1 "allocation of 16384 bytes at 0x[0-9a-f]*: 1 byte differs, first byte 309: 0x00 here, 0x80 " \
    "$work/records/scale.1.record"
replays "a wrong element, as f32" 1 '1 element of f32 differs by too much (1 bytes differ), first element 77: 117.5 here, 117.75 ' \
    "$work/records/scale.1.record" --as f32 --rtol 1e-3
replays "a wrong element, near enough" 0 'compared: 16400 bytes, 1 differ, none by too much' \
    "$work/records/scale.1.record" --as f32 --atol 0.5
replays "blocks without the wrong element" 0 'compared: 1024 bytes, all equal' "$work/records/scale.1.record" --blocks 1:3
replays "a block with the wrong element" 1 '1 byte differs' "$work/records/scale.1.record" --blocks 0
replays "the last block writes less" 0 'compared: 332 bytes, all equal' "$work/records/scale.1.record" --blocks 4
replays "no such block" 1 'blocks 4 to 6, and the grid has 5' "$work/records/scale.1.record" --blocks 4:7
FAKE_WRONG=77:inf watched data $ptx
replays "infinity is near to nothing else" 1 'element 77: 117.5 here, inf recorded' "$work/records/scale.1.record" \
    --as f32 --rtol 1e-3
mv "$work/records" "$work/kept" && mkdir "$work/records" && cp "$work/kept/scale.1.record" "$work/records"
LD_LIBRARY_PATH=$work/bin CUDA_INJECTION64_PATH=$built/libtilewright-explain.so TILEWRIGHT_RECORD=$work/records \
    "$work/bin/program" data $ptx >"$work/out" 2>"$work/err"
[ "$(ls "$work/records" | wc -l)" -eq 2 ] && cmp -s "$work/kept/scale.1.record" "$work/records/scale.1.record"
ok $? "another process's record is kept"
replays "and its own stands beside it" 0 'all equal' "$work/records"/scale.1.*.record
FAKE_WRONG=77 watched data $ptx
replays "as json" 1 '"different":1[,}]' "$work/records/scale.1.record" --json
FAKE_FAIL=700 watched data $ptx
grep -q 'bytes; it failed$' "$work/err"
ok $? "a launch that fails is recorded"
replays "and replayed, without a comparison" 0 '^not compared: ' "$work/records/scale.1.record"

# ---- what cannot be recorded is told

watched capture $ptx
tells "a captured launch" 'launch 1 of scale is not recorded: it is captured into a graph'
TILEWRIGHT_RECORD_MEMORY=x watched data $ptx
tells "a wrong bound" 'nothing is recorded: TILEWRIGHT_RECORD_MEMORY=x: write 1 to'
TILEWRIGHT_RECORD_LAUNCH=0 watched data $ptx
tells "a wrong number" 'nothing is recorded: TILEWRIGHT_RECORD_LAUNCH=0: write numbers from 1'
driver=$work/old watched data $ptx
tells "an old driver" 'nothing is recorded: the driver has no cuFuncGetParamInfo: one of CUDA 12.4 or later is needed'
printf 'no folder' >"$work/file"
rm -rf "$work/records"
LD_LIBRARY_PATH=$work/bin CUDA_INJECTION64_PATH=$built/libtilewright-explain.so TILEWRIGHT_RECORD=$work/file/x \
    "$work/bin/program" data $ptx >"$work/out" 2>"$work/err"
tells "no folder" 'the folder cannot be made: Not a directory' && cmp -s "$work/out" "$work/without"
ok $? "and the program goes on"
sed 's/entry scale/entry other/' $ptx >"$work/other.ptx"
watched data "$work/other.ptx"
tells "PTX without the kernel" 'is not recorded: its module has no PTX with this kernel'

# A cubin, as Triton loads it: 64 bytes of a header that ends with the tables.
elf() { # file, byte
    {
        printf '\177ELF\2\1\1'
        head -c 25 /dev/zero
        printf '\100'
        head -c 21 /dev/zero
        printf '\100\0\1'
        head -c 70 /dev/zero
        printf %s "$2"
    } >"$1"
}
elf "$work/a.cubin" a
elf "$work/b.cubin" b
mkdir -p "$work/cache/one" "$work/cache/two"
cp $ptx "$work/cache/one/scale.ptx"
sed 's/mul\.rn\.f32/add.rn.f32/' $ptx >"$work/cache/two/scale.ptx"
cp "$work/a.cubin" "$work/cache/one/scale.cubin"
cp "$work/b.cubin" "$work/cache/two/scale.cubin"
watched data "$work/a.cubin"
tells "machine code" 'its module is machine code, and only PTX can be replayed: .* TILEWRIGHT_RECORD_PTX'
TILEWRIGHT_RECORD_PTX=$work/cache watched data "$work/a.cubin"
replays "machine code whose PTX lies in a folder, beside the same cubin" 0 'all equal' "$work/records/scale.1.record"
TILEWRIGHT_RECORD_PTX=$work/cache watched data "$work/b.cubin"
replays "the other one of that name" 1 'bytes differ' "$work/records/scale.1.record"
rm "$work/cache/one/scale.cubin" "$work/cache/two/scale.cubin"
TILEWRIGHT_RECORD_PTX=$work/cache watched data "$work/a.cubin"
tells "two PTX of that name and no cubin" '2 files scale.ptx are in .*, and no .cubin beside one of them is the module'
rm -r "$work/cache/two"
TILEWRIGHT_RECORD_PTX=$work/cache watched data "$work/a.cubin"
replays "one of that name" 0 'all equal' "$work/records/scale.1.record"
rm -r "$work/cache/one"
TILEWRIGHT_RECORD_PTX=$work/cache watched data "$work/a.cubin"
tells "none of that name" 'there is no scale.ptx in '

# ---- the file

watched data $ptx
good=$work/records/scale.1.record
patched() { # NAME STATUS LINE ARGUMENT...: of patch
    name=$1 status=$2 line=$3
    shift 3
    "$work/bin/patch" "$good" "$work/patched" "$@" || echo "not patched" >"$work/log"
    replays "$name" "$status" "$line" "$work/patched"
}
patched "a byte of what was recorded after" 1 'first byte 400: 0x.. here, 0x' 6 1 400 4
patched "a byte of a variable before" 1 'bytes differ' 5 0 43 1
for bytes in 0 20 31 100 2000 16448; do
    patched "cut off after $bytes bytes" 1 'patched: error: \(it is no recorded launch\|the record has\)' cut $bytes
done
cp "$good" "$work/patched"
printf x | dd of="$work/patched" bs=1 seek=9000 conv=notrunc 2>"$work/log"
replays "a damaged byte" 1 'patched: error: the record is damaged: its checksum is another' "$work/patched"
cp "$good" "$work/patched"
printf '\2' | dd of="$work/patched" bs=1 seek=8 conv=notrunc 2>"$work/log"
replays "another version" 1 'the record is of version 2, and this program reads version 1' "$work/patched"
patched "PTX that is none" 1 'patched:' 2 0 0 64
patched "a parameter elsewhere" 1 'the parameters are cut off\|a parameter lies behind\|a parameter lies where another' 3 3 0 8
patched "a block of other threads" 1 '.' 1 0 13 16
replays "no record" 1 'it is no recorded launch' $ptx
replays "a device" 1 '/dev/zero: error: it is no file with a size' /dev/zero
replays "no file" 1 'none.record' "$work/none.record"
for words in "--grid 1|--grid: the record says it all" "--arg 1|arguments: the record says" \
    "--device cuda|--device: the record" "--blocks x|--blocks x: write A:B" "--blocks 3:3|--blocks 3:3: write A:B" \
    "--as s32 --atol 1|--as s32: write a floating type" "--atol 1|--atol: of which type" "--as f32|--as f32: how far" \
    "--as f32 --rtol -1|--rtol -1: write a number"; do
    # shellcheck disable=SC2086
    replays "usage: ${words%|*}" 2 "${words#*|}" "$good" ${words%|*}
done
"$program" emu $ptx --grid 1 --block 1 --blocks 0:1 >"$work/out" 2>"$work/err"
[ $? -eq 2 ] && grep -q -- '--blocks is of a record: write --replay FILE' "$work/err"
ok $? "usage: --blocks without a record"

# ---- whole programs over the emulated driver

nvcc=$(nvcc_of "$program")
[ -z "$nvcc" ] || "$nvcc" -lineinfo -cudart shared -gencode arch=compute_90,code=compute_90 -o "$work/programs" \
    tests/record/programs.cu >"$work/log" 2>&1 || nvcc=
if [ -z "$nvcc" ]; then
    skip "whole programs" "no nvcc that compiles"
    echo "1..$count"
    exit $((failed != 0))
fi
# runs OPTION... NAME: records all launches of a program.
runs() {
    rm -rf "$work/records"
    "$program" run-program --record "$work/records" --record-launch all "$@" >"$work/out" 2>"$work/err"
}
for what in add:add:3 variables:count:2 struct:follow:1 map:tile:1 cluster:neighbours:1 pinned:add:1 graph:add:1 \
    cooperative:together:1; do
    number=${what##*:} name=${what%%:*} kernel=${what#*:}
    runs "$work/programs" "$name"
    [ "$(ls "$work/records" | wc -l)" -eq "$number" ]
    ok $? "program $name: recorded"
    replays "program $name: replayed" 0 'all equal' "$work/records/${kernel%:*}.$number.record" --hazards strict
done
runs --hazards off "$work/programs" race
replays "program race: replayed, with its hazard" 1 "^hazard UNORDERED-READ: .*programs.cu:$(sed -n '/the race/=' \
    tests/record/programs.cu)" "$work/records/reverse.1.record"
grep -q 'all equal' "$work/out"
ok $? "program race: the result is the recorded one all the same"
runs "$work/programs" bad
replays "program bad: replayed to its fault" 1 '^hazard BOUNDS: ' "$work/records/beyond.1.record"
runs --record-memory 1 --record-kernel 'ad*' "$work/programs" add
[ "$(ls "$work/records" | wc -l)" -eq 3 ]
ok $? "options of run-program"
"$program" run-program --record-memory 0 true >"$work/out" 2>"$work/err"
[ $? -eq 2 ] && grep -q -- '--record-memory 0: write 1 to 1048576' "$work/err"
ok $? "a wrong option of run-program"


# ---- what an H200 gave for Triton's kernels (tests/gpu/record.sh)

. tests/record/triton.sh
shown="$work/out $work/err"
for kind in $kinds; do
    gzip -dc "tests/golden/records/$kind.record.gz" >"$work/$kind.record"
    replay_of "$kind" "$work/$kind.record"
done
good=$work/add.record
patched "a byte of Triton's result that is another" 1 '1 byte differs, first byte 100: ' 6 0 100 1

echo "1..$count"
exit $((failed != 0))
