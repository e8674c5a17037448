#!/bin/sh
# Bugs planted into the derivation, one at a time: random programs find each. TAP on stdout.
#   usage: tests/emu/random_breaks.sh [NAME...], from the top of the tree, after
#   `ninja build/tests/emu/random/random_programs`
#   Needs the compiler and NVRTC, no GPU. COUNT: programs tried for each bug, 40. CHECK=1: whether each bug's text still
#   stands where it is to be planted, and nothing is built.
# Run whole, without names, it leaves what it found in tests/bench/results/random_breaks.json.
# random_breaks.list has the bugs. Each is an object in the place of the one that it is an edit of.
set -u
program=build/tests/emu/random/random_programs
list=tests/emu/random_breaks.list
work=$(mktemp -d "${TMPDIR:-/tmp}/tw_random_breaks_XXXXXX") || exit 3
trap 'rm -rf "$work"' EXIT
TILEWRIGHT_CACHE=${TILEWRIGHT_CACHE:-$work/cache}
export TILEWRIGHT_CACHE
. tests/tap.sh
planted=0
: >"$work/found"

# A bug was found, and what told of it.
found() {
    ok 0 "$1 is found: $2"
    printf '%s\t%s\n' "$1" "$2" >>"$work/found"
}

# The record of a whole run, as JSON.
record() {
    bugs=$(echo "$names" | wc -w)
    awk -F '\t' -v bugs="$bugs" -v commit="$(git rev-parse --short HEAD)" -v programs="${COUNT:-40}" '
        function text(s) {
            gsub(/\\/, "\\\\\\\\", s)
            gsub(/"/, "\\\\\"", s)
            gsub(/[[:cntrl:]]/, " ", s)
            return "\"" s "\""
        }
        { row[++n] = "  {\"bug\": " text($1) ", \"told\": " text($2) "}" }
        END {
            print "{\n \"made_by\": \"tests/emu/random_breaks.sh\","
            print " \"what\": \"bugs planted into the derivation, one at a time, and what told of each\","
            print " \"command\": \"COUNT=" programs " sh tests/emu/random_breaks.sh\","
            print " \"commit\": \"" commit "\","
            print " \"planted\": " bugs ",\n \"found\": " n + 0 ",\n \"bugs\": ["
            for (i = 1; i <= n; i++) print row[i] (i < n ? "," : "")
            print " ]\n}"
        }' "$work/found"
}

names=${*:-$(awk '$1 == "break" { print $2 }' $list)}
for name in $names; do
    file=$(awk -v n="$name" '$1 == "break" && $2 == n { print $3 }' $list)
    case $file in */*) path=$file ;; *) path=$(find gen/lower -name "$file") ;; esac
    file=$(basename "$path")
    only=$(awk -v n="$name" '$1 == "break" && $2 == n && $4 {
        print "--only " $4 ($5 ? " --leave-out " $5 : "") }' $list)
    : >"$work/out"
    awk -v n="$name" -v from="$work/from" -v to="$work/to" '
        $1 == "break" { on = $2 == n }
        on && /^- / { print substr($0, 3) >from }
        on && /^\+ / { print substr($0, 3) >to }' $list
    awk -v from="$work/from" -v to="$work/to" '
        function whole(path,    text, line) {
            while ((getline line <path) > 0) text = text (text == "" ? "" : "\n") line
            return text
        }
        { text = text $0 "\n" }
        END {
            old = whole(from)
            at = index(text, old)
            if (!at || index(substr(text, at + 1), old)) exit 1
            printf "%s%s%s", substr(text, 1, at - 1), whole(to), substr(text, at + length(old))
        }' "$path" >"$work/$file" || {
        ok 1 "$name: its text stands once in $path"
        continue
    }
    rm -f "$work/from" "$work/to"
    [ "${CHECK:-0}" = 0 ] || { planted=$((planted + 1)); continue; }
    case $path in
    templates/*)
        sed "s|\"$path\"|\"$work/$file\"|" build/embed.S >"$work/embed.S"
        prepare=$(ninja -t commands build/prepare | tail -n 1 |
            sed "s| -o build/prepare| -o $work/prepare|; s| build/embed.o| $work/embed.o|")
        compile="gcc -c $work/embed.S -o $work/embed.o && $prepare &&
            $work/prepare $work/prepared.bin $work/prepared.S &&
            gcc -c $work/prepared.S -o $work/prepared.o && ld -r -o $work/broken.o $work/embed.o $work/prepared.o" ;;
    *)
        compile=$(ninja -t commands "build/${path%.c}.o" | tail -n 1 |
            sed "s| -M[^ ]*||g; s| build/[^ ]*\.d||g; s| $path| $work/$file|
                 s| -o [^ ]*| -o $work/broken.o|; s| -Werror||") ;;
    esac
    link=$(ninja -t commands $program | tail -n 1 |
        sed "s| -o $program| -o $work/program $work/broken.o|")
    if ! sh -c "$compile && $link" >"$work/out" 2>&1; then
        ok 1 "$name: compiles" "$work/out"
        continue
    fi
    # A rule may refuse what the bug leads to: then fewer kernels are lowered.
    # shellcheck disable=SC2086
    for each in $program "$work/program"; do
        "$each" --first 1 --count "${COUNT:-40}" --plan --quiet $only 2>&1 | grep '^# .* lowered$'
    done >"$work/lowered"
    if [ "$(wc -l <"$work/lowered")" != 2 ]; then
        ok 1 "$name: plans are made"
        continue
    fi
    if [ "$(uniq <"$work/lowered" | wc -l)" != 1 ]; then
        found "$name" "$(tail -n 1 "$work/lowered") of $(head -n 1 "$work/lowered")"
        continue
    fi
    # shellcheck disable=SC2086
    "$work/program" --first 1 --count "${COUNT:-40}" --stop --quiet $only >"$work/out" 2>&1
    if [ $? = 1 ]; then
        found "$name" "$(grep -m 1 '^# bad' "$work/out" | cut -c 1-150)"
    else
        ok 1 "$name is found" "$work/out"
    fi
done
[ "${CHECK:-0}" = 0 ] || ok 0 "$planted bugs stand where they are to be planted"
[ -n "$*" ] || [ "${CHECK:-0}" != 0 ] || record >tests/bench/results/random_breaks.json
echo "1..$count"
[ "$failed" -eq 0 ]
