#!/bin/sh
# What the pages say is true. Pages are README.md and the README.md of folders: their commands print what stands below
# them; their links, files, variables and commands exist; what scripts make of them (tables, the chart) is current.
# TAP on stdout. What compiles is skipped where there is no NVRTC; no GPU is used. Nothing is written into the tree, but
# with BLESS=1, which rewrites what scripts make.
#   usage: tests/readme.sh [PROGRAM], from the top of the tree
# tests/pages/pages.sh says how a page is written.
set -u
program=${1:-build/tilewright}
case $program in /*) ;; *) program=$PWD/$program ;; esac
top=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_readme_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
. tests/tap.sh
. tests/pages/pages.sh

if "$program" doctor >/dev/null 2>&1; then nvrtc=yes; else nvrtc=no; fi
pages >"$work/pages"
tab=$(printf '\t')

# made PAGE: what scripts make of it, anew. Each COMMAND runs at the top of $tree.
made() {
    grep -n '^<!-- made by: .* -->$' "$top/$1" | sed 's/:<!-- made by: /\t/; s/ -->$//' >"$work/makers"
    while IFS=$tab read -r line command; do
        if ! command -v "${command%% *}" >/dev/null 2>&1; then
            skip "$1:$line: $command" "no ${command%% *}"
            continue
        fi
        (cd "$tree" && eval "$command") >"$work/new" 2>"$work/told"
        status=$?
        awk -v command="<!-- made by: $command -->" '
            FILENAME == ARGV[1] { fresh = fresh $0 "\n"; next }
            /^<!-- made -->$/ { skip = 0 }
            !skip { print }
            $0 == command { printf "\n%s\n", fresh; skip = 1 }
        ' "$work/new" "$top/$1" >"$work/page"
        [ -z "${BLESS:-}" ] || [ $status != 0 ] || cmp -s "$work/page" "$top/$1" || cat "$work/page" >"$top/$1"
        [ $status != 0 ] || diff -u "$top/$1" "$work/page" >>"$work/told" || status=1
        ok $status "$1:$line: what $command makes is current" "$work/told"
    done <"$work/makers"
}

# walk PAGE: all that it says, in $tree.
walk() {
    made "$1"
    page_blocks "$1"
    while IFS=$tab read -r number line _ note; do
        block "$1" "$line" "$note" "$work/blocks/$number.text"
    done <"$work/list"
}

while read -r page; do
    tree=$work/tree.$(echo "$page" | tr / _)
    fresh_tree "$tree" "$program"
    walk "$page"
    rm -rf "$tree"
done <"$work/pages"

[ "$(wc -l <README.md)" -le 200 ]
ok $? "README.md has 200 lines at most"

# Prose, but for tables, links and headings, is as wide as code.
xargs awk 'FNR == 1 { inside = made = 0 }
    /^```/ { inside = !inside }
    /^<!-- made by:/ { made = 1 }
    /^<!-- made -->/ { made = 0 }
    !inside && !made && length > 120 && !/^[|#<]/ { print FILENAME ":" FNR ": " length " columns" }' <"$work/pages" >"$work/wide"
[ ! -s "$work/wide" ]
ok $? "no line of prose has over 120 columns" "$work/wide"

xargs awk -f tests/pages/links.awk <"$work/pages" >"$work/links"
grep -v '^file ' "$work/links" >"$work/missing"
sed -n 's/^file //p' "$work/links" | while read -r place path; do
    [ -e "$path" ] || echo "$place: no file $path"
done >>"$work/missing"
[ -s "$work/links" ] && [ ! -s "$work/missing" ]
ok $? "links lead to files and headings that are there" "$work/missing"
# README.md leads to every page, by itself or by one that it leads to.
{ echo README.md && sed -n 's/^file [^ ]* //p' "$work/links" | sed 's|^\([^.]*\)$|\1/README.md|'; } | sort -u >"$work/led"
sort "$work/pages" | comm -23 - "$work/led" >"$work/missing"
[ ! -s "$work/missing" ]
ok $? "every page is linked to" "$work/missing"

# What they name between backquotes, outside of blocks.
xargs awk 'FNR == 1 { inside = 0 } /^```/ { inside = !inside; next } !inside' <"$work/pages" |
    grep -o '`[^`]*`' | tr -d '`' | sort -u >"$work/words"
grep -E '^(gen|runtime|templates|specs|tests|\.ci)/[^ *]*$|^(build\.ninja|bootstrap|configure|LICENSE)$' "$work/words" |
    while read -r file; do [ -e "$file" ] || echo "$file"; done >"$work/missing"
[ ! -s "$work/missing" ]
ok $? "the files that they name exist" "$work/missing"

# The table of questions: the first word of an answer stands in its file.
sed -n '/^| question/,/^$/s/^| [^|]* | `\([^`]*\)` | `\([^`]*\)`.*/\1 \2/p' gen/README.md >"$work/answers"
while read -r file word; do
    grep -qF -- "$word" "$file" || echo "$file: no $word"
done <"$work/answers" >"$work/missing"
[ "$(wc -l <"$work/answers")" -ge 20 ] && [ ! -s "$work/missing" ]
ok $? "the answers to the questions are where gen/README.md says" "$work/missing"

# The tables of tests/README.md and the tests: by hand or by tests/run, each is named.
find tests -maxdepth 1 -name '*.sh' ! -name tap.sh ! -name job.sh >"$work/want"
find tests/emu -maxdepth 1 -name '*.sh' >>"$work/want"
sort "$work/want" | while read -r file; do
    grep -qF "${file##*/}" tests/README.md tests/fuzz/README.md || echo "tests/README.md has no word of $file"
done >"$work/missing"
[ -s "$work/want" ] && [ ! -s "$work/missing" ]
ok $? "every test in shell stands in tests/README.md" "$work/missing"

# Each is run, but for those by hand and what another one runs.
find tests/emu -maxdepth 1 -name '*.sh' ! -name 'random_*.sh' | sort | while read -r file; do
    name=${file#tests/}
    grep -qw "${name%.sh}" tests/run || echo "tests/run does not run $file"
done >"$work/missing"
[ ! -s "$work/missing" ]
ok $? "tests/run runs every test in tests/emu" "$work/missing"

# The table of variables and those that the program, the emitted code and the test runner read.
sed -n '/^| variable/,/^$/s/^| \(`[^|]*`\) |.*/\1/p' gen/README.md | grep -o '[A-Z][A-Z_]*' | sort -u >"$work/got"
{
    find gen runtime/*.c runtime/tensormap templates/host -name '*.c' -exec cat {} + |
        grep -oE '(tw_variable|getenv|add_list)\([^"()]*"[A-Z_]+"|\*const names\[\] = \{"CUDA_[^}]*' |
        grep -oE '"[A-Z_]+"' | tr -d '"'
    printf '%s\n' BLESS CUDA_VISIBLE_DEVICES # the tests' and the driver's
} | sort -u >"$work/want"
diff -u "$work/want" "$work/got" >"$work/diff"
ok $? "the table of variables is what is read" "$work/diff"

# Each rule, broken once, is found: a page of faults, with its lines and what is told of each.
mkdir -p "$work/wrong/tests" "$work/wrong/build"
ln -s "$PWD/tests/pages" "$work/wrong/tests/pages"
cat >"$work/wrong/README.md" <<'MD'
# A page
[a file](nothing.md), [a heading](#no-page), [this one](#a-page), [the web](https://example.com/)
```console
$ echo one; echo two
one
```
```console
$ false
```
<!-- file: build/text -->
```text
one
```
<!-- from: build/text -->
```text
two
```
<!-- nonsense -->
```console
$ true
```
```console
true
```
<!-- made by: echo fresh -->

stale

<!-- made -->
MD
cat >"$work/expected" <<'END'
README.md:15: its lines stand in build/text
README.md:19: no such note: nonsense
README.md:22: a block that begins with no command
README.md:25: what echo fresh makes is current
README.md:2: a link that leads out of the tree: https://example.com/
README.md:2: no heading #no-page in README.md
README.md:4: echo one; echo two
README.md:8: false
file README.md:2 nothing.md
END
(
    top=$work/wrong tree=$work/wrong work=$work/of_wrong BLESS=
    mkdir "$work"
    cd "$top" && walk README.md && awk -f tests/pages/links.awk README.md
) | grep -v '^ok\|^#' | sed 's/^not ok [0-9]* - //' | sort >"$work/found"
diff -u "$work/expected" "$work/found" >"$work/diff"
ok $? "each rule finds what breaks it" "$work/diff"

echo "1..$count"
[ "$failed" -eq 0 ]
