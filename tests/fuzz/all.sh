#!/bin/sh
# Several fuzz targets at once: sh tests/fuzz/all.sh FOLDER SECONDS TARGET:PROCESSES..., from the root of the tree.
# FOLDER, such as build/fuzz, has the targets that ninja built and what corpus.sh made. Its file `summary` gets a line of
# each target, which results.py reads; findings are in FOLDER/findings/TARGET, what is new in FOLDER/work/TARGET.
set -eu
folder=$(cd "$1" && pwd) seconds=$2
shift 2
one() { # TARGET PROCESSES
    mkdir -p "$folder/work/$1" "$folder/findings/$1"
    # shellcheck disable=SC2046 # a list of words
    bash -c 'TIMEFORMAT="%U %S"; log=$1; shift; { time nice "$@" >"$log" 2>&1; } 2>"$log.times"' time "$folder/$1.log" \
        "$folder/fuzz_$1" $(sh tests/fuzz/options.sh "$1" "$folder") "-fork=$2" "-max_total_time=$seconds" \
        "-artifact_prefix=$folder/findings/$1/" "$folder/work/$1" "$folder/$(sh tests/fuzz/options.sh "$1")" || true
}
for pair in "$@"; do one "${pair%:*}" "${pair#*:}" & done
wait
for pair in "$@"; do
    target=${pair%:*}
    grep -a '^#' "$folder/$target.log" | sed -n '1p;$p' | tr '\n' ' ' >"$folder/$target.lines"
    echo "$target processes ${pair#*:} user+system $(tail -n 1 "$folder/$target.log.times")" \
        "corpus $(find "$folder/work/$target" -type f | wc -l) files" \
        "findings $(find "$folder/findings/$target" -type f | wc -l) lines $(cat "$folder/$target.lines")"
done | tee "$folder/summary"
