#!/bin/sh
# tilewright results: merge, plot and table against goldens, what they refuse, that nothing is written by halves. TAP on
# stdout; no GPU, no NVRTC.
#   usage: tests/results.sh [PROGRAM], from the top of the tree. BLESS=1 rewrites the goldens.
# tests/golden/results: h200.json, rows.json are measured; torch.json, a100.json are invented.
set -u
. tests/tap.sh
. tests/svg.sh
program=${1:-build/tilewright}
golden=tests/golden/results
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_results_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL
shown="$work/diff $work/out $work/err"

results() {
    rm -f "$work/diff"
    "$program" results "$@" >"$work/out" 2>"$work/err"
    status=$?
}
same() { # FILE GOLDEN
    [ -z "${BLESS:-}" ] || cp "$1" "$golden/$2"
    diff "$golden/$2" "$1" >"$work/diff" 2>&1
}
is() { [ "$status" -eq "$1" ]; }
says() { grep -q -e "$1" "$work/err"; }
prints() { grep -q -e "$1" "$work/out"; }

# ---- merge

all=$work/all.json
results merge $golden/h200.json $golden/torch.json $golden/rows.json $golden/a100.json -o "$all"
is 0 && [ ! -s "$work/err" ] && prints ': 117 rows, 0 replaced$'
ok $? "four files, two GPUs, back ends run apart, as one"
same "$all" merged.json
ok $? "what is written"
results merge "$all" -o "$work/again.json"
is 0 && cmp -s "$all" "$work/again.json"
ok $? "merged again: the same bytes"
results merge "$all" $golden/torch.json -o "$all"
is 0 && prints ': 117 rows, 19 replaced$' && [ "$(grep -c 'takes the place of' "$work/err")" = 19 ] &&
    says 'torch.json row 3 takes the place of .*all.json row 83: both are gemm_bf16, 64 x 7168 x 2048, torch on NVIDIA H200 (sm_90), sustained, run 1795397179$'
ok $? "rows measured twice: each is told"
results merge "$work/again.json" -o "$work/third.json"
cmp -s "$all" "$work/again.json"
ok $? "one of the files read is written, and its rows stand where they stood"
# Of a row measured twice the later counts: its peer's latency doubles, so does the ratio.
row() { # backend latency run more
    printf '{"kernel": "k", "arch": "sm_90a", "gpu_model": "G", "problem_size": {"N": 8, "M": 4}, "backend": "%s", ' "$1"
    printf '"mode": "burst", "latency_ms": %s, "run": %s%s}' "$2" "$3" "${4:-}"
}
echo "[$(row tilewright 2.0 '"a"'), $(row peer 1.0 '"a"'), $(row peer 8.0 '"b"'), $(row other 3.0 '"a"')]" >"$work/a.json"
echo "{\"rows\": [$(row peer 2.5 '"a"' ', "power": [700, null]')]}" >"$work/b.json"
results merge "$work/a.json" -o "$work/c.json"
is 0 && grep -q '"tilewright".*"ratio": 0.5 }' "$work/c.json" && grep -q '"run": "b", "ratio": 1 }' "$work/c.json" &&
    grep -q '"other".*"ratio": 0.333333333 }' "$work/c.json"
ok $? "ratios are to the best peer of the same run"
results merge "$work/a.json" "$work/b.json" -o "$work/c.json"
is 0 && grep -q '"tilewright".*"ratio": 1.25 }' "$work/c.json" && grep -q '2.5.*"power": \[ 700, null \], "ratio": 1 }' "$work/c.json"
ok $? "ratios are made anew, members that are not known stay"
echo "[$(row tilewright 2.0 1), $(row peer 1.0 2 ', "ratio": null')]" >"$work/a.json"
results merge "$work/a.json" -o "$work/c.json"
is 0 && ! grep -q '"tilewright".*"ratio"' "$work/c.json"
ok $? "no ratio across runs"
sed 's/"N": 8, "M": 4/"M": 4, "N": 8/; s/"run": 1/"run": "1"/' "$work/a.json" >"$work/b.json"
results merge "$work/a.json" "$work/b.json" -o "$work/c.json"
is 0 && prints ': 2 rows, 2 replaced$'
ok $? "sizes in another order and runs as text are the same"

# A kernel whose process compared it with the peer of another one.
echo "[$(row tilewright 2.0 1 ', "ratio": 0.75'), $(row peer 1.0 2)]" >"$work/a.json"
results merge "$work/a.json" -o "$work/c.json"
is 0 && grep -q '"tilewright".*"ratio": 0.75 }' "$work/c.json"
ok $? "a ratio that its own run has told stays where that has no peer of the kernel"

# ---- table

results table "$work/again.json"
is 0 && [ ! -s "$work/err" ] && same "$work/out" table.md
ok $? "tables of every kernel, GPU and mode"
results table $golden/h200.json $golden/rows.json --kernel gemm_bf16 --mode burst --gpu "NVIDIA H200"
is 0 && [ "$(grep -c '^###' "$work/out")" = 1 ] && prints '^| geometric mean | | | | | \*\*0.833\*\* |$' &&
    [ "$(grep -c '^|' "$work/out")" = 24 ]
ok $? "one of them"
# By hand: the geometric mean of the ratios that the rows show.
awk -F '|' 'NF == 8 && $7 ~ /^ [0-9.]+ $/ && $2 !~ /least/ { n++; sum += log($7) } END { print n, sprintf("%.3f", exp(sum / n)) }' "$work/out" >"$work/diff"
[ "$(cat "$work/diff")" = "20 0.833" ]
ok $? "the mean is that of the rows"
results table $golden/h200.json --json
is 0 && prints '"compared":20,' && prints '"geometric_mean":0.83' && prints '"mode":"sustained"'
ok $? "as JSON"
# Kernels that differ in their set-up, over a member of it: what has none stands beside each value, ours as a peer.
copy() { # kernel backend latency setup
    printf '{"kernel": "%s", "arch": "sm_90a", "gpu_model": "G", "problem_size": {"H": 8}, "backend": "%s", ' "$1" "$2"
    printf '"mode": "burst", "latency_ms": %s, "gbs": 1000, "run": "a", "setup": %s}' "$3" "$4"
}
{
    echo "[$(copy copy tilewright 1.25 '{"box": "64x64", "stages": "fit"}'),"
    echo "$(copy wide tilewright 1.0 '{"box": "64x128", "stages": "fit"}'),"
    echo "$(copy deep tilewright 2.0 '{"box": "64x64", "stages": 4}'),"
    echo "$(copy threads tilewright 1.0 null), $(copy copy memcpy 4.0 null)]"
} >"$work/copies.json"
results table "$work/copies.json" --over box
is 0 && prints '^### H=8, G (sm_90a), burst$' &&
    prints '^| box | threads, us | memcpy, us | tilewright stages fit, us | tilewright stages 4, us |' &&
    prints '^| 64x64 | 1000 | 4000 | 1250 | 2000 |.*| 0.800 | 0.500 |$' &&
    prints '^| 64x128 | 1000 | 4000 | 1000 | |.*| 1.000 | |$'
ok $? "a table over a member of the setup" "$work/out"
results table "$work/copies.json" --over stages
is 0 && prints '^| fit | .*| 0.800 | 1.000 |$' && prints '^| 4 | .*| 0.500 | |$'
ok $? "and over another" "$work/out"
results plot "$work/copies.json" --over box -o "$work/copies"
is 0 && [ -s "$work/copies/G.burst.throughput.svg" ] && grep -q '64x128' "$work/copies/G.burst.throughput.svg"
ok $? "a picture over it" "$work/out"
results table "$work/copies.json" --over swizzle
is 1 && says '--over swizzle: no row has it in its setup$'
ok $? "a member that no row has" "$work/err"
results table "$all" --kernel gemm_bf61
is 1 && says "did you mean 'gemm_bf16'?" && [ ! -s "$work/out" ]
ok $? "a kernel misspelt"
results table "$all" --kernel softmax --mode sustained
is 1 && says 'no row has all that is chosen'
ok $? "a choice without rows"

# ---- plot

results plot "$work/again.json" -o "$work/plots"
is 0 && [ "$(sort "$work/out")" = "$(ls "$work"/plots/*.svg)" ] && [ "$(wc -l <"$work/out")" = 9 ]
ok $? "nine pictures: of two GPUs and two modes"
for name in NVIDIA_H200.burst NVIDIA_H200.sustained NVIDIA_A100_80GB_x_.burst; do
    for measure in latency throughput ratio; do
        well_formed "$work/plots/$name.$measure.svg" >"$work/diff"
        ok $? "$name.$measure: well-formed"
        # Characters are 0.61 of their size wide: no text meets another, none is outside.
        texts_apart "$work/plots/$name.$measure.svg" >"$work/diff"
        ok $? "$name.$measure: no text on another"
    done
done
for name in NVIDIA_H200.sustained.latency NVIDIA_H200.burst.throughput NVIDIA_A100_80GB_x_.burst.ratio; do
    same "$work/plots/$name.svg" "$name.svg"
    ok $? "$name: golden"
done
for damage in 's/x="20.0" y="48.0"/x="20.0" y="30.0"/' 's/>torch<\/text>/>a very long name of a back end<\/text>/' \
    's|text x="157.8"|text x="100.0"|'; do
    sed "$damage" "$work/plots/NVIDIA_H200.sustained.latency.svg" >"$work/damaged.svg"
    ! cmp -s "$work/damaged.svg" "$work/plots/NVIDIA_H200.sustained.latency.svg" && ! texts_apart "$work/damaged.svg" >"$work/diff"
    ok $? "a text on another is found: $damage"
done
results plot $golden/torch.json -o "$work/torch"
is 0 && [ "$(ls "$work/torch")" = NVIDIA_H200.sustained.latency.svg ]
ok $? "no throughput told, no peer: latency alone"
results plot "$all" -o "$work/again.json/folder"
is 3 && says 'cannot' && [ ! -s "$work/out" ]
ok $? "a folder that cannot be"

# ---- what is refused

# refused TEXT NAME: status 1, the place and what to do; the output is as it was.
refused() {
    is 1 && says "$1" && [ "$(cat "$work/kept.json")" = kept ] && [ ! -e "$work/kept.json.$$.tmp" ] &&
        ! ls "$work" | grep -q '\.tmp$'
    ok $? "$2"
}
echo kept >"$work/kept.json"
bad() { # TEXT OF THE FILE
    printf '%s' "$1" >"$work/bad.json"
    results merge $golden/h200.json "$work/bad.json" -o "$work/kept.json"
}
changed() { # a sed script over a row that is right
    bad "[$(row peer 1.0 1), $(row tilewright 1.5 1 | sed "$1")]"
}
bad ''
refused 'bad.json:1: error: no JSON: unexpected end of data; write what' "an empty file"
bad '{"rows": [
{"kernel": }]}'
refused 'bad.json:2: error: no JSON: ' "no JSON: its line"
bad "[$(row peer 1.0 1)] and more"
refused 'bad.json:1: error: no JSON: ' "text behind it"
bad '{"row": []}'
refused 'no list of rows; write \[' "no rows"
bad '[]'
refused '0 rows; write 1 to' "an empty list"
bad 'null'
refused 'no list of rows' "null"
bad '[7]'
refused 'row 1: it is no object' "a row that is a number"
for key in kernel arch gpu_model backend mode run; do
    changed "s/\"$key\": [^,}]*,* *//; s/, }/}/"
    refused "bad.json: error: row 2.*: no $key; write " "no $key"
    changed "s/\"$key\": [^,}]*/\"$key\": [1]/"
    refused "$key is no text; write " "$key a list"
done
changed 's/"latency_ms": 1.5, //'
refused 'row 2 (k, tilewright): no latency_ms; write milliseconds, the median$' "no latency"
changed 's/latency_ms": 1.5/latency_ns": 1500/'
refused 'latency_ns is there' "nanoseconds"
for value in 0 -1 NaN Infinity -Infinity 1e999; do
    changed "s/1\\.5/$value/"
    refused "row 2 (k, tilewright): latency_ms is [^,]*, which nothing measures; measure again, or leave" "a latency of $value"
done
changed 's/1\.5/"1.5"/'
refused 'latency_ms is no number' "a latency as text"
changed 's/"run"/"tflops": NaN, "run"/'
refused 'tflops is NaN, which nothing measures; leave it out' "TFLOP/s that are none"
changed 's/"run"/"latency_min_ms": 1.6, "run"/'
refused 'latency_min_ms 1.6 is above latency_ms 1.5' "a least above the median"
changed 's/"run"/"latency_max_ms": 1.4, "run"/'
refused 'latency_max_ms 1.4 is below latency_ms 1.5' "a most below the median"
changed 's/"problem_size": {[^}]*}/"problem_size": {}/'
refused 'problem_size is no object of 1 to' "no sizes"
changed 's/"N": 8/"N": [8]/'
refused 'problem_size, N: neither number' "a size that is a list"
changed 's/"backend": "tile/"backend": "\\u0000tile/'
refused 'control characters' "a zero in a text"
bad "[$(i=0; while [ $((i += 1)) -le 30 ]; do row peer 0 "$i"; printf ', '; done; row peer 1 1)]"
refused 'what follows row 20 is not looked at' "thirty faults: twenty are told"
[ "$(grep -c 'error: row' "$work/err")" = 20 ]
ok $? "... and no more"
results merge "$work/none.json" -o "$work/kept.json"
refused 'none.json' "a file that is not there"
results merge "$work/bad.json" "$work/none.json" -o "$work/kept.json"
says 'none.json' && says 'bad.json'
ok $? "the faults of all files in one run"
results
is 2 && says 'write merge, plot or table'
ok $? "what?"
results marge a.json
is 2 && says "did you mean 'merge'?"
ok $? "a verb misspelt"
results merge "$all"
is 2 && says 'where to? -o FILE'
ok $? "merge without -o"
results plot -o "$work/p"
is 2 && says 'which files?'
ok $? "plot without files"
results table --help
is 0 && prints '^  --kernel K ' && ! prints '^  -o'
ok $? "table --help"
results --help
is 0 && prints 'results merge A.json'
ok $? "results --help"
echo "1..$count"
[ "$failed" -eq 0 ]
