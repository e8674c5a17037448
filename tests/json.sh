#!/bin/sh
# What commands print with --json: one object, its keys those that `help json` lists, nothing on stderr, and the same
# faults as in text. TAP on stdout; no GPU.
#   usage: tests/json.sh [PROGRAM], from the top of the tree
set -u
. tests/tap.sh
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_json_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
CUDA_VISIBLE_DEVICES=
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export LC_ALL CUDA_VISIBLE_DEVICES TILEWRIGHT_CACHE

tilewright() {
    timeout 120 "$program" "$@" >"$work/out" 2>"$work/err"
    status=$?
}

# The paths of all keys of JSON texts, a file each, one a line and once; a fault of a text's grammar is "BAD".
cat >"$work/paths.awk" <<'AWK'
function bad(why) { print "BAD " why " at " position " of " name; exit }
function blanks() { while (substr(text, position, 1) ~ /[ \t\n]/) position++ }
function string(    start) {
    start = ++position
    while (position <= length(text) && substr(text, position, 1) != "\"") position += substr(text, position, 1) == "\\" ? 2 : 1
    return substr(text, start, position++ - start)
}
function value(path,    c, key) {
    blanks()
    c = substr(text, position, 1)
    if (c == "\"") { string(); return }
    if (c == "{" || c == "[") {
        position++
        blanks()
        if (substr(text, position, 1) ~ /[]}]/) { position++; return }
        for (;;) {
            if (c == "{") {
                blanks()
                if (substr(text, position, 1) != "\"") bad("no key")
                key = (path == "" ? "" : path ".") string()
                if (!told[key]++) print key
                blanks()
                if (substr(text, position++, 1) != ":") bad("no colon")
                value(key)
            } else {
                value(path "[]")
            }
            blanks()
            if (substr(text, position, 1) != ",") break
            position++
        }
        if (substr(text, position++, 1) != (c == "{" ? "}" : "]")) bad("not closed")
        return
    }
    if (!match(substr(text, position, 40), /^(true|false|null|-?[0-9][0-9.eE+-]*)/)) bad("no value")
    position += RLENGTH
}
function one() { position = 1; value(""); blanks(); if (position <= length(text)) bad("text behind it"); text = "" }
FNR == 1 && NR > 1 { one() }
{ name = FILENAME; text = text $0 "\n" }
END { if (text != "") one() }
AWK

"$program" help json | sed -n 's/^    \([a-z_.*\[][^ ]*\) .*/\1/p' >"$work/known"
# Whether every path of $work/out, or of the files, is one of help json, * standing for any key.
described() {
    [ $# -gt 0 ] || set -- "$work/out"
    # What a Plan has below its fields, ENTRY.ARCH.plan.json shows.
    awk -f "$work/paths.awk" "$@" | sed 's/^\(plans\[\]\.[^.[]*\).*/\1/' | sort -u >"$work/paths"
    awk 'NR == FNR { known[$0] = 1; next }
        { any = $0; sub(/[^.]*$/, "*", any) } !($0 in known) && !(any in known) { print "not in help json: " $0 }' \
        "$work/known" "$work/paths" >"$work/wrong"
    [ -s "$work/paths" ] && [ ! -s "$work/wrong" ]
}

[ "$(wc -l <"$work/known")" -ge 50 ]
ok $? "help json lists fields" "$work/wrong"
mkdir "$work/made"
good=specs/fft.lua
for arguments in "check $good" "gen $good -o $work/made" "check specs/gemm.lua --kernel none" "check $work/none.lua" \
    "check $good --arch sm_99" "gen $good -o /dev/null/x" "plan $work/none.lua" "plan $good --arch sm_80" "build $work/none.lua -o $work/made" \
    "run $work/none.lua" "gen specs/gemm.lua --arch sm_80 -o $work/made"; do
    # shellcheck disable=SC2086
    tilewright $arguments --json
    silent=$([ ! -s "$work/err" ] && echo 0 || echo 1)
    described && [ "$silent" -eq 0 ] && grep -Eq "\"status\": ?$status[,}]?" "$work/out"
    ok $? "$arguments --json: status $status" "$work/wrong"
done

# Faults are those of the text: file, line, rule, and as many.
mkdir "$work/json"
for spec in tests/errors/*.lua; do
    case $spec in *.tuned.lua) continue ;; esac
    [ -f "$spec" ] || continue
    tilewright check "$spec" --json
    [ ! -s "$work/err" ] && [ $status -eq 1 ] && [ -s "$work/out" ] || echo "$spec: status $status"
    name=${spec##*/}
    mv "$work/out" "$work/json/${name%.lua}"
    echo "${spec%.lua}.err" >>"$work/goldens"
done >"$work/different"
described "$work"/json/* || cat "$work/wrong" >>"$work/different"
# NAME:COUNT, of both.
grep -c '"severity"' "$work"/json/* | sed 's|.*/||' >"$work/told"
xargs grep -Ec '^[^ ].*: (error|warning|note): ' <"$work/goldens" | sed 's|.*/||; s/\.err:/:/' >"$work/expected"
diff "$work/expected" "$work/told" >>"$work/different"
cp "$work/different" "$work/wrong"
[ -s "$work/told" ] && [ ! -s "$work/different" ]
ok $? "check --json: the faults of tests/errors, each an object" "$work/wrong"

# told STATUS NAME [RULE]: one object of this status, nothing on stderr, and not silent where something is wrong.
told() {
    described && [ "$status" -eq "$1" ] && [ ! -s "$work/err" ] && grep -Eq "^{\"command\": ?\"[a-z]*\",.*\"status\": ?$1," "$work/out" &&
        { [ "$1" -eq 0 ] || grep -q '"severity":' "$work/out"; } &&
        { [ $# -lt 3 ] || grep -q "\"rule\": *\"$3\"" "$work/out"; }
    result=$?
    cat "$work/err" >>"$work/wrong"
    ok $result "$2" "$work/wrong"
}
TILEWRIGHT_CACHE=off tilewright cache list --json
told 3 "cache --json without a cache: a diagnostic"
mkdir "$work/cache"
for action in path list verify gc; do
    TILEWRIGHT_CACHE=$work/cache tilewright cache $action --json
    told 0 "cache $action --json"
done
tilewright bench --host --json
told 3 "bench --json without a GPU"
golden=tests/golden/results
tilewright results merge $golden/h200.json $golden/h200.json -o "$work/merged.json" --json
told 0 "results merge --json: notes of rows measured twice"
tilewright results table $golden/h200.json --json
told 0 "results table --json"
tilewright results plot $golden/h200.json -o "$work/plots" --json
told 0 "results plot --json"
tilewright results table tests/tap.sh --json
told 1 "results --json: no JSON"
tilewright doctor --json
described && [ ! -s "$work/err" ]
ok $? "doctor --json: status $status" "$work/wrong"
tilewright doctor --device emu --json
described && [ ! -s "$work/err" ]
ok $? "doctor --device emu --json: status $status" "$work/wrong"

# Wrong usage is told so too, wherever --json stands.
for arguments in "results table --json" "results merge --json $work/x" "cache --json" "cache list --max-age 1 --json" "cache --json --none" "doctor --json here" "doctor --json --device gpu" "emu --json" \
    "emu --gird 1 --json x.cu" "check --json" "run $good --json --device none --seed x" "tensormap explain --none --json" \
    "tensormap decode --json" "tensormap explain --json --cc x"; do
    # shellcheck disable=SC2086
    tilewright $arguments
    told 2 "$arguments: usage"
done

kernel=tests/emu/command/add.ptx
tilewright emu $kernel --grid 1 --block 32 --arg buf:128,fill=zero --arg 1 --json
told 0 "emu --json"
tilewright emu $kernel --grid 1 --block 32 --arg buf:128 --arg 1 --json
described && [ $status -eq 1 ] && [ ! -s "$work/err" ] && grep -q '"hazards":\[{"name":"UNINIT"' "$work/out"
ok $? "emu --json: a hazard" "$work/wrong"
sed 's/ld.param/ld.parm/' $kernel >"$work/wrong.ptx"
printf '%s\n' 'buf:128' 'i32:x' >"$work/args"
for arguments in "none.cu --grid 1 --block 32" "$kernel --grid 1 --block 32" "$kernel --grid 1 --block 32 --arg i32:x" \
    "$kernel --grid 1 --block 32 --entry none" "$work/wrong.ptx --grid 1 --block 32" "$work/args --grid 1" \
    "$kernel --grid 1 --block 32 --args $work/args" "$kernel --grid 1 --block 32 --args $work/none"; do
    # shellcheck disable=SC2086
    tilewright emu $arguments --json
    told 1 "emu $arguments --json"
done
tilewright tensormap explain --json dtype=bf16 dim=64,64 box=64,64
told 0 "tensormap explain --json"
map=$(sed 's/.*"map":"\([^"]*\)".*/\1/' "$work/out")
tilewright tensormap explain --json dtype=bf16 dim=100,64 stride=200 box=64,64
told 1 "tensormap explain --json: refused" TMA-STR16
tilewright tensormap explain --json dtype=bf16 dim=64,x
told 1 "tensormap explain --json: no call"
tilewright tensormap explain --json result=700 dtype=bf16 dim=64,64 box=64,64
told 0 "tensormap explain --json: an earlier kernel's error"
tilewright tensormap decode --json "$map"
told 0 "tensormap decode --json"
tilewright tensormap decode --json "01${map#??}"
told 1 "tensormap decode --json: no map" TMA-ADDR16
tilewright tensormap decode --json 00
told 1 "tensormap decode --json: too short"
if "$program" doctor >/dev/null 2>&1; then
    tilewright build $good --arch sm_80 -o "$work/made" --json
    described && [ $status -eq 0 ]
    ok $? "build --json" "$work/wrong"
    tilewright run specs/gemm.lua --kernel gemm_bf16 --arch sm_90a --device emu --set M=64,N=64,K=64 --json
    described && [ $status -eq 0 ] && [ ! -s "$work/err" ]
    ok $? "run --json" "$work/wrong"
    tilewright run specs/gemm.lua --kernel gemm_fp16 --arch sm_90a --device none --json
    described && [ $status -eq 0 ] && [ ! -s "$work/err" ] && grep -q 'nothing was executed' "$work/out"
    ok $? "run --device none --json: a note" "$work/wrong"
    for arguments in "--set Q=1" "--kernel none" "--arch sm_99" "--sms 1 --arch sm_90a"; do
        # shellcheck disable=SC2086
        tilewright run specs/gemm.lua $arguments --device emu --json
        described && [ $status -eq 2 ] && [ ! -s "$work/err" ] && grep -q '"severity"' "$work/out"
        ok $? "run $arguments --json: one object" "$work/wrong"
    done
    tilewright run specs/gemm.lua --arch sm_90a --kernel gemm_bf16 --device emu --limit 1 --set M=512,N=512,K=4096 \
        --set M=64,N=64,K=64 --json
    described && [ ! -s "$work/err" ] && grep -q '"not_run": [0-9]' "$work/out"
    ok $? "run --limit --json" "$work/wrong"
    tilewright run specs/gemm.lua --break no_wait_full --json
    described
    ok $? "run --break --json" "$work/wrong"
else
    count=$((count + 1))
    echo "ok $count - build, run # SKIP there is no NVRTC"
fi
echo "1..$count"
[ "$failed" -eq 0 ]
