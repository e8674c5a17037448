#!/bin/sh
# What README.md says is true: its commands print what stands below them, its files, variables and commands exist.
# TAP on stdout. What compiles is skipped where there is no NVRTC; no GPU is used. Nothing is written into the tree.
#   usage: tests/readme.sh [PROGRAM], from the top of the tree
#
# Every fenced block is checked. The line before it may say how:
#   (nothing)                 `$ command` lines, each with its output (stdout and stderr) below it; `...` stands for any
#                             text of a line and, alone on a line, for any lines. Status 0, unless `$ echo $?` follows.
#   <!-- needs NVRTC -->      the same, where there is NVRTC
#   <!-- file: PATH -->       the text of a file that later blocks use
#   <!-- from: PATH -->       lines that stand in this file, one after the other
#   <!-- not run: REASON -->  none of this
set -u
program=${1:-build/tilewright}
case $program in /*) ;; *) program=$PWD/$program ;; esac
top=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_readme_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
LC_ALL=C
TILEWRIGHT_CACHE=$work/cache
CUDA_VISIBLE_DEVICES=
export LC_ALL TILEWRIGHT_CACHE CUDA_VISIBLE_DEVICES
count=0 failed=0

ok() { # status name [file that shows what is wrong]
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $count - $2"
    else
        failed=$((failed + 1))
        echo "not ok $count - $2"
        [ $# -lt 3 ] || sed 's/^/# /' "$3"
    fi
}

skip() { # name why
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

# The commands run in a tree like this one, whose build folder is its own.
tree=$work/tree
mkdir -p "$tree/build" "$work/blocks"
for entry in *; do
    [ "$entry" = build ] || ln -s "$top/$entry" "$tree/$entry"
done
ln -s "$program" "$tree/build/tilewright"
if "$program" doctor >/dev/null 2>&1; then nvrtc=yes; else nvrtc=no; fi

# README.md -> blocks/N.text, and a list "N LINE NOTE"
awk -v folder="$work/blocks" '
    /^```/ && !inside { inside = 1; n++; text = folder "/" n ".text"; printf "" > text; print n, NR, note; next }
    /^```/ { inside = 0; note = ""; close(text); next }
    inside { print > text; next }
    /^<!-- .* -->$/ { note = substr($0, 6, length($0) - 9); next }
    /[^ ]/ { note = "" }
' README.md >"$work/list"

# Expected lines (first file) against actual ones (second file).
cat >"$work/match.awk" <<'AWK'
function line_matches(want, got,    part, parts, i, at) {
    if (!index(want, "..."))
        return want == got
    parts = split(want, part, /\.\.\./)
    if (substr(got, 1, length(part[1])) != part[1])
        return 0
    got = substr(got, length(part[1]) + 1)
    for (i = 2; i < parts; i++) {
        at = index(got, part[i])
        if (part[i] != "" && !at)
            return 0
        if (part[i] != "")
            got = substr(got, at + length(part[i]))
    }
    at = length(got) - length(part[parts])
    return at >= 0 && substr(got, at + 1) == part[parts]
}
function matches(i, j) {
    for (; i <= wants; i++) {
        if (i > furthest)
            furthest = i
        if (want[i] == "...") {
            for (; j <= gots; j++)
                if (matches(i + 1, j))
                    return 1
            return matches(i + 1, j)
        }
        if (j > gots || !line_matches(want[i], got[j++]))
            return 0
    }
    furthest = wants + 1
    return j > gots
}
FILENAME == ARGV[1] { want[++wants] = $0; next }
{ got[++gots] = $0 }
END {
    if (matches(1, 1))
        exit 0
    print "README.md:" first + furthest - 1 ": " \
        (furthest > wants ? "the output goes on" : "not in the output: " want[furthest])
    for (i = 1; i <= gots && i <= 100; i++)
        print "> " got[i]
    exit 1
}
AWK

# Runs the commands of a block in one shell, and compares each output.
commands() { # number line
    parts=$work/parts
    rm -rf "$parts"
    mkdir "$parts"
    awk -v parts="$parts" '
        /^\$ / {
            want = parts "/" ++n ".want"
            printf "" > want
            print substr($0, 3) > (parts "/" n ".command")
            next
        }
        n { print > want }
        !n { exit 1 }
    ' "$work/blocks/$1.text" || { ok 1 "README.md:$2: a block that begins with no command"; return; }
    n=1
    while [ -f "$parts/$n.command" ]; do
        next=$parts/$((n + 1)).command
        printf '{\n%s\n} >"%s/%d.got" 2>&1 </dev/null\n' "$(cat "$parts/$n.command")" "$parts" "$n"
        if ! [ -f "$next" ] || [ "$(cat "$next")" != "echo \$?" ]; then
            printf 'status=$?; [ $status = 0 ] || echo "status $status" >"%s/%d.status"\n' "$parts" "$n"
        fi
        n=$((n + 1))
    done >"$parts/script"
    (cd "$tree" && sh "$parts/script")
    n=1 at=$(($2 + 1))
    while [ -f "$parts/$n.command" ]; do
        awk -v first=$((at + 1)) -f "$work/match.awk" "$parts/$n.want" "$parts/$n.got" >"$parts/$n.wrong" &&
            [ ! -s "$parts/$n.status" ]
        status=$?
        [ ! -s "$parts/$n.status" ] || cat "$parts/$n.status" >>"$parts/$n.wrong"
        ok $status "README.md:$at: $(cat "$parts/$n.command")" "$parts/$n.wrong"
        at=$((at + 1 + $(wc -l <"$parts/$n.want")))
        n=$((n + 1))
    done
}

while read -r number line note; do
    text=$work/blocks/$number.text
    case $note in
    "not run: "?*) ;;
    "file: "*)
        path=$tree/${note#file: }
        mkdir -p "${path%/*}" && cp "$text" "$path"
        ok $? "README.md:$line: $note"
        ;;
    "from: "*)
        awk 'FILENAME == ARGV[1] { want[++wants] = $0; next }
             { line[++lines] = $0 }
             END {
                 for (at = 0; at + wants <= lines; at++) {
                     for (i = 1; i <= wants && line[at + i] == want[i]; i++);
                     if (i > wants) exit 0
                 }
                 exit 1
             }' "$text" "${note#from: }"
        ok $? "README.md:$line: its lines stand in ${note#from: }" "$text"
        ;;
    "needs NVRTC")
        if [ $nvrtc = yes ]; then commands "$number" "$line"; else skip "README.md:$line" "no NVRTC"; fi
        ;;
    "") commands "$number" "$line" ;;
    *) ok 1 "README.md:$line: no such note: $note" ;;
    esac
done <"$work/list"

# What README.md names between backquotes, outside of blocks.
awk '/^```/ { inside = !inside; next } !inside' README.md | grep -o '`[^`]*`' | tr -d '`' | sort -u >"$work/words"
missing=0
grep -E '^(gen|runtime|templates|specs|tests|\.ci)/[^ ]*$|^(build\.ninja|bootstrap|configure|LICENSE)$' \
    "$work/words" >"$work/paths"
while read -r file; do
    [ -e "$file" ] || { missing=1; echo "$file" >>"$work/missing"; }
done <"$work/paths"
ok $missing "the files that it names exist" "$work/missing"

# The table of questions: the first word of an answer stands in its file.
sed -n '/^| question/,/^$/s/^| [^|]* | `\([^`]*\)` | `\([^`]*\)`.*/\1 \2/p' README.md >"$work/answers"
: >"$work/missing"
while read -r file word; do
    grep -qF -- "$word" "$file" || echo "$file: no $word" >>"$work/missing"
done <"$work/answers"
[ "$(wc -l <"$work/answers")" -ge 20 ] && [ ! -s "$work/missing" ]
ok $? "the answers to its questions are where it says" "$work/missing"

# The table of commands and the program's.
sed -n 's/^COMMAND(\([a-z]*\),.*/\1/p' gen/common/commands.def | sort >"$work/want"
sed -n 's/^| `\([a-z]*\).*/\1/p' README.md | sort -u >"$work/got"
comm -23 "$work/want" "$work/got" >"$work/diff"
[ -s "$work/want" ] && [ ! -s "$work/diff" ]
ok $? "every command has its row" "$work/diff"

# The table of variables and those that the program, the emitted code and the test runner read.
sed -n '/^| variable/,/^$/s/^| \(`[^|]*`\) |.*/\1/p' README.md | grep -o '[A-Z][A-Z_]*' | sort -u >"$work/got"
{
    find gen runtime/*.c runtime/tensormap templates/host -name '*.c' -exec cat {} + |
        grep -oE '(tw_variable|getenv|add_list)\([^"()]*"[A-Z_]+"|\*const names\[\] = \{"CUDA_[^}]*' |
        grep -oE '"[A-Z_]+"' | tr -d '"'
    printf '%s\n' BLESS CUDA_VISIBLE_DEVICES # the tests' and the driver's
} | sort -u >"$work/want"
diff -u "$work/want" "$work/got" >"$work/diff"
ok $? "the table of variables is what is read" "$work/diff"

echo "1..$count"
[ "$failed" -eq 0 ]
