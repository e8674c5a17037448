#!/bin/sh
# The kernels of specs/rows.lua against a plain copy on the GPU of this machine.
#   usage: tests/gpu/rows/rows.sh build DIR [PROGRAM]   compiles all that is needed; takes NVRTC and nvcc, no GPU
#          tests/gpu/rows/rows.sh run DIR [ROUNDS]      measures; DIR may have come from another machine
set -eu
case ${1:-} in
build)
    folder=$2 program=${3:-build/tilewright} here=$(dirname "$0")
    mkdir -p "$folder"
    rm -f "$folder/rows"
    "$program" build specs/rows.lua --arch sm_90a -o "$folder"
    nvcc -arch=sm_90 -cubin -o "$folder/copy.cubin" "$here/copy.cu"
    sources=
    for name in rms_norm rms_norm_wide rms_norm_short layer_norm softmax transpose column_sum embedding stencil; do
        sources="$sources $folder/$name.c"
    done
    ${CC:-gcc} -std=c11 -D_GNU_SOURCE -O2 -I"$folder" "$here/rows.c" $sources -ldl -lm -o "$folder/rows"
    cp "$here/rows.sh" "$folder/"
    ;;
run)
    "$2/rows" "$2/copy.cubin" "${3:-21}" >"$2/rows.json"
    cat "$2/rows.json"
    ;;
*)
    echo "usage: rows.sh build DIR [PROGRAM] | run DIR [ROUNDS]" >&2
    exit 2
    ;;
esac
