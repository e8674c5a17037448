#!/bin/sh
# single.sh CC FOLDER SOURCE...: the runtime as FOLDER/tilewright.c and .h (single.awk), and FOLDER/single.S, an
# assembler file that holds both for `tilewright runtime` (gen/cmd/runtime.c). FOLDER/single.d says, in make's words,
# what single.S was made from. CC knows where xxhash.h is.
set -eu
cc=$1 out=$2
shift 2
headers='status dtype swizzle hooks architecture tensormap/tensormap tensormap/tensorview cubin nvrtc cache find_cuda
    driver device'
xxhash=$(echo '#include <xxhash.h>' | $cc -M -x c - | tr ' ' '\n' | grep '/xxhash\.h$')
mkdir -p "$out"
# shellcheck disable=SC2046,SC2086
awk -v out="$out" -v depfile="$out/single.d" -v target="$out/single.S" -v xxhash="$xxhash" -f gen/emit/single.awk \
    $(printf 'runtime/%s.h ' $headers) -- "$@"
{
    echo '.section .rodata'
    for file in source:c header:h; do
        echo ".globl single_${file%:*}, single_${file%:*}_end"
        echo "single_${file%:*}: .incbin \"$out/tilewright.${file#*:}\""
        echo "single_${file%:*}_end: .byte 0"
    done
    echo '.section .note.GNU-stack,"",%progbits'
} >"$out/single.S"
