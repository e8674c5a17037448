#!/bin/sh
# Builds and runs a fuzz target, from the root of the tree:
# sh tests/fuzz/run.sh ptx|load|tensormap|spec|template|command|file|program|record SECONDS.
# README.md says more.
set -eu
target=$1 seconds=$2 out=$PWD/build/fuzz
[ -f "tests/fuzz/fuzz_$target.c" ] || { echo "run.sh: there is no tests/fuzz/fuzz_$target.c" >&2 && exit 2; }
ninja "build/fuzz/fuzz_$target" build/fuzz/compile build/tilewright
[ -d "$out/$(sh tests/fuzz/options.sh "$target")" ] || sh tests/fuzz/corpus.sh "$out"
mkdir -p "$out/work/$target" "$out/findings"
# shellcheck disable=SC2046 # a list of words
exec "$out/fuzz_$target" $(sh tests/fuzz/options.sh "$target" "$out") -max_total_time="$seconds" \
    -artifact_prefix="$out/findings/$target-" "$out/work/$target" "$out/$(sh tests/fuzz/options.sh "$target")"
