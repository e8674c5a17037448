#!/bin/sh
# Wrong specs and what is said of them: `check` on every tests/errors/NAME.lua must end with status 1 and say on stderr,
# to the byte, what stands in NAME.err; nothing may be written. NAME.tuned.lua are set-ups of NAME.lua. TAP on stdout.
#   usage: tests/errors.sh [PROGRAM], from the top of the tree. BLESS=1 rewrites the .err files.
set -u
program=${1:-build/tilewright}
folder=tests/errors
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_errors_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
. tests/tap.sh

comment() { sed 's/^/# /'; }

LC_ALL=C
export LC_ALL
find "$folder" | sort >"$work/before"
# A dangling link is a spec too, and so is a file that is not there, where its .err is.
for stem in $(sed -n 's/\.lua$//p; s/\.err$//p' "$work/before" | sort -u); do
    case ${stem#"$folder"/} in */* | *.tuned) continue ;; esac
    spec=$stem.lua golden=$stem.err
    timeout 60 "$program" check "$spec" >"$work/out" 2>"$work/err"
    status=$?
    if [ "$status" -ne 1 ] || [ -s "$work/out" ]; then
        ok 1 "$spec: status 1 and an empty stdout"
        echo "# status $status"
        comment <"$work/err"
        continue
    fi
    if [ "${BLESS:-}" = 1 ] && ! cmp -s "$golden" "$work/err"; then
        cp "$work/err" "$golden" && echo "# blessed $golden"
    fi
    if cmp -s "$golden" "$work/err"; then
        ok 0 "$spec"
    else
        ok 1 "$spec: stderr"
        diff -u "$golden" "$work/err" | comment
    fi
done
if [ "${BLESS:-}" != 1 ]; then
    find "$folder" | sort >"$work/after"
    cmp -s "$work/before" "$work/after"
    ok $? "nothing was written"
fi
echo "1..$count"
[ "$failed" -eq 0 ]
