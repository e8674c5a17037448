#!/bin/sh
# The corpora of the fuzz targets: sh tests/fuzz/corpus.sh FOLDER, from the root of the tree, with build/tilewright
# built and NVRTC found. FOLDER/ptx is for fuzz_ptx and fuzz_load, FOLDER/tensormap and FOLDER/spec for the targets of
# those names, FOLDER/template, FOLDER/command, FOLDER/file, FOLDER/program and FOLDER/record likewise; FOLDER/compile is what ninja
# makes of tests/fuzz/compile.c.
set -eu
out=$1 golden=tests/golden
for folder in ptx tensormap spec template command file program record whole; do
    rm -rf "${out:?}/$folder"
    mkdir -p "$out/$folder"
done
for f in specs/*.lua specs/lib/*.lua tests/programs/*.lua tests/gpu/*.lua tests/errors/*.lua; do
    [ ! -f "$f" ] || cp "$f" "$out/spec"
done

cp specs/*.cu tests/errors/*.cu tests/fuzz/seeds/*.cu "$out/template"
cp tests/fuzz/seeds/*.lua "$out/spec"

# Command lines, one a line: ~ is a blank of a word, \n ends a line of what is given.
awk -v out="$out/command" '{ gsub(/~/, "\001"); gsub(/\\n/, "\n"); printf "%s", $0 > (out "/" NR) }' tests/fuzz/seeds/commands.txt
cp tests/fuzz/seeds/file/* "$out/file"
cp tests/fuzz/seeds/record/* "$out/record"

# Draws of programs: the seeds, and any bytes, of which an even one begins a program, an odd one a spec of gemm.
cp tests/fuzz/seeds/program/* "$out/program"
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    awk -v i="$i" 'BEGIN { srand(i); printf "%c", i % 4 ? 2 * i : 2 * i + 1
        for (n = 0; n < 160; n++) printf "%c", 1 + int(rand() * 255) }' >"$out/program/any$i"
done

# PTX: kernels of the tests, emitted kernels, and those written for this.
cp tests/emu/ptx/*.ptx tests/emu/command/*.ptx tests/emu/kernels/*.ptx tests/fuzz/seeds.ptx "$out/whole"
for f in tests/emu/kernels/*.cu; do
    "$out/compile" "$f" sm_90a "$out/whole/$(basename "$f" .cu).ptx" 2>/dev/null || echo "corpus: $f is left out" >&2
done
build/tilewright build specs/gemm.lua --kernel gemm_bf16 --keep -o "$out/whole" >/dev/null
for f in "$out"/whole/*.ptx; do
    awk -v folder="$out/ptx" -v prefix="$(basename "$f" .ptx)" -f tests/fuzz/split.awk "$f"
done
for f in "$out"/ptx/seeds.*.ptx "$out"/ptx/gemm*.ptx; do # each with every kind of tensor map among its arguments
    for map in 1 2 3 4 5 6 7; do
        sed "1s/^\\(.\\{16\\}\\)./\\1$map/" "$f" >"${f%.ptx}.map$map.ptx"
    done
    sed "1s/^\\(.\\{16\\}\\)./\\10/" "$f" >"${f%.ptx}.map0.ptx"
done
cp tests/fuzz/found/*.ptx "$out/ptx" 2>/dev/null || true

# Tensor maps: words, lines, bytes; the first byte is what fuzz_tensormap.c says.
printf 'w0dtype=bf16 dim=100,64 stride=200 box=64,64 swizzle=128B' >"$out/tensormap/words1"
printf 'v0f=im2col dtype=bf16 dim=64,8,8,2 lower=-1,-1 upper=-1,-1 channels=64 pixels=32' >"$out/tensormap/words2"
printf 'w1f=im2col_wide dtype=9 dim=64,8,8,2 lower=-1 upper=-1 channels=64 pixels=32 mode=1' >"$out/tensormap/words3"
printf 'e0{"f":"tiled","dtype":9,"rank":2,"addr":139637976727552,"dim":[64,64],"stride":[128],"box":[64,64],%s}' \
    '"estride":[1,1],"interleave":0,"swizzle":3,"l2":0,"oob":0' >"$out/tensormap/line1"
for kind in s b; do
    awk -v kind=$kind 'BEGIN { printf "%s0", kind; for (i = 0; i < 200; i++) printf "%c", 1 + i % 7 }' \
        >"$out/tensormap/$kind"
done
# bf16 [64, 64] at 0x7f0000000000 on device 0, as struct tw_tensor with a box of 32 x 64, and as DLPack has it.
zeros() { head -c "$1" /dev/zero; }
word() { printf "\\$(printf %o "$1")" && zeros 7; }
address() { printf '\000\000\000\000\000\177\000\000'; }
{
    printf t0 && address && zeros 4 && printf '\002' && zeros 3 && word 64 && word 64 && zeros 48 && word 64 && word 1 &&
        zeros 48 && word 2 && zeros 16 && printf '\040' && zeros 3 && printf '\100' && zeros 3
} >"$out/tensormap/tensor"
dlpack() { address && word 2 && printf '\002\000\000\000\004\020\001\000' && zeros 24; }
{ printf p0 && word 1 && zeros 24 && dlpack && word 64 && word 64 && zeros 48 && word 64 && word 1; } >"$out/tensormap/dlpack1"
{ printf P0 && dlpack && word 64 && word 64; } >"$out/tensormap/dlpack0"
if [ -f "$golden/tensormap_calls.jsonl.gz" ]; then
    zcat "$golden/tensormap_calls.jsonl.gz" | awk -v out="$out/tensormap" 'NR % 600 == 1 {
        printf "%s%d%s", substr("exj", 1 + n % 3, 1), n % 8, $0 > (out "/call" n)
        if (match($0, /"map":"[0-9a-f]*/))
            printf "%s0%s", n % 2 ? "d" : "D", substr($0, RSTART + 7, RLENGTH - 7) > (out "/map" n)
        n++
    }'
    zcat "$golden/tma_loads.jsonl.gz" | sed 's/,"completed".*/}/' | awk -v out="$out/tensormap" 'NR % 40 == 1 {
        printf "l0%s", $0 > (out "/load" n++)
    }'
fi

# Words of command lines, and of PTX, for libFuzzer's -dict.
{
    find gen -name '*.c' -exec sed -n 's/.*{"\(--*[a-z-]*\)", OPTION_.*/\1/p' {} +
    sed -n -e 's/^COMMAND(\([a-z]*\),.*/\1/p' -e 's/^COMMAND_AS([a-z_]*, "\([a-z-]*\)".*/\1/p' gen/common/commands.def
    sed -n 's/^ *{"\([^"]*\)", ".*/\1/p' tests/fuzz/command_files.h
    printf '%s\n' sm_80 sm_90a given fill= name= offset= dump= map: buf: ref: struct: bytes: buffer: M= N= K=
} | sort -u | sed 's/.*/"&"/' >"$out/words"
{
    sed -n 's/^OPCODE([A-Z0-9_]*, "\([^"]*\)".*/\1/p' runtime/emu/ptx/ptx_opcodes.def | tr '|' '\n'
    sed -n 's/^\(FLAG\|MODIFIER\)([A-Z0-9_]*, "\([^"]*\)".*/.\2/p' runtime/emu/ptx/ptx_modifiers.def
    sed -n 's/^TYPE([A-Za-z0-9_]*, "\([^"]*\)".*/.\1/p' runtime/emu/ptx/ptx_types.def
    printf '%s\n' .entry .func .extern .visible .weak .common .param .reg .shared .global .const .local .align \
        .callprototype .branchtargets .alias .maxntid .reqntid .reqnctapercluster .version .target .address_size
} | sort -u | sed 's/.*/"&"/' >"$out/dictionary"
echo "corpus: $(ls "$out/ptx" | wc -l) files of PTX, $(ls "$out/tensormap" | wc -l) of tensor maps," \
    "$(wc -l <"$out/dictionary") words"
