#!/bin/sh
# What commands print with --json: one object, its keys those that `help json` lists, nothing on stderr, and the same
# faults as in text. TAP on stdout; no GPU.
#   usage: tests/json.sh [PROGRAM], from the top of the tree
set -u
program=${1:-build/tilewright}
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_json_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
CUDA_VISIBLE_DEVICES=
export LC_ALL CUDA_VISIBLE_DEVICES
count=0 failed=0

ok() { # status name
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else
        failed=$((failed + 1))
        echo "not ok $count - $2"
        sed 's/^/# /' "$work/wrong" "$work/err" | head -n 20
    fi
}
tilewright() {
    timeout 120 "$program" "$@" >"$work/out" 2>"$work/err"
    status=$?
}

# The paths of all keys of a JSON text, one a line; a fault of its grammar is "BAD".
cat >"$work/paths.awk" <<'AWK'
function bad(why) { print "BAD " why " at " position; exit }
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
                print key
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
{ text = text $0 "\n" }
END { position = 1; value(""); blanks(); if (position <= length(text)) bad("text behind it") }
AWK

"$program" help json | sed -n 's/^    \([a-z_.*\[][^ ]*\) .*/\1/p' >"$work/known"
# Whether every path of $work/out is one of help json, * standing for any key.
described() {
    awk -f "$work/paths.awk" "$work/out" | sort -u >"$work/paths"
    awk 'NR == FNR { known[$0] = 1; next }
        { any = $0; sub(/[^.]*$/, "*", any) } !($0 in known) && !(any in known) { print "not in help json: " $0 }' \
        "$work/known" "$work/paths" >"$work/wrong"
    [ -s "$work/paths" ] && [ ! -s "$work/wrong" ]
}

[ "$(wc -l <"$work/known")" -ge 50 ]
ok $? "help json lists fields"
mkdir "$work/made"
good=specs/fft.lua
for arguments in "check $good" "gen $good -o $work/made" "check specs/gemm.lua --kernel none" "check $work/none.lua" \
    "check $good --arch sm_99" "gen $good -o /dev/null/x" "plan $work/none.lua" "build $work/none.lua -o $work/made" \
    "run $work/none.lua" "gen specs/gemm.lua --arch sm_80 -o $work/made"; do
    # shellcheck disable=SC2086
    tilewright $arguments --json
    silent=$([ ! -s "$work/err" ] && echo 0 || echo 1)
    described && [ "$silent" -eq 0 ] && grep -Eq "\"status\": ?$status[,}]?" "$work/out"
    ok $? "$arguments --json: status $status"
done

# Faults are those of the text: file, line, rule, and as many.
for spec in tests/errors/*.lua; do
    [ -f "$spec" ] || continue
    err=${spec%.lua}.err
    tilewright check "$spec" --json
    described && [ ! -s "$work/err" ] && [ $status -eq 1 ] &&
        [ "$(grep -c '"severity"' "$work/out")" -eq "$(grep -Ec '^[^ ].*: (error|warning|note): ' "$err")" ] || {
        echo "$spec: $(cat "$work/wrong")"
    }
done >"$work/different"
cp "$work/different" "$work/wrong"
[ ! -s "$work/different" ]
ok $? "check --json: the faults of tests/errors, each an object"
TILEWRIGHT_CACHE=off tilewright cache list --json
described && [ $status -eq 3 ] && [ ! -s "$work/err" ]
ok $? "cache --json without a cache: a diagnostic"
if "$program" doctor >/dev/null 2>&1; then
    tilewright build $good --arch sm_80 -o "$work/made" --json
    described && [ $status -eq 0 ]
    ok $? "build --json"
    tilewright run specs/gemm.lua --kernel gemm_bf16 --arch sm_90a --device emu --set M=64,N=64,K=64 --json
    described && [ $status -eq 0 ] && [ ! -s "$work/err" ]
    ok $? "run --json"
    tilewright run specs/gemm.lua --break no_wait_full --json
    described
    ok $? "run --break --json"
else
    count=$((count + 1))
    echo "ok $count - build, run # SKIP there is no NVRTC"
fi
echo "1..$count"
[ "$failed" -eq 0 ]
