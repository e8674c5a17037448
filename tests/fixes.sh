#!/bin/sh
# The fix that a message proposes is tried: of each fault in tests/errors whose message ends in "write N", "write N or M"
# or "write path = N", the value at the caret, or that field, is written so, and the fault must be gone; others may stay
# or come. TAP on stdout.
#   usage: tests/fixes.sh [PROGRAM], from the top of the tree
set -u
program=${1:-build/tilewright}
folder=tests/errors
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_fixes_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL
. tests/tap.sh
shown="$work/err"
tried=0

# A fault is known by kernel, field, rule and architecture: "kernel|field|rule|arch".
cat >"$work/faults.awk" <<'AWK'
/^[^ ].*: error: kernel '/ {
    text = $0
    sub(/^[^ ]*:[0-9]+: error: kernel '/, "", text)
    kernel = text; sub(/'.*/, "", kernel)
    sub(/^[^']*', /, "", text)
    field = text; sub(/: .*/, "", field)
    rule = text; sub(/.*\[/, "", rule); sub(/\]$/, "", rule)
    arch = ""
    if (match(text, /sm_[0-9]+a?/)) arch = substr(text, RSTART, RLENGTH)
    id = kernel "|" field "|" rule "|" arch
    place = $0; sub(/: error: .*/, "", place)
    line = place; sub(/.*:/, "", line)
    file = place ~ /\.tuned\.lua:/ ? "tuned" : "spec"
    fix = ""
    if (match(text, /; (it stands[^:]*: |'[a-z]*' is an axis: )?write .* \[/)) {
        fix = substr(text, RSTART, RLENGTH - 2)
        sub(/^.*; (it stands[^:]*: |'[a-z]*' is an axis: )?write /, "", fix)
    }
    if (!fixes) print id
    next
}
# The caret's line: its column, the source being four characters to the right.
fixes && id != "" && /^ *\^ *$/ {
    column = index($0, "^") - 4
    kind = ""
    if (fix ~ /^[0-9]+( or [0-9a-z].*|, or .*)?$/) {
        kind = "value"; sub(/(,| or ).*/, "", fix)
    } else if (fix ~ /^[a-z]+\.[a-z0-9_]+ = [0-9]+( or .*|, or .*)?$/) {
        kind = "field"; sub(/( or |, or ).*/, "", fix)
    } else if (fix ~ /^[a-z]+ = \{ [a-z_0-9]+ = [^ ]+ \}$/) {
        kind = "entry"
    }
    if (kind != "") print kind "\t" id "\t" file "\t" line "\t" column "\t" fix
    id = ""
}
AWK

# Writes the spec with a fix applied. value: the number or word at the caret; entry: the key at the caret with its value;
# field: group.key wherever the spec's tables have it from the kernel on, or beside the caret's field.
cat >"$work/apply.awk" <<'AWK'
BEGIN {
    group = key = fix; sub(/\..*/, "", group); sub(/^[^.]*\./, "", key); value = key
    sub(/ = .*/, "", key); sub(/.* = /, "", value)
}
kind != "field" && NR == line {
    match($0, /[^ \t]/) # a source line is shown without its own indentation
    at = column + RSTART - 1
    before = substr($0, 1, at - 1); rest = substr($0, at)
    if (kind == "value") sub(/^("[^"]*"|-?[0-9a-zA-Z_.]+)/, fix, rest)
    else sub(/^[a-zA-Z_]+ *= *("[^"]*"|[^ ,}]+)/, fix, rest)
    $0 = before rest
}
kind == "field" && !done {
    pattern = "(^|[^a-z_.])" group " *= *\\{[^}]*"
    if (match($0, pattern)) {
        start = RSTART; head = substr($0, 1, start - 1); body = substr($0, start, RLENGTH); tail = substr($0, start + RLENGTH)
        if (match(body, "[ {,]" key " *= *[0-9]+")) {
            hit = substr(body, RSTART, RLENGTH); b = substr(body, 1, RSTART - 1); a = substr(body, RSTART + RLENGTH)
            sub(/[0-9]+$/, value, hit)
            body = b hit a
        } else {
            sub(/\{/, "{ " key " = " value ",", body)
        }
        $0 = head body tail
        if (NR >= line) done = 1
    }
}
{ print }
AWK

for err in "$folder"/*.err; do
    stem=${err%.err} name=${err##*/} name=${name%.err}
    [ -f "$stem.lua" ] && [ ! -h "$stem.lua" ] || continue
    awk -v fixes=1 -f "$work/faults.awk" "$err" >"$work/fixes"
    n=0
    while IFS='	' read -r kind id file line column fix; do
        n=$((n + 1))
        copy=$work/$name.$n.lua changed=$copy from=$stem.lua
        cp "$stem.lua" "$copy"
        [ ! -f "$stem.tuned.lua" ] || cp "$stem.tuned.lua" "$work/$name.$n.tuned.lua"
        [ "$file" = spec ] || changed=$work/$name.$n.tuned.lua from=$stem.tuned.lua
        awk -v kind="$kind" -v line="$line" -v column="$column" -v fix="$fix" -f "$work/apply.awk" "$from" >"$changed"
        for beside in "$stem".cu "$folder"/*.cuh; do [ ! -f "$beside" ] || cp "$beside" "$work"; done
        [ ! -d "$work/lib" ] && [ -d "$folder/lib" ] && cp -r "$folder/lib" "$work/lib"
        if cmp -s "$changed" "$from"; then
            echo "# $name: the fix '$fix' of $id changes nothing here" >>"$work/untried"
            continue
        fi
        timeout 60 "$program" check "$copy" >"$work/out" 2>"$work/err"
        status=$?
        tried=$((tried + 1))
        [ $status -lt 2 ] && ! awk -f "$work/faults.awk" "$work/err" | grep -qxF "$id"
        ok $? "$name: write $fix: $id"
    done <"$work/fixes"
done
[ -f "$work/untried" ] && cat "$work/untried"
[ $tried -ge 50 ]
ok $? "$tried fixes were tried"
echo "1..$count"
[ "$failed" -eq 0 ]
