#!/bin/sh
# Builds and runs a fuzz target, from the root of the tree:
# sh tests/fuzz/run.sh ptx|load|tensormap|spec|template SECONDS [FOLDER].
# README.md says more.
set -eu
target=$1 seconds=$2 out=${3:-build/fuzz}
flags="-std=c11 -D_GNU_SOURCE -Igen -Iruntime -Itests -I/usr/include/lua5.4 -g -O1 -fno-omit-frame-pointer
    -fsanitize=address,undefined -fno-sanitize-recover=all"
libraries="-l:liblua5.4.a -l:libjson-c.a -l:libxxhash.a -lm -ldl -pthread"
mkdir -p "$out/work/$target" "$out/findings"
sources="runtime/*.c runtime/tensormap/*.c runtime/emu/*/*.c"
mutator= dictionary= length=4000
case $target in
ptx | load) mutator=tests/fuzz/mutate_ptx.c length=60000 seeds=ptx ;;
tensormap) sources="$sources gen/cmd/tensormap.c gen/cmd/tensormap/*.c gen/common/dtype_names.c gen/common/json.c gen/spec/diag.c gen/spec/arena.c" seeds=tensormap ;;
spec) # the reader; the library's texts are those of the build
    sources="runtime/*.c runtime/tensormap/*.c gen/spec/*.c gen/read/*.c gen/program/*.c gen/emit/embed.c build/embed.o"
    seeds=spec length=20000
    ninja build/embed.o ;;
template) # what compiles, but for commands, pictures and the run of kernels; the templates are those of the build
    sources="runtime/*.c runtime/tensormap/*.c build/embed.o build/prepared.o
        $(find gen -name '*.c' ! -path gen/main.c ! -path 'gen/emit/prepare/*' ! -path 'gen/cmd/*' ! -path 'gen/show/*' \
            ! -path 'gen/verify/*')"
    seeds=template length=20000
    ninja build/embed.o build/prepared.o ;;
*) echo "run.sh: the targets are ptx, load, tensormap, spec and template" >&2 && exit 2 ;;
esac
# shellcheck disable=SC2086 # lists of words
clang $flags -fsanitize=fuzzer $sources $mutator "tests/fuzz/fuzz_$target.c" -o "$out/fuzz_$target" $libraries
if [ ! -d "$out/ptx" ]; then
    # shellcheck disable=SC2086
    clang -std=c11 -D_GNU_SOURCE -Iruntime -O1 tests/fuzz/compile.c runtime/*.c -o "$out/compile" $libraries
    sh tests/fuzz/corpus.sh "$out"
fi
[ -z "$mutator" ] || dictionary="-dict=$out/dictionary"
# One process that starts workers: a finding is written to FOLDER/findings, and the work goes on.
# shellcheck disable=SC2086
exec "$out/fuzz_$target" -fork=1 -ignore_crashes=1 -ignore_timeouts=1 -ignore_ooms=1 -rss_limit_mb=2500 -timeout=25 \
    -max_len=$length -max_total_time="$seconds" -artifact_prefix="$out/findings/" $dictionary "$out/work/$target" \
    "$out/$seeds"
